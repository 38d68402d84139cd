//! Devices made of threads and memory of this computer.
//!
//! They behave as devices do: streams run at the same time and each in order, errors are reported asynchronously, memory
//! is limited, copies take turns at few engines. What real devices do only by chance can be [injected](Faults), so that
//! programs and tests meet it every time.
//!
//! Everything that a driver knows is one `Inner` (`exec/inner.rs`) behind one lock, which is held for a few steps and
//! never while a queued function runs or something of the caller's is dropped. Each stream has a thread of its own, from
//! its first work on until it has been idle for a while. A point (`TimelinePoint`) on the timeline of a
//! stream is a number that only grows: events are such points, and so are the edges of a graph that is replayed. The
//! thread that holds the lock advances every stream that can advance (`exec/scheduler.rs`); a thread is woken
//! only for work that takes time.
//!
//! The scheduler and the objects that it schedules refer to each other; the heaps, the chains of a graph, the copy engines
//! and the fault plan do not know it.

mod driver;
mod exec;
mod fault_injection;
mod memory;
mod object;
mod options;
mod runtime;

pub use driver::HostDriver;
pub use fault_injection::{Faults, Hold, LiveObjects};
pub use options::HostOptions;
