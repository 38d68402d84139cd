//! Caches freed memory of a device for later requests, following the design of PyTorch's caching allocator.
//!
//! The driver allocates segments, which are split into blocks. A freed block is added to the free list of its stream at
//! once, although queued work of that stream may still use it: later work runs after it. For other streams that have
//! used the block, events are recorded and awaited first. A request gets the smallest free block of its stream that is
//! large enough; free neighbours are merged. Unused segments are released to the driver when memory runs out and by
//! `empty_cache`.
//!
//! This file contains the fast path and the locking. One lock guards [`Inner`], which composes the heap, the event
//! queue, the releases and the recorder; it is never held while the driver allocates or releases memory, nor during a
//! wait.

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
mod unmapped;

use std::fmt;
use std::sync::{Arc, MutexGuard};

pub(crate) use block::BlockId;
use inner::{Inner, Miss};
pub use mem_pool::MemPoolOptions;
use release::Releasable;
use slow_path::SlowPath;
pub use trackers::TrackerStats;

use interlock_core::base::mutex::Mutex;
use interlock_core::base::sync::RelaxedU64;
use interlock_driver::{Address, DeviceIndex, StreamHandle};

use super::DynDriver;
use super::config::ConfigWatch;
use super::snapshot::SegmentState;
use super::stats::Statistics;
use super::trace::{Recording, ReleaseReason, TraceEntry};
use crate::started::Started;
use crate::stream::{Stream, StreamHome};
use crate::{Device, Error, PoolId, Result};

/// The caching allocator of one device. The caller has checked that the accelerator belongs to this process.
pub(crate) struct CachingAllocator {
    device: DeviceIndex,
    config: ConfigWatch,
    /// 0 while the active configuration is applied: a word of `config`.
    pending_config: Arc<RelaxedU64>,
    inner: Mutex<Inner>,
    /// The number of times that the lock was taken.
    #[cfg(test)]
    locks: std::sync::atomic::AtomicUsize,
}

/// An allocated block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllocatedBlock {
    pub(crate) id: BlockId,
    pub(crate) address: Address,
}

/// The arguments that all operations of the allocator share.
#[derive(Clone, Copy)]
struct AllocCtx {
    home: &'static dyn StreamHome,
    device: DeviceIndex,
    /// Whether a graph is being captured in this process. Events could then become a part of it, and a driver permits
    /// few calls.
    capturing: bool,
}

impl AllocCtx {
    fn started(&self) -> &'static Started {
        self.home.started()
    }

    fn driver(&self) -> &'static DynDriver {
        &**self.started().runtime()
    }
}

impl CachingAllocator {
    pub(crate) fn new(device: DeviceIndex) -> Self {
        let config = ConfigWatch::default();
        CachingAllocator {
            device,
            pending_config: config.pending(),
            config,
            inner: Mutex::default(),
            #[cfg(test)]
            locks: Default::default(),
        }
    }

    #[inline]
    fn ctx(&self, home: &'static dyn StreamHome) -> AllocCtx {
        AllocCtx { home, device: self.device, capturing: home.started().captures_underway() }
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Inner> {
        #[cfg(test)]
        self.locks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.inner.lock()
    }

    /// Calls `function` with the lock held.
    #[inline]
    fn with_inner<T>(&self, function: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.lock();
        let result = function(&mut inner);
        inner.update_observed();
        #[cfg(debug_assertions)]
        inner.heap.check_if_due();
        if !inner.releases.deferred_drops.is_empty() {
            drop_without_lock(inner);
        }
        result
    }

    /// Calls `function` with the lock held, then unlocks and releases memory to the driver if that is possible.
    #[inline]
    fn with_inner_and_release<T>(
        &self,
        ctx: &AllocCtx,
        function: impl FnOnce(&mut Inner, &AllocCtx) -> T,
    ) -> T {
        self.change_and_release(self.lock(), ctx, function)
    }

    /// Like [`with_inner_and_release`](Self::with_inner_and_release), with the lock held already.
    fn change_and_release<T>(
        &self,
        mut inner: MutexGuard<'_, Inner>,
        ctx: &AllocCtx,
        function: impl FnOnce(&mut Inner, &AllocCtx) -> T,
    ) -> T {
        let result = function(&mut inner, ctx);
        #[cfg(debug_assertions)]
        inner.heap.check_if_due();
        let Inner { releases, heap, .. } = &mut *inner;
        if releases.deferred_drops.is_empty() && releases.is_idle() {
            inner.update_observed();
        } else {
            let releasable = releases.take_releasable(ctx, heap);
            inner.update_observed();
            drop_without_lock(inner);
            self.release_blocks(ctx, releasable);
        }
        result
    }

    /// Releases blocks to the driver.
    #[cold]
    fn release_blocks(&self, ctx: &AllocCtx, blocks: Vec<Releasable>) {
        for releasable in blocks {
            releasable.release_to_driver(ctx);
            let addresses = self.with_inner(|inner| inner.finish_release(ctx, &releasable));
            expandable::free_addresses(ctx, addresses);
        }
    }

    /// Allocates at least `requested` bytes for a stream, from a private pool if `pool` is set, which the caller has not
    /// released. `requested` must not be 0.
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
        let mut inner = self.lock();
        if inner.is_observed || self.pending_config.get() != 0 {
            drop(inner);
            return self.allocate_observed(&self.ctx(stream.home()), stream, requested, pool);
        }
        let request = inner.heap.request(stream.id(), requested, pool);
        let found = request.as_ref().and_then(|request| inner.heap.allocate(request));
        #[cfg(debug_assertions)]
        inner.heap.check_if_due();
        match found {
            Some(id) => Ok(AllocatedBlock { id, address: inner.heap.block(id).address }),
            None => {
                let miss = request.map(|request| inner.miss(request));
                drop(inner);
                self.allocate_slow(&self.ctx(stream.home()), stream, requested, pool, miss)
            }
        }
    }

    /// Allocates while something observes requests, memory waits for events, or a configuration is to be applied.
    #[cold]
    #[inline(never)]
    fn allocate_observed(
        &self,
        ctx: &AllocCtx,
        stream: &Stream,
        requested: usize,
        pool: Option<PoolId>,
    ) -> Result<AllocatedBlock> {
        self.refresh_config(ctx)?;
        let mut miss = None;
        let found = self.with_inner_and_release(ctx, |inner, ctx| {
            inner.process_events(ctx);
            let request = inner.heap.request(stream.id(), requested, pool)?;
            let block = inner.allocate(&request);
            if block.is_none() {
                miss = Some(inner.miss(request));
            }
            block
        });
        match found {
            Some(block) => Ok(block),
            None => self.allocate_slow(ctx, stream, requested, pool, miss),
        }
    }

    /// Allocates as during a capture: no memory is released for the request.
    ///
    /// # Errors
    /// As for [`allocate`](Self::allocate).
    pub(crate) fn allocate_as_captured(
        &self,
        stream: &Stream,
        requested: usize,
        pool: Option<PoolId>,
    ) -> Result<AllocatedBlock> {
        let ctx = AllocCtx { capturing: true, ..self.ctx(stream.home()) };
        self.allocate_observed(&ctx, stream, requested, pool)
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
            // The request exceeds the address space.
            None => Err(slow_path.oom_error(requested, requested)),
        }
    }

    /// Applies the active configuration if it has changed.
    #[inline]
    fn refresh_config(&self, ctx: &AllocCtx) -> Result<()> {
        self.config.refresh(|number, config| {
            let total = ctx.driver().memory_info(self.device).map_or(0, |info| info.total);
            let fraction = config.per_process_memory_fraction;
            if fraction < 1.0 && total == 0 {
                let device = ctx.started().device(self.device);
                let name = "accelerator.memory.set_config: per_process_memory_fraction";
                return Err(Error::argument(name, fraction.to_string(), without_total(device, "1.0")));
            }
            self.with_inner(|inner| inner.configure(number, config, total));
            Ok(())
        })
    }

    /// Frees a block of the program, which queued work may still use.
    pub(crate) fn free(&self, home: &'static dyn StreamHome, block: BlockId) {
        let mut inner = self.lock();
        if !inner.is_observed && inner.heap.free_if_unused(block) {
            #[cfg(debug_assertions)]
            inner.heap.check_if_due();
            return;
        }
        self.change_and_release(inner, &self.ctx(home), |inner, ctx| inner.free(ctx, block));
    }

    /// Records that work of another stream uses a block.
    pub(crate) fn record_stream(&self, block: BlockId, stream: &Stream) {
        self.with_inner(|inner| inner.heap.add_stream_use(block, stream));
    }

    /// Returns the other streams whose work uses a block.
    pub(crate) fn stream_uses(&self, block: BlockId) -> Vec<Stream> {
        self.with_inner(|inner| inner.heap.stream_uses(block).to_vec())
    }

    /// Releases unused memory to the driver, after waiting for the work that is queued now. Has no effect while a graph
    /// is captured.
    ///
    /// # Errors
    /// Returns the error of a device whose streams can't be queried.
    pub(crate) fn release_cached_blocks(&self, home: &'static dyn StreamHome) -> Result<()> {
        let ctx = self.ctx(home);
        match ctx.capturing {
            true => Ok(()),
            false => slow_path::release_cached_blocks(self, &ctx, ReleaseReason::EmptyCache),
        }
    }

    /// Releases the memory of a stream that is being destroyed, once it is unused.
    pub(crate) fn on_stream_destroyed(&self, home: &'static dyn StreamHome, id: i64, stream: StreamHandle) {
        self.with_inner_and_release(&self.ctx(home), |inner, ctx| {
            inner.releases.on_stream_destroyed(ctx, &mut inner.heap, id, stream)
        });
    }

    /// Records the end of the queued work of an external stream of which no handle is left. The stream may be destroyed
    /// next, so that the allocator no longer uses it. Its memory remains cached.
    pub(crate) fn on_external_stream_dropped(
        &self,
        home: &'static dyn StreamHome,
        id: i64,
        stream: StreamHandle,
    ) {
        let ctx = self.ctx(home);
        self.with_inner(|inner| inner.releases.on_external_stream_dropped(&ctx, &inner.heap, id, stream));
    }

    /// Makes an external stream wait for the work that was queued on the last stream with its handle, whose memory it
    /// gets from the cache.
    pub(crate) fn on_external_stream_wrapped(&self, stream: &Stream) -> Result<()> {
        let Some(end) = self.with_inner(|inner| inner.releases.end_of(stream.id())) else { return Ok(()) };
        let driver = stream.started().runtime();
        // A stream that is captured can't wait for work outside the capture. It is the stream that was dropped, unless
        // another library destroyed that one and captured a new one within the capture.
        if driver.has_completed(end)? || stream.is_capturing()? {
            return Ok(());
        }
        driver.wait_event(stream.handle()?, end)
    }

    /// Adds a private pool, which [`on_pool_released`](Self::on_pool_released) removes.
    pub(crate) fn add_pool(&self, pool: PoolId, options: MemPoolOptions) {
        self.with_inner(|inner| inner.heap.add_pool(pool, options));
    }

    /// Releases the memory of a pool that has no user left, once it is unused. `streams` may still run graphs of the pool.
    pub(crate) fn on_pool_released(&self, home: &'static dyn StreamHome, pool: PoolId, streams: &[Stream]) {
        self.with_inner_and_release(&self.ctx(home), |inner, ctx| {
            inner.releases.on_pool_released(ctx, &mut inner.heap, pool, streams)
        });
    }

    /// Reads or resets the statistics.
    pub(crate) fn with_stats<T>(&self, function: impl FnOnce(&mut Statistics) -> T) -> T {
        self.with_inner(|inner| function(&mut inner.heap.stats))
    }

    /// Returns the number of events and the bytes that the allocator owns and the program does not use.
    #[cfg(feature = "host")]
    pub(crate) fn cached(&self) -> (usize, u64) {
        self.with_inner(|inner| {
            let stats = &inner.heap.stats;
            let (reserved, allocated) = (stats.reserved_bytes.all.current, stats.allocated_bytes.all.current);
            (inner.releases.events.owned_events(), reserved.saturating_sub(allocated))
        })
    }

    /// Returns the largest size and the total size of the free blocks that requests of a stream may use.
    pub(crate) fn free_bytes_for(&self, stream: &Stream, pool: Option<PoolId>) -> (u64, u64) {
        self.with_inner(|inner| inner.heap.free_bytes_for(stream.id(), pool))
    }

    /// Reads or sets the largest number of bytes that may be reserved, after applying the active configuration.
    ///
    /// # Errors
    /// Returns the error of an invalid configuration.
    pub(crate) fn with_limit<T>(
        &self,
        home: &'static dyn StreamHome,
        function: impl FnOnce(&mut Option<u64>) -> T,
    ) -> Result<T> {
        self.refresh_config(&self.ctx(home))?;
        Ok(self.with_inner(|inner| function(&mut inner.quota.limit)))
    }

    /// Sets the largest number of bytes that may be cached, and releases blocks beyond it; returns the previous limit.
    pub(crate) fn set_cache_limit(&self, home: &'static dyn StreamHome, limit: Option<u64>) -> Option<u64> {
        self.with_inner_and_release(&self.ctx(home), |inner, ctx| {
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

    /// Begins or ends the recording of events, unless a later change was applied already. If the change begins a
    /// history, here or on other devices, earlier entries are discarded.
    pub(crate) fn set_history(&self, recording: &Recording) {
        let config = recording.of_device(self.device);
        // Many entries may be dropped, so this happens without the lock.
        drop(self.with_inner(|inner| inner.recorder.log.configure(recording, config)));
    }

    /// Records a description of a block in use.
    pub(crate) fn annotate(&self, block: BlockId, annotation: &Arc<str>) {
        self.with_inner(|inner| inner.recorder.trace_annotation(&inner.heap, block, annotation));
    }

    /// Returns the segments and the recorded entries.
    pub(crate) fn snapshot(&self) -> (Vec<SegmentState>, Vec<TraceEntry>) {
        self.with_inner(|inner| inner.snapshot(self.device))
    }

    /// Returns the segments of a private pool.
    pub(crate) fn segments_of(&self, pool: PoolId) -> Vec<SegmentState> {
        let mut segments = self.with_inner(|inner| inner.segments(self.device));
        segments.retain(|segment| segment.pool == Some(pool));
        segments
    }

    /// Frees a block as if queued work used it, until the free is [completed](CachingAllocator::complete). For replays.
    pub(crate) fn hold(&self, block: BlockId) {
        self.with_inner(|inner| inner.hold(block));
    }

    /// Completes the free of a held block, now or `later`, with the next release of all unused memory. For replays.
    pub(crate) fn complete(&self, home: &'static dyn StreamHome, block: BlockId, later: bool) {
        self.with_inner_and_release(&self.ctx(home), |inner, ctx| inner.complete(ctx, block, later));
    }

    /// Completes all frees that were deferred. For replays.
    pub(crate) fn complete_all(&self, home: &'static dyn StreamHome) {
        self.with_inner_and_release(&self.ctx(home), |inner, ctx| inner.complete_all(ctx));
    }

    /// Opens a memory tracker, which counts allocations from now on; returns its id.
    pub(crate) fn open_tracker(&self) -> u64 {
        self.with_inner(|inner| inner.trackers.open(inner.heap.allocations()))
    }

    /// Returns the counts of an open tracker.
    pub(crate) fn tracker_stats(&self, id: u64) -> Option<TrackerStats> {
        self.with_inner(|inner| inner.trackers.stats(id))
    }

    /// Closes a tracker.
    pub(crate) fn close_tracker(&self, id: u64) {
        self.with_inner(|inner| inner.trackers.close(id));
    }
}

/// Returns what is accepted instead of a fraction for a device that does not report its memory.
pub(crate) fn without_total(device: Device, allowed: &str) -> String {
    format!("{allowed}, because {device} does not report its total memory")
}

/// Unlocks the state, then drops the handles in `deferred_drops`.
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
