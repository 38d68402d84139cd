//! Memory: the trait that every allocator is behind, and the block of memory that it hands out.

mod allocation;
mod block;
mod buffer;
mod cache;
pub mod config;
mod cpu;
mod exclusion;
mod history;
mod limits;
mod out_of_memory;
mod pinned;
mod reclaim;
mod replay;
mod scope;
mod snapshot;
mod statistics;
mod usage;

use std::ptr::NonNull;

use super::Device;
use crate::Result;

pub use block::Block;
pub use buffer::{DeviceMemory, End, HostMemory, copy};
pub(super) use cache::Cache;
pub use cache::ScopeStatistics;
pub use config::{AllocatorConfig, config, config_report, config_source, set_config};
pub use cpu::CpuAllocator;
pub use exclusion::{Access, ByteRange};
pub(super) use history::apply as apply_history;
pub use history::{
    Action, Cause, Frame, History, HistoryOptions, Stack, TraceEntry, stacks_are_recorded, with_stack,
};
pub use limits::{Limit, cache_limit, limit, set_cache_limit, set_limit};
pub use out_of_memory::{CacheState, OutOfMemory};
pub(super) use pinned::PinnedCache;
pub use pinned::{
    HostStatistics, PinnedMemory, Times, empty_host_cache, host_memory_stats,
    reset_accumulated_host_memory_stats, reset_peak_host_memory_stats,
};
pub use reclaim::{Registration, on_miss, on_oom};
pub use replay::replay;
pub use scope::Scope;
pub use snapshot::{BlockState, BlockUsage, SegmentState, Snapshot, snapshot};
pub use statistics::{ByPool, Stat, Statistics};
pub use usage::{
    empty_cache, fragmentation, largest_free_block, reset_accumulated_statistics, reset_peak_statistics,
    statistics,
};

/// Hands out memory of one device.
///
/// # Safety
/// What [`allocate`](Allocator::allocate) returns must stay valid for reads and writes of that many
/// bytes, on the device, until it is released.
pub unsafe trait Allocator: Send + Sync {
    /// Where the memory lies.
    fn device(&self) -> Device;

    /// Memory of at least `bytes` bytes, aligned for every element type; its content is undefined.
    /// Fails with [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    fn allocate(&self, bytes: usize) -> Result<NonNull<u8>>;

    /// Takes memory back.
    ///
    /// # Safety
    /// `pointer` came from `allocate(bytes)` of this allocator and nothing uses it any more.
    unsafe fn release(&self, pointer: NonNull<u8>, bytes: usize);
}
