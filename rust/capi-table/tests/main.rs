//! The tests of the table in one program: each would otherwise be linked on its own.

#![allow(clippy::unwrap_used, reason = "tests")]

mod fork;
mod kernels;
mod kernels_without_tensors;
mod misuse;
mod registrations;
mod wrappers;
