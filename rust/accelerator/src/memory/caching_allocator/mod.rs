//! Caches freed memory of a device for later requests, after the design of PyTorch's caching allocator.
//!
//! The driver returns segments, which are split into blocks. A freed block is put into a free list of its stream at
//! once, although work that is queued on the stream may still use it: what is queued there later runs later. Other
//! streams that have used it are awaited with events. A request gets the smallest free block of its stream that is
//! large enough, and free neighbours are merged. What is entirely free is released to the driver when memory is short,
//! and when the program asks for it.
//!
//! This file is the fast path and the locking. One lock guards [`Inner`], which composes the heap, the event queue, the
//! releases and the recorder; it is never held while the driver allocates or releases memory, nor during a wait.

mod arena;
mod block;
mod expandable;
mod free_list;
mod gc;
mod heap;
mod inner;
mod mem_pool;
mod quota;
mod recorder;
mod release;
mod size_policy;
mod slow_path;
mod snapshot;
#[cfg(test)]
mod tests;
mod trackers;

use std::fmt;
use std::sync::MutexGuard;

pub(crate) use block::BlockId;
use inner::{Inner, Miss};
use release::Releasable;
use slow_path::SlowPath;
pub use trackers::TrackerStats;

use interlock_core::base::mutex::Mutex;
use interlock_driver::{Address, DeviceIndex, StreamHandle};

use super::DynDriver;
use super::config::ConfigWatch;
use super::snapshot::SegmentState;
use super::stats::Statistics;
use super::trace::{HistoryConfig, ReleaseReason, TraceEntry};
use crate::accelerator::Accelerator;
use crate::{PoolId, Result, Stream};

/// The caching allocator of one device. The caller has checked that the accelerator belongs to this process.
pub(crate) struct CachingAllocator {
    device: DeviceIndex,
    config: ConfigWatch,
    inner: Mutex<Inner>,
    /// How often the lock was taken.
    #[cfg(test)]
    locks: std::sync::atomic::AtomicUsize,
}

/// A block that the program uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllocatedBlock {
    pub(super) id: BlockId,
    pub(super) address: Address,
}

/// What an operation of the allocator works with.
#[derive(Clone, Copy)]
struct AllocCtx {
    accelerator: &'static Accelerator,
    device: DeviceIndex,
    /// A graph is captured in this process. Events could become a part of it, and a driver permits few calls meanwhile.
    capturing: bool,
}

impl AllocCtx {
    fn driver(&self) -> &'static DynDriver {
        &**self.accelerator.runtime()
    }
}

impl CachingAllocator {
    pub(crate) fn new(device: DeviceIndex) -> Self {
        CachingAllocator {
            device,
            config: ConfigWatch::default(),
            inner: Mutex::default(),
            #[cfg(test)]
            locks: Default::default(),
        }
    }

    #[inline]
    fn ctx(&self, accelerator: &'static Accelerator) -> AllocCtx {
        AllocCtx { accelerator, device: self.device, capturing: accelerator.private_pools().captures_underway() }
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Inner> {
        #[cfg(test)]
        self.locks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.inner.lock()
    }

    /// Calls `function` with the state, under the lock.
    #[inline]
    fn with_inner<T>(&self, function: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.lock();
        let result = function(&mut inner);
        if !inner.releases.deferred_drops.is_empty() {
            drop_without_lock(inner);
        }
        result
    }

    /// Like [`with_inner`](CachingAllocator::with_inner), and releases what can be released then.
    #[inline]
    fn update<T>(&self, ctx: &AllocCtx, function: impl FnOnce(&mut Inner, &AllocCtx) -> T) -> T {
        let mut inner = self.lock();
        let result = function(&mut inner, ctx);
        let Inner { releases, heap, .. } = &mut *inner;
        if !(releases.deferred_drops.is_empty() && releases.is_idle()) {
            let releasable = releases.take_releasable(ctx, heap);
            drop_without_lock(inner);
            self.release_blocks(ctx, releasable);
        }
        result
    }

    /// Has the driver release blocks.
    #[cold]
    fn release_blocks(&self, ctx: &AllocCtx, blocks: Vec<Releasable>) {
        for releasable in blocks {
            releasable.release_to_driver(ctx);
            let addresses = self.with_inner(|inner| inner.finish_release(ctx, &releasable));
            expandable::free_addresses(ctx, addresses);
        }
    }

    /// Allocates at least `requested` bytes for a stream, from the pool of a graph if `pool` is one. `requested` is not
    /// 0.
    ///
    /// # Errors
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory), an invalid configuration and errors of the driver.
    #[inline(always)]
    pub(crate) fn allocate(
        &self,
        stream: &Stream,
        requested: usize,
        pool: Option<PoolId>,
    ) -> Result<AllocatedBlock> {
        let ctx = self.ctx(stream.accelerator());
        self.refresh_config(&ctx)?;
        let mut miss = None;
        match self.allocate_cached(&ctx, stream.id(), requested, pool, &mut miss) {
            Some(block) => Ok(block),
            None => self.allocate_slow(&ctx, stream, requested, pool, miss),
        }
    }

    /// Allocates a cached block, or sets `miss` unless the request exceeds the address space. A function of its own,
    /// because this result is returned in registers.
    fn allocate_cached(
        &self,
        ctx: &AllocCtx,
        stream: i64,
        requested: usize,
        pool: Option<PoolId>,
        miss: &mut Option<Miss>,
    ) -> Option<AllocatedBlock> {
        self.with_inner(|inner| {
            inner.process_events(ctx);
            let request = inner.request(stream, requested, pool)?;
            let block = inner.allocate(&request);
            if block.is_none() {
                *miss = Some(inner.begin_request(request));
            }
            block
        })
    }

    #[cold]
    #[inline(never)]
    fn allocate_slow(
        &self,
        ctx: &AllocCtx,
        stream: &Stream,
        requested: usize,
        pool: Option<PoolId>,
        miss: Option<Miss>,
    ) -> Result<AllocatedBlock> {
        let slow_path = SlowPath { allocator: self, ctx, stream, pool };
        match miss {
            Some(miss) => slow_path.allocate(miss),
            // It exceeds the address space.
            None => Err(slow_path.oom_error(requested, requested)),
        }
    }

    /// Applies a configuration that was set since.
    #[inline]
    fn refresh_config(&self, ctx: &AllocCtx) -> Result<()> {
        self.config.refresh(|number, config| {
            // A device that reports no memory has none to be limited.
            let total = ctx.driver().memory_info(self.device).map_or(0, |info| info.total);
            self.with_inner(|inner| inner.configure(number, config, total));
        })
    }

    /// Frees a block that the program does not use any more; work that is queued may still use it.
    pub(crate) fn free(&self, accelerator: &'static Accelerator, block: BlockId) {
        self.update(&self.ctx(accelerator), |inner, ctx| inner.free(ctx, block));
    }

    /// Notes that work of another stream uses a block.
    pub(crate) fn record_stream(&self, block: BlockId, stream: &Stream) {
        self.with_inner(|inner| inner.heap.add_stream_use(block, stream));
    }

    /// The other streams whose work uses a block.
    pub(crate) fn stream_uses(&self, block: BlockId) -> Vec<Stream> {
        self.with_inner(|inner| inner.heap.stream_uses(block).to_vec())
    }

    /// Releases what is unused to the driver, once the work that is queued now is done. Does nothing while a graph is
    /// captured.
    ///
    /// # Errors
    /// Returns the error of a device that can't report how far its streams are.
    pub(crate) fn release_cached_blocks(&self, accelerator: &'static Accelerator) -> Result<()> {
        let ctx = self.ctx(accelerator);
        match ctx.capturing {
            true => Ok(()),
            false => slow_path::release_cached_blocks(self, &ctx, ReleaseReason::EmptyCache),
        }
    }

    /// Releases the memory of a stream that is being destroyed, once it is unused.
    pub(crate) fn on_stream_destroyed(
        &self,
        accelerator: &'static Accelerator,
        id: i64,
        stream: StreamHandle,
    ) {
        self.update(&self.ctx(accelerator), |inner, ctx| {
            inner.releases.on_stream_destroyed(ctx, &mut inner.heap, id, stream)
        });
    }

    /// Releases the memory of a pool that no graph uses any more, once it is unused. The streams may still run a graph
    /// that did.
    pub(crate) fn on_pool_released(
        &self,
        accelerator: &'static Accelerator,
        pool: PoolId,
        streams: &[Stream],
    ) {
        self.update(&self.ctx(accelerator), |inner, ctx| {
            inner.releases.on_pool_released(ctx, &mut inner.heap, pool, streams)
        });
    }

    /// Reads or resets the statistics.
    pub(crate) fn with_stats<T>(&self, function: impl FnOnce(&mut Statistics) -> T) -> T {
        self.with_inner(|inner| function(&mut inner.heap.stats))
    }

    /// The size of the largest free block, and all cached bytes.
    pub(crate) fn free_bytes(&self) -> (u64, u64) {
        self.with_inner(|inner| (inner.heap.largest_free(), inner.heap.cached_bytes()))
    }

    /// Reads or sets the largest number of bytes that may be reserved. A configuration that was set before applies first.
    ///
    /// # Errors
    /// Returns the error of an invalid configuration.
    pub(crate) fn with_limit<T>(
        &self,
        accelerator: &'static Accelerator,
        function: impl FnOnce(&mut Option<u64>) -> T,
    ) -> Result<T> {
        self.refresh_config(&self.ctx(accelerator))?;
        Ok(self.with_inner(|inner| function(&mut inner.quota.limit)))
    }

    /// Sets the largest number of bytes that may be cached, and releases what is beyond it; returns the previous one.
    pub(crate) fn set_cache_limit(
        &self,
        accelerator: &'static Accelerator,
        limit: Option<u64>,
    ) -> Option<u64> {
        self.update(&self.ctx(accelerator), |inner, ctx| {
            let previous = std::mem::replace(&mut inner.quota.cache_limit, limit);
            inner.trim(ctx);
            previous
        })
    }

    pub(crate) fn cache_limit(&self) -> Option<u64> {
        self.with_inner(|inner| inner.quota.cache_limit)
    }

    pub(crate) fn device(&self) -> DeviceIndex {
        self.device
    }

    /// Records what happens from now on, or no more, unless a later change was applied already. Where that `begins` a
    /// history, here or on other devices, what was recorded is forgotten.
    pub(crate) fn set_history(&self, changes: u64, begins: bool, config: Option<HistoryConfig>) {
        // What was recorded is dropped without the lock: it may be much.
        drop(self.with_inner(|inner| inner.recorder.configure(changes, begins, config)));
    }

    /// The segments, and what is recorded.
    pub(crate) fn snapshot(&self) -> (Vec<SegmentState>, Vec<TraceEntry>) {
        self.with_inner(|inner| inner.snapshot(self.device))
    }

    /// For replays: frees a block once it is [completed](CachingAllocator::complete), as if queued work used it.
    pub(crate) fn hold(&self, block: BlockId) {
        self.with_inner(|inner| inner.hold(block));
    }

    /// For replays: completes the free of a held block, now or `later`, when everything unused is released next.
    pub(crate) fn complete(&self, accelerator: &'static Accelerator, block: BlockId, later: bool) {
        self.update(&self.ctx(accelerator), |inner, ctx| inner.complete(ctx, block, later));
    }

    /// For replays: completes all frees that were to be completed later.
    pub(crate) fn complete_all(&self, accelerator: &'static Accelerator) {
        self.update(&self.ctx(accelerator), |inner, ctx| inner.complete_all(ctx));
    }

    /// Opens a memory tracker, which counts allocations from now on; returns its id.
    pub(crate) fn open_tracker(&self) -> u64 {
        self.with_inner(|inner| inner.trackers.open(inner.heap.allocations()))
    }

    /// What an open tracker has counted.
    pub(crate) fn tracker_stats(&self, id: u64) -> Option<TrackerStats> {
        self.with_inner(|inner| inner.trackers.stats(id))
    }

    /// Closes a tracker.
    pub(crate) fn close_tracker(&self, id: u64) {
        self.with_inner(|inner| inner.trackers.close(id));
    }
}

/// Unlocks the state, and then drops handles that it has collected.
#[cold]
fn drop_without_lock(mut inner: MutexGuard<'_, Inner>) {
    let deferred_drops = std::mem::take(&mut inner.releases.deferred_drops);
    drop(inner);
    drop(deferred_drops);
}

impl fmt::Debug for CachingAllocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CachingAllocator({})", self.device)
    }
}
