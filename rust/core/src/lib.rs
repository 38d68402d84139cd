//! Flags of the process and modes of a thread: the state that an eager tensor runtime reads in every operation.
//!
//! The crate knows no device, no driver and no Python. What is built on it reaches the same statics and thread-locals
//! whichever crate they are read from.

#[doc(hidden)]
pub mod base;
pub mod device;
mod error;
pub mod flags;
pub mod libraries;
#[cfg(loom)]
#[cfg(test)]
mod loom_tests;
pub mod modes;
pub mod thread;

pub use base::env::EnvSnapshot;
pub use error::{Error, Result};
