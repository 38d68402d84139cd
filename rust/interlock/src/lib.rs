//! The control plane of an eager tensor runtime: global flags ([`backends`]), gradient modes ([`autograd`]), devices
//! ([`accelerator`]) and the state of a thread that decides them ([`state`]).
//!
//! This crate re-exports the crates below it under the names that PyTorch uses. It never depends on Python:
//! `interlock-python` binds it, and a Rust program that embeds Python uses it directly, so both share the same statics
//! and thread-locals.

#[cfg(feature = "accelerator")]
#[doc(inline)]
pub use interlock_accelerator as accelerator;
#[doc(hidden)]
pub use interlock_core::base;
pub use interlock_core::{Environment, Error, Result, libraries};

pub mod backends {
    //! Global flags: declared once each, and read with one load.
    #[cfg(feature = "accelerator")]
    pub use interlock_accelerator::PlanCache;
    pub use interlock_core::flags::*;
}

pub mod autograd {
    //! Gradient modes of a thread: read with one load, changed by guards and scopes.
    pub use interlock_core::modes::*;
}

pub mod state {
    //! The state of a thread or task: layers of scopes over a base.
    pub use interlock_core::thread::*;
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
