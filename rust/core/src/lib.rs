//! The control plane of an eager tensor runtime: global flags ([`backends`]), gradient modes
//! ([`autograd`]) and devices ([`accelerator`]), on one thread [`state`].
//!
//! This crate never depends on Python. `interlock-python` binds it, and a Rust program that embeds
//! Python uses it directly: both see the same statics and thread-locals.

pub mod accelerator;
pub mod autograd;
pub mod backends;
#[doc(hidden)]
pub mod base;
mod error;
pub mod libraries;
#[cfg(loom)]
#[cfg(test)]
mod loom_tests;
pub mod state;

pub use base::env::Environment;
pub use error::{Error, Result};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
