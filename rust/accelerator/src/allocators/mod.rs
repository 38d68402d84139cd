//! The allocators of device memory and of pinned memory, and what they share: configuration, statistics, histories,
//! events that freed memory waits for, and callbacks for shortages.

mod caching;
pub mod config;
mod event_queue;
pub(crate) mod oom_hooks;
pub(crate) mod pinned;
pub(crate) mod snapshot;
pub(crate) mod stats;
pub(crate) mod trace;
mod trace_log;

pub(crate) use caching::{AllocatedBlock, BlockId, CachingAllocator, without_total};
pub use caching::{MemPoolOptions, TrackerStats};

/// The driver that the allocators call.
type DynDriver = dyn interlock_driver::DriverRuntime;
