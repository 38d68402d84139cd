//! The state of the interlock that is imported in this process, for extension modules written in Rust.
//!
//! A Python extension module must not depend on the crate `interlock-runtime`: it would contain a second copy of the
//! state, which interlock refuses. This crate contains no state. It calls the functions of the interlock that is
//! imported in the process, through the table [`sys::InterlockApi`], under the names of the Rust interface:
//! [`backends`], [`autograd`], [`state`], [`accelerator`] and [`dispatch`].
//!
//! Call [`import`] once, when the extension module is initialized. All other functions panic before that.
//!
//! ```no_run
//! use interlock_capi::{autograd, backends};
//!
//! fn init() -> interlock_capi::Result<()> {
//!     interlock_capi::import()?;
//!     let benchmark = backends::find::<bool>("cudnn.benchmark")?;
//!     let scope = benchmark.scope(true)?;
//!     let guards = (scope.guard()?, autograd::no_grad()?);
//!     assert!(benchmark.get() && !autograd::is_grad_enabled());
//!     drop(guards);
//!     Ok(())
//! }
//! ```
//!
//! # Threads and the interpreter
//!
//! Everything may be used on any thread, also on one that Python does not know, in a forked child, and while the
//! interpreter finalizes. A [`ScopeGuard`](state::ScopeGuard) stays on its thread. No function needs the interpreter,
//! except [`import`] and [`Error::raise`]. A function that may block detaches a thread that is attached meanwhile.

mod error;
mod import;
mod python;
mod raise;
mod raw;
mod registration;

pub mod accelerator;
pub mod autograd;
pub mod backends;
pub mod dispatch;
pub mod state;

pub use error::{Error, ErrorCode, Result};
pub use import::{import, import_from};
pub use interlock_sys as sys;
pub use registration::Registration;

/// The example of the package's page, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
