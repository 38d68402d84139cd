//! PyTorch's global-state APIs as a Rust library: global flags ([`backends`]), gradient modes ([`autograd`]), devices
//! ([`accelerator`]) and the thread state that selects them ([`state`]).
//!
//! This crate re-exports the other crates under the names that PyTorch uses. It does not depend on Python:
//! `interlock-python` binds it, and a Rust program that embeds Python uses it directly, so both share the same statics
//! and thread-locals.
//!
//! ```
//! use interlock::autograd;
//! use interlock::backends::flags::CUDNN_BENCHMARK;
//! use interlock::state::ThreadState;
//!
//! CUDNN_BENCHMARK.set(true)?; // for the whole process
//! let scope = CUDNN_BENCHMARK.scope(false)?;
//! let guards = (autograd::no_grad(), scope.guard()); // for this thread
//! let state = ThreadState::capture();
//! drop(guards);
//! assert!(autograd::is_grad_enabled() && CUDNN_BENCHMARK.get());
//!
//! let on_worker = || state.run(|| (autograd::is_grad_enabled(), CUDNN_BENCHMARK.get()));
//! let seen = std::thread::scope(|threads| threads.spawn(on_worker).join());
//! assert_eq!(seen.ok(), Some((false, false)));
//! # Ok::<(), interlock::Error>(())
//! ```
//!
//! Programs depend on this crate alone. The examples of an item import it from the crate that defines it, because that crate
//! cannot depend on this one. Replace these paths:
//!
//! | in examples | in programs |
//! | --- | --- |
//! | `interlock_core::flags` | [`interlock::backends`](backends) |
//! | `interlock_core::modes` | [`interlock::autograd`](autograd) |
//! | `interlock_core::thread`, `interlock_core::effective` | [`interlock::state`](state) |
//! | `interlock_core::dispatch` | [`interlock::dispatch`](dispatch) |
//! | `interlock_core::libraries` | [`interlock::libraries`](libraries) |
//! | `interlock_accelerator`, `interlock_core::device` | `interlock::accelerator` |
//! | `interlock_driver` | `interlock::accelerator::driver` |
//! | `interlock_host` | `interlock::accelerator::host` |

#[cfg(feature = "accelerator")]
#[doc(inline)]
pub use interlock_accelerator as accelerator;
pub use interlock_core::sys;
pub use interlock_core::{
    Error, ProcessDefaults, Registration, Result, dispatch, libraries, num_threads, set_num_threads,
};

pub mod backends {
    //! Global flags: declared once each, and read with one load. Examples [import](crate) `interlock_core::flags`.
    #[cfg(feature = "accelerator")]
    pub use interlock_accelerator::{CachedPlan, PlanCache, PlanKey};
    pub use interlock_core::flags::*;
}

pub mod autograd {
    //! Gradient modes of a thread: read with one load, changed by guards and scopes. Examples [import](crate)
    //! `interlock_core::modes`.
    pub use interlock_core::modes::*;
}

pub mod state {
    //! The state of the code that runs on a thread: layers of scopes over a base. Examples [import](crate)
    //! `interlock_core::thread` and `interlock_core::effective`.
    pub use interlock_core::effective::*;
    pub use interlock_core::thread::*;
}

/// The example of the package's page, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
