//! The state of a caching allocator, guarded by its lock.

use interlock_driver::{Address, AllocatorState, DeviceIndex};

use super::block::BlockId;
use super::expandable::Expansion;
use super::heap::{Addresses, Heap, PlannedMap, Request};
use super::quota::Quota;
use super::recorder::Recorder;
use super::release::{Releasable, Releases};
use super::size_policy::SizePolicy;
use super::trackers::Trackers;
use super::{AllocCtx, AllocatedBlock, gc, snapshot};
use crate::PoolId;
use crate::allocators::config::AllocatorConfig;
use crate::allocators::snapshot::SegmentState;
use crate::allocators::trace::{TraceAction, TraceEntry};

/// The parts of a caching allocator. Each part maintains its own invariants; the functions here are operations that
/// involve several parts. They call the driver only where that is allowed while locks are held.
#[derive(Default)]
pub(super) struct Inner {
    pub(super) heap: Heap,
    pub(super) releases: Releases,
    pub(super) quota: Quota,
    pub(super) recorder: Recorder,
    pub(super) trackers: Trackers,
    /// Whether requests and frees involve more than the heap; see [`update_observed`](Inner::update_observed).
    pub(super) is_observed: bool,
    /// The number of the configuration that was applied last.
    config_number: u64,
    /// Blocks from [`hold`](Inner::hold) whose free is deferred to the next release of all unused memory.
    deferred_frees: Vec<BlockId>,
}

/// A request that no cached block serves.
pub(super) struct Miss {
    pub(super) request: Request,
    /// The growth of segments, if they are expandable.
    pub(super) growth: Option<Growth>,
}

/// The growth of a segment for a request.
pub(super) struct Growth {
    /// The bytes to grow by, before rounding to the granularity of the driver.
    pub(super) unit: usize,
    /// Whether an existing segment can grow enough.
    pub(super) can_grow: bool,
}

/// A planned allocation by the driver.
pub(super) struct SegmentPlan {
    pub(super) bytes: usize,
    /// The addresses to be mapped if a segment grows; `None` for a new segment.
    pub(super) map: Option<PlannedMap>,
    /// Whether the quota permits it, and counts it until the plan is committed or aborted.
    pub(super) is_reserved: bool,
    /// Whether the plan fails if the driver reports less free memory (`throw_on_cudamalloc_oom`).
    pub(super) throw_on_oom: bool,
}

/// Observers of requests and frees.
impl Inner {
    /// Updates [`is_observed`](Inner::is_observed) after an operation that may have changed what observes requests and
    /// frees: a history, trackers, the limit of cached bytes, and memory that waits for events. Operations of the heap
    /// change none of these.
    pub(super) fn update_observed(&mut self) {
        let waits = !(self.releases.events.is_empty() && self.releases.is_idle());
        let limits = self.quota.cache_limit.is_some() || !self.heap.policy.caching;
        self.is_observed = waits || limits || self.trackers.is_any_open() || !self.recorder.is_idle();
    }
}

/// Allocation and free.
impl Inner {
    /// Allocates a cached block.
    #[inline]
    pub(super) fn allocate(&mut self, request: &Request) -> Option<AllocatedBlock> {
        let block = self.heap.allocate(request)?;
        Some(self.on_alloc(block))
    }

    /// Allocates a cached block of a private pool for a request of the default pool that would fail otherwise.
    pub(super) fn allocate_from_reserve(&mut self, request: &Request) -> Option<AllocatedBlock> {
        let block = self.heap.allocate_from_reserve(request)?;
        Some(self.on_alloc(block))
    }

    #[inline]
    fn on_alloc(&mut self, id: BlockId) -> AllocatedBlock {
        let block = self.heap.block(id);
        self.trackers.on_alloc(block.bytes as u64);
        self.recorder.trace_block(TraceAction::Alloc, &self.heap, id);
        AllocatedBlock { id, address: block.address }
    }

    /// Frees a block of the program, after the events of other streams that use it.
    #[inline]
    pub(super) fn free(&mut self, ctx: &AllocCtx, id: BlockId) {
        self.mark_freed(id);
        if self.heap.block(id).has_stream_uses {
            let streams = self.heap.take_stream_uses(id);
            self.heap.set_pending_events(id, streams.len());
            self.releases.defer_free(ctx, id, streams);
        } else {
            self.complete_free(ctx, id);
        }
        self.trim(ctx);
    }

    #[inline]
    fn mark_freed(&mut self, id: BlockId) {
        let block = self.heap.block(id);
        self.trackers.on_free(block.last_used_tick, block.bytes as u64);
        self.recorder.trace_block(TraceAction::FreeRequested, &self.heap, id);
        self.heap.mark_freed(id);
    }

    #[inline]
    fn complete_free(&mut self, ctx: &AllocCtx, id: BlockId) {
        self.recorder.trace_block(TraceAction::FreeCompleted, &self.heap, id);
        let segment = self.heap.free(id);
        if self.heap.segment(segment).is_retired {
            self.releases.release_if_unused(ctx, &mut self.heap, segment);
        }
    }

    /// Frees a block as if work used it, until the free is [completed](Inner::complete).
    pub(super) fn hold(&mut self, id: BlockId) {
        self.mark_freed(id);
        self.heap.set_pending_events(id, 1);
    }

    /// Frees a held block, now or with the next release of all unused memory.
    pub(super) fn complete(&mut self, ctx: &AllocCtx, id: BlockId, later: bool) {
        if later { self.deferred_frees.push(id) } else { self.complete_free(ctx, id) }
    }

    /// Frees the held blocks whose free was deferred.
    pub(super) fn complete_all(&mut self, ctx: &AllocCtx) {
        std::mem::take(&mut self.deferred_frees).into_iter().for_each(|id| self.complete_free(ctx, id));
    }

    /// Frees the blocks whose events have completed, retries releases that were deferred, and releases cached blocks
    /// beyond the limit. Has no effect while a graph is captured.
    #[inline]
    pub(super) fn process_events(&mut self, ctx: &AllocCtx) {
        if !(self.releases.events.is_empty() && self.releases.is_idle() || ctx.capturing) {
            self.process_pending(ctx);
        }
        self.trim(ctx);
    }

    #[cold]
    fn process_pending(&mut self, ctx: &AllocCtx) {
        for id in self.releases.drain_completed(ctx) {
            if self.heap.complete_event(id) {
                self.complete_free(ctx, id);
            }
        }
        self.releases.retry(ctx, &mut self.heap);
    }
}

/// Memory from the driver.
impl Inner {
    /// Describes for the slow path a request that no cached block serves. Its caller prevents that its pool is
    /// released.
    #[cold]
    pub(super) fn miss(&self, request: Request) -> Miss {
        let is_expandable =
            self.heap.policy.expandable_segments && !self.heap.pool(request.pool).options.no_split;
        let growth = is_expandable.then(|| Growth {
            unit: self.heap.policy.map_unit(request.is_small()),
            can_grow: self.heap.can_grow(&request),
        });
        Miss { request, growth }
    }

    /// Plans memory for a request: a new segment, or the growth of one with an `expansion`. Returns `None` if the quota
    /// does not permit it, and addresses that the caller releases then.
    pub(super) fn plan_segment(
        &mut self,
        request: &Request,
        expansion: Option<&mut Expansion>,
    ) -> (Option<SegmentPlan>, Option<Addresses>) {
        let throw_on_oom = self.heap.policy.throw_on_oom;
        let map = expansion.map(|expansion| self.begin_map(request, expansion));
        let bytes = match &map {
            Some(map) => map.map(|map| map.bytes),
            None => self.heap.policy.segment_size(request.bytes),
        };
        let Some(bytes) = bytes else { return (None, None) };
        let mut plan = SegmentPlan { bytes, map: map.flatten(), is_reserved: false, throw_on_oom };
        let reserved = self.heap.stats.reserved_bytes.all.current;
        plan.is_reserved = self.quota.try_reserve(bytes as u64, reserved);
        if plan.is_reserved || throw_on_oom { (Some(plan), None) } else { (None, self.abort_segment(&plan)) }
    }

    /// Begins the growth of a segment, adding one if no existing segment can grow enough.
    fn begin_map(&mut self, request: &Request, expansion: &mut Expansion) -> Option<PlannedMap> {
        if let Some(map) = self.heap.begin_map(request) {
            return Some(map);
        }
        self.heap.insert_segment(request, expansion.addresses.take()?, Some(expansion.map_unit));
        self.heap.begin_map(request)
    }

    /// Aborts a plan for which the driver has no memory. Returns addresses that the caller releases.
    pub(super) fn abort_segment(&mut self, plan: &SegmentPlan) -> Option<Addresses> {
        if plan.is_reserved {
            self.quota.end_reservation(plan.bytes as u64);
        }
        plan.map.as_ref().and_then(|map| self.heap.abort_map(map))
    }

    /// Allocates a block from the memory that the driver returned for a plan: a segment at `address`, or mapped
    /// addresses.
    pub(super) fn commit_segment(
        &mut self,
        request: &Request,
        plan: &SegmentPlan,
        address: Address,
    ) -> AllocatedBlock {
        let bytes = plan.bytes;
        self.quota.end_reservation(bytes as u64);
        let (action, block) = match &plan.map {
            Some(map) => (TraceAction::SegmentMap, self.heap.commit_map(map)),
            None => (TraceAction::SegmentAlloc, self.heap.add_segment(request, address, bytes)),
        };
        self.recorder.trace_segment(action, &self.heap, block, address, bytes);
        self.heap.allocate_block(block, request);
        self.on_alloc(block)
    }

    /// Removes memory that the driver has released. Returns addresses that the caller releases.
    pub(super) fn finish_release(&mut self, ctx: &AllocCtx, releasable: &Releasable) -> Option<Addresses> {
        self.releases.finish(releasable);
        let (id, block) = (releasable.block, self.heap.block(releasable.block));
        let (segment, address, bytes) = (block.segment, block.address, block.bytes);
        if !self.heap.segment(segment).is_expandable() {
            self.recorder.trace_segment(TraceAction::SegmentFree, &self.heap, id, address, bytes);
            self.heap.remove_segment(segment);
            return None;
        }
        self.recorder.trace_segment(TraceAction::SegmentUnmap, &self.heap, id, address, bytes);
        let events = self.heap.segment(segment).release.after.clone();
        let addresses = self.heap.end_unmap(id);
        if addresses.is_some() {
            self.releases.events.recycle_events(events);
        } else {
            self.releases.release_if_unused(ctx, &mut self.heap, segment);
        }
        addresses
    }

    /// Releases all unused memory.
    pub(super) fn release_unused(&mut self, ctx: &AllocCtx) {
        let unused = gc::unused(&self.heap);
        self.releases.release_blocks(ctx, &mut self.heap, unused);
    }

    /// Releases cached blocks beyond the limit, in the order in which they were freed.
    #[inline]
    pub(super) fn trim(&mut self, ctx: &AllocCtx) {
        let limit = if self.heap.policy.caching { self.quota.cache_limit } else { Some(0) };
        let excess = limit.map_or(0, |limit| self.heap.cached_bytes().saturating_sub(limit));
        if excess > 0 && !ctx.capturing {
            let oldest = gc::oldest_unused(&self.heap, excess);
            self.releases.release_blocks(ctx, &mut self.heap, oldest);
        }
    }

    /// Releases the least recently used large segments if more is reserved than the configured fraction of the limit:
    /// PyTorch's `garbage_collection_threshold`.
    pub(super) fn garbage_collect(&mut self, ctx: &AllocCtx) {
        let threshold = self.heap.policy.garbage_collection_threshold;
        let Some(limit) = self.quota.limit.filter(|_| threshold > 0.0 && !ctx.capturing) else { return };
        let allowed = (threshold * limit as f64) as u64;
        let excess = self.heap.stats.reserved_bytes.all.current.saturating_sub(allowed);
        let garbage = gc::garbage(&self.heap, excess);
        self.releases.release_blocks(ctx, &mut self.heap, garbage);
    }
}

/// Configuration and statistics.
impl Inner {
    /// Applies a configuration on a device with `total` bytes, unless a later one was applied.
    pub(super) fn configure(&mut self, number: u64, config: &AllocatorConfig, total: u64) {
        self.quota.total = total;
        if number > self.config_number {
            self.config_number = number;
            self.heap.policy = SizePolicy::of(config, total);
            self.heap.stats.max_split_size = self.heap.policy.reported_max_split_size();
            self.quota.configure(config);
        }
    }

    /// Counts and records a failed request while the driver had `free` bytes; returns the state of the allocator.
    pub(super) fn record_oom(
        &mut self,
        (requested, rounded): (usize, usize),
        stream: i64,
        pool: Option<PoolId>,
        free: Option<u64>,
        is_capturing: bool,
    ) -> AllocatorState {
        self.recorder.trace_oom(free.unwrap_or(0), requested as u64, stream, pool, is_capturing);
        self.heap.stats.num_ooms += 1;
        let stats = &self.heap.stats;
        let mut state = AllocatorState::default();
        state.rounded = rounded;
        state.segment = self.heap.policy.segment_size(rounded).unwrap_or(rounded);
        state.is_small = SizePolicy::is_small(rounded);
        state.allocated = stats.allocated_bytes.all.current;
        state.reserved = stats.reserved_bytes.all.current;
        state.expandable = self.heap.policy.expandable_segments;
        state.limit = self.quota.limit;
        state.is_capturing = is_capturing;
        state.free = free;
        state.stream = stream;
        state.pool = pool;
        self.heap.classify_free_blocks(&mut state);
        state
    }

    /// Returns the segments.
    pub(super) fn segments(&self, device: DeviceIndex) -> Vec<SegmentState> {
        snapshot::segment_states(device, &self.heap, &self.recorder)
    }

    /// Returns the segments and the recorded entries, and records the snapshot.
    pub(super) fn snapshot(&mut self, device: DeviceIndex) -> (Vec<SegmentState>, Vec<TraceEntry>) {
        let segments = self.segments(device);
        let active = segments.iter().map(|segment| segment.active_size).sum();
        self.recorder.trace_snapshot(active);
        (segments, self.recorder.log.entries())
    }
}
