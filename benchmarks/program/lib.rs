//! Criterion benchmarks of the Rust interface, in `benches/`.
