//! The tests of the CUDA driver on the fake library in one program: each would otherwise be linked on its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../../../rust/accelerator/tests/allocator/mod.rs"]
mod allocator;
mod cuda_contexts;
mod cuda_costs;
mod cuda_devices;
mod cuda_errors;
mod cuda_memory;
mod cuda_races;
mod cuda_streams;
mod cuda_symbols;
mod cuda_waits;
mod fake_library;
#[path = "../../../rust/accelerator/tests/rig/mod.rs"]
mod rig;
