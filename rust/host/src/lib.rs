//! Devices made of threads and memory of this computer.
//!
//! They behave as devices do: streams run at the same time and each in order, errors are told late, memory
//! ends, copies take turns at few engines. What real devices do only by chance can be [asked for](Faults), so
//! that programs and tests meet it every time.
//!
//! All that a driver knows is one [`State`](state::State) behind one lock, which is held for a few steps and
//! never while a queued function runs or something that was handed in is dropped. Each stream has a thread of
//! its own, from its first work on until it has been idle for a while. A place in a stream is a number that
//! only grows ([`Mark`](stream::Mark)): events are such places, and so are the edges of a graph that is
//! replayed. Whoever holds the lock moves every stream on that can move ([`schedule`]); a thread is woken only
//! for work that takes time.

mod addresses;
mod capture;
mod command;
mod device;
mod driver;
mod engines;
mod event;
mod executable;
mod failure;
mod faults;
mod graph;
mod lanes;
mod memory;
mod options;
mod runtime;
mod schedule;
mod shared;
mod state;
mod stream;
mod waiting;
mod waste;
mod worker;

pub use driver::HostDriver;
pub use faults::{Faults, Hold, LiveObjects};
pub use options::HostOptions;
