//! ONNX Runtime sessions that obey interlock, through the crate [`ort`].
//!
//! A session has the settings of the thread that creates it: deterministic computation, numbers of threads, spinning, the
//! precision of products and the options of the CUDA execution provider. [`ROWS`] lists which setting controls which
//! option. The threads of the session run with the state of that thread, so that an operator or a callback sees its
//! modes and flags. [`Session::stale`] reports the settings that have changed since.
//!
//! ```no_run
//! use interlock::backends::flags::DETERMINISTIC_ALGORITHMS;
//! use interlock_ort::{Library, SessionBuilder};
//!
//! let environment = Library::from_env()?.init()?.build()?;
//! let scope = DETERMINISTIC_ALGORITHMS.scope(true)?;
//! let session = {
//!     let _guard = scope.guard();
//!     SessionBuilder::new(&environment)?.commit_from_file("model.onnx")?
//! };
//! // The session computes deterministically, and the code outside the scope does not.
//! assert!(session.options().deterministic_compute);
//! assert_eq!(session.stale()?[0].setting(), "deterministic_algorithms");
//! # Ok::<(), interlock_ort::Error>(())
//! ```

mod allocator;
mod cuda;
mod difference;
mod error;
pub mod flags;
mod library;
mod options;
mod session;
mod table;
mod threads;

pub use allocator::{HostAllocator, register_allocator};
pub use cuda::{ConvSearch, CudaOptions};
pub use difference::Difference;
pub use error::{Error, Result};
pub use library::Library;
pub use options::SessionOptions;
pub use ort;
pub use session::{Session, SessionBuilder};
pub use table::{ROWS, Row, Target, markdown};
pub use threads::{StateThreads, with_global_thread_pool};

/// The example of the package's page, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
