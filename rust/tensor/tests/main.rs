//! The tests of the interface in one program: each would otherwise be linked on its own.

// Clippy does not treat test helpers as tests; a panic is their intended way to fail.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod attention;
mod autograd;
mod device_only_memory;
mod devices;
mod foreign_kernels;
