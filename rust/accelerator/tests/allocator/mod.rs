//! A simple, slow model of PyTorch's caching allocator, and programs that run with the model and with the allocator.

#![allow(dead_code, reason = "every test binary that has a model uses a part of it")]

pub mod careless;
pub mod counting;
pub mod device;
pub mod devices;
pub mod model;
pub mod run;
pub mod segment;
pub mod steps;

/// Returns whether the tests run many more examples.
pub fn is_long() -> bool {
    std::env::var("LONG_TESTS").is_ok_and(|value| value == "1")
}
