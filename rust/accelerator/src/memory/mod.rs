//! Memory of devices and of the CPU: buffers, allocators, statistics and the configuration of the allocators.

mod buffer;
mod caching_allocator;
pub mod config;
mod copy;
mod event_queue;
mod limits;
mod oom_hooks;
mod pinned;
mod poison;
mod raw_buffer;
mod replay;
mod snapshot;
mod stats;
mod stats_api;
mod trace;
mod trace_log;
mod tracker;

pub use buffer::DeviceBuffer;
pub(super) use caching_allocator::CachingAllocator;
pub use caching_allocator::TrackerStats;
pub use config::{AllocatorConfig, config, config_report, config_source, set_config};
pub use copy::{CopyOperand, HostMemory, copy};
pub use interlock_core::Registration;
#[doc(hidden)]
pub use interlock_driver::{Access, ByteRange};
pub use interlock_driver::{AllocatorState, OutOfMemory};
pub use interlock_driver::{Frame, Stack, with_stack};
pub use limits::{Limit, cache_limit, limit, set_cache_limit, set_limit};
pub use oom_hooks::{on_miss, on_oom, on_shortage};
pub(super) use pinned::PinnedCache;
pub use pinned::{
    DurationStats, PinnedMemory, PinnedStats, empty_host_cache, host_memory_stats,
    reset_accumulated_host_memory_stats, reset_peak_host_memory_stats,
};
pub use poison::{POISON, Poisoning};
pub use raw_buffer::RawBuffer;
pub use replay::replay;
pub use snapshot::{BlockState, BlockUsage, SegmentState, Snapshot, snapshot};
pub use stats::{Stat, StatArray, Statistics};
pub use stats_api::{
    empty_cache, fragmentation, largest_free_block, reset_accumulated_statistics, reset_peak_statistics,
    statistics,
};
pub(super) use trace::apply as apply_history;
pub use trace::{
    HistoryConfig, HistoryRecorder, ReleaseReason, TraceAction, TraceEntry, stacks_are_recorded,
};
pub use tracker::MemoryTracker;

#[doc(hidden)]
pub mod internal {
    //! Items that only other crates of this workspace use.
    pub use super::limits::limits;
}

/// The driver that the allocators of this module call.
type DynDriver = dyn interlock_driver::DriverRuntime;
