//! Flags of the process and modes of a thread: the state that an eager tensor runtime reads in every operation.
//!
//! Programs depend on `interlock-runtime`, whose first page has the paths of these modules there. The crate does not
//! depend on devices, drivers or Python. Crates built on it share the same statics and thread-locals. Bindings of other
//! languages and layers of devices also use [`base`] and [`binding`], which are not part of the public interface of
//! `interlock-runtime`.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod base;
pub mod binding;
pub mod device;
pub mod dispatch;
pub mod effective;
mod error;
pub mod flags;
pub mod libraries;
#[cfg(loom)]
#[cfg(test)]
mod loom_tests;
pub mod modes;
mod named_enum;
mod num_threads;
mod process_defaults;
pub mod thread;

pub use base::hook_list::Registration;
pub use error::{Error, Result};
pub use interlock_sys as sys;
pub use num_threads::{num_threads, set_num_threads};
pub use process_defaults::ProcessDefaults;

/// The example of the package's page, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
