//! The host driver: devices that are emulated with CPU threads and CPU memory.
//!
//! They behave like GPUs. Streams run concurrently, and each runs its work in order. Errors are reported
//! asynchronously, memory is limited, and copies share a few copy engines. [`FaultInjector`] injects the errors that
//! real devices raise only by chance.
//!
//! All state of a driver is one `Inner` (`exec/inner.rs`) behind one mutex. No thread holds the lock while it runs a
//! host function or drops a value of the caller. Each stream has its own worker thread, which starts with the stream's
//! first work and ends after an idle time. A `TimelinePoint` is a position on the timeline of a stream: events and the
//! edges of a replayed graph are such points. The thread that holds the lock advances every stream that can advance
//! (`exec/scheduler.rs`); a worker is woken only to run a task.
//!
//! The scheduler and the objects that it schedules depend on each other; the heaps, the chains of a graph, the copy
//! engines and the fault plan do not depend on the scheduler.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod driver;
mod exec;
mod fault;
mod fault_injection;
mod memory;
mod object;
mod options;
mod runtime;

pub use driver::HostDriver;
pub use fault::{Chance, Fault, FaultEffect, FaultOperation, PendingFault};
pub use fault_injection::{FaultInjector, LiveObjects, PausedCopies};
pub use options::HostOptions;

/// The example of the package's page, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
