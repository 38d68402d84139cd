//! What an allocator of PyTorch's design does, as plain and slow as can be, and programs that are run with it and
//! with the real one.

#![allow(dead_code, reason = "every test binary that has a model uses a part of it")]

pub mod careless;
pub mod counting;
pub mod device;
pub mod devices;
pub mod model;
pub mod run;
pub mod segment;
pub mod steps;

/// Whether many more examples are drawn.
pub fn is_long() -> bool {
    std::env::var("LONG_TESTS").is_ok_and(|value| value == "1")
}
