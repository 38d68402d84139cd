//! Memory of devices and of the CPU: buffers, allocators, statistics and the configuration of the allocators.

mod buffer;
pub mod config;
mod copy;
mod history;
mod limits;
mod pinned;
mod poison;
mod raw_buffer;
mod replay;
mod snapshot;
mod stats_api;
mod tracker;

pub use crate::allocators::TrackerStats;
pub use crate::allocators::oom_hooks::{on_miss, on_oom, on_shortage};
pub use crate::allocators::pinned::{DurationStats, PinnedStats};
pub use crate::allocators::snapshot::{BlockState, BlockUsage, SegmentState};
pub use crate::allocators::stats::{Stat, StatArray, Statistics};
pub use crate::allocators::trace::{
    HistoryConfig, ReleaseReason, TraceAction, TraceEntry, stacks_are_recorded,
};
pub use buffer::DeviceBuffer;
pub use config::{AllocatorConfig, config, config_report, config_source, set_config};
pub use copy::{CopyOperand, HostMemory, copy};
pub use history::HistoryRecorder;
pub use interlock_core::Registration;
pub use interlock_driver::{Access, AllocatorState, ByteRange, OutOfMemory};
pub use interlock_driver::{Frame, Stack, stacks_are_used, with_stack};
pub use limits::{Limit, cache_limit, limit, limits, set_cache_limit, set_limit};
pub use pinned::{
    PinnedMemory, empty_host_cache, host_memory_stats, reset_accumulated_host_memory_stats,
    reset_peak_host_memory_stats,
};
pub use poison::{POISON, Poisoning};
pub use raw_buffer::RawBuffer;
pub use replay::replay;
pub use snapshot::{Snapshot, snapshot};
pub use stats_api::{
    empty_cache, fragmentation, largest_free_block, reset_accumulated_statistics, reset_peak_statistics,
    statistics,
};
pub use tracker::MemoryTracker;
