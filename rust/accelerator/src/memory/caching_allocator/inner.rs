//! The state of a caching allocator, which its lock guards.

use std::collections::{BTreeMap, VecDeque};

use interlock_driver::AllocatorState;
use interlock_driver::{Address, DeviceIndex, EventHandle, StreamHandle};

use super::expandable::Expansion;
use super::heap::{Addresses, BlockId, Heap, PlannedMap, PoolKey, Request, SegmentId};
use super::recorder::Recorder;
use super::release::{Releasable, Releases};
use super::size_policy::SizePolicy;
use super::trackers::{TrackerStats, Trackers};
use super::{AllocCtx, AllocatedBlock, gc, quota::Quota, snapshot};
use crate::PoolId;
use crate::Result;
use crate::memory::config::AllocatorConfig;
use crate::memory::event_queue::EventQueue;
use crate::memory::snapshot::SegmentState;
use crate::memory::stats::Statistics;
use crate::memory::trace::{HistoryConfig, ReleaseReason, TraceAction, TraceEntry};
use crate::stream::Stream;

/// Composes the parts of a caching allocator. Calls of the driver are those that are allowed while locks are held.
#[derive(Default)]
pub(super) struct Inner {
    heap: Heap,
    policy: SizePolicy,
    /// Freed blocks that other streams still use.
    events: EventQueue<BlockId>,
    releases: Releases,
    quota: Quota,
    recorder: Recorder,
    trackers: Trackers,
    /// The number of the configuration that was applied last.
    config_number: u64,
    /// The largest number of bytes that may be cached.
    cache_limit: Option<u64>,
    slow_path_counts: SlowPathCounts,
    /// Held blocks that are freed when everything unused is released.
    deferred_frees: Vec<BlockId>,
    /// Handles of streams, to be dropped without the lock.
    deferred_drops: Vec<Stream>,
}

#[derive(Clone, Copy, Default)]
struct SlowPathCounts {
    num_alloc_retries: u64,
    num_ooms: u64,
    num_sync_all_streams: u64,
    num_oom_rejections: u64,
}

/// A request that no cached block serves.
pub(super) struct Miss {
    pub(super) request: Request,
    /// How segments grow, if they do.
    pub(super) growth: Option<Growth>,
}

/// How segments grow that serve a request.
pub(super) struct Growth {
    pub(super) policy: SizePolicy,
    /// An existing segment can grow enough.
    pub(super) can_grow: bool,
}

/// Memory that the driver is asked for.
pub(super) struct SegmentPlan {
    pub(super) source: SegmentSource,
    /// The quota permits it, and contains it until the plan is committed or aborted.
    pub(super) is_reserved: bool,
    /// The driver has to be asked first whether it has enough memory.
    pub(super) throw_on_oom: bool,
}

/// Where the memory of a plan comes from.
#[derive(Clone, Copy)]
pub(super) enum SegmentSource {
    /// A new segment of this size.
    Segment(usize),
    /// A segment that grows.
    Map(PlannedMap),
}

impl SegmentPlan {
    pub(super) fn bytes(&self) -> usize {
        match &self.source {
            SegmentSource::Segment(bytes) => *bytes,
            SegmentSource::Map(map) => map.bytes(),
        }
    }
}

/// Allocating and freeing.
impl Inner {
    /// The request for a number of bytes; `None` if it exceeds the address space.
    #[inline]
    pub(super) fn request(&mut self, stream: i64, requested: usize, pool: Option<PoolId>) -> Option<Request> {
        let bytes = self.policy.round(requested)?;
        let pool = match pool {
            None => self.heap.default_pool(),
            Some(id) => self.heap.private_pool(id),
        };
        Some(Request { stream, requested, bytes, pool })
    }

    /// Allocates a cached block.
    #[inline]
    pub(super) fn allocate(&mut self, request: &Request) -> Option<AllocatedBlock> {
        let block = self.heap.allocate(request, &self.policy)?;
        Some(self.on_alloc(block))
    }

    #[inline]
    fn on_alloc(&mut self, id: BlockId) -> AllocatedBlock {
        let block = self.heap.block(id);
        self.trackers.on_alloc(block.bytes() as u64);
        self.recorder.trace_block(TraceAction::Alloc, &self.heap, id);
        AllocatedBlock { id, address: block.address() }
    }

    /// Describes a request that no cached block serves for the slow path.
    pub(super) fn miss(&self, request: Request) -> Miss {
        let grows = self.policy.uses_expandable_segments();
        let growth =
            grows.then(|| Growth { policy: self.policy.clone(), can_grow: self.heap.can_grow(&request) });
        Miss { request, growth }
    }

    /// Frees a block that the program does not use any more, once other streams do not use it either.
    #[inline]
    pub(super) fn free(&mut self, ctx: &AllocCtx, id: BlockId) {
        self.end_use(id);
        if self.heap.block(id).has_stream_uses() {
            self.defer_free(ctx, id);
        } else {
            self.complete_free(ctx, id);
        }
        self.trim(ctx);
    }

    #[inline]
    fn end_use(&mut self, id: BlockId) {
        let block = self.heap.block(id);
        self.trackers.on_free(block.last_used_tick(), block.bytes() as u64);
        self.recorder.trace_block(TraceAction::FreeRequested, &self.heap, id);
        self.heap.mark_freed(id);
    }

    #[inline]
    fn complete_free(&mut self, ctx: &AllocCtx, id: BlockId) {
        self.recorder.trace_block(TraceAction::FreeCompleted, &self.heap, id);
        let segment = self.heap.free(id);
        if self.heap.segment(segment).is_retired() {
            self.release_if_unused(ctx, segment);
        }
    }

    /// Frees a block once the other streams that use it have done what is queued there.
    #[cold]
    fn defer_free(&mut self, ctx: &AllocCtx, id: BlockId) {
        let streams = self.heap.take_stream_uses(id);
        self.heap.set_pending_events(id, streams.len());
        for stream in &streams {
            match ctx.capturing() {
                true => self.events.defer(stream, id),
                false => self.events.push(ctx.driver(), stream, id),
            }
        }
        self.deferred_drops.extend(streams);
    }

    pub(super) fn record_stream(&mut self, id: BlockId, stream: &Stream) {
        self.heap.add_stream_use(id, stream);
    }

    pub(super) fn stream_uses(&self, id: BlockId) -> Vec<Stream> {
        self.heap.stream_uses(id).to_vec()
    }

    /// Like [`free`](Inner::free), but work counts as using the block until it is [completed](Inner::complete).
    pub(super) fn hold(&mut self, id: BlockId) {
        self.end_use(id);
        self.heap.set_pending_events(id, 1);
    }

    /// Frees a held block, now or when everything unused is released.
    pub(super) fn complete(&mut self, ctx: &AllocCtx, id: BlockId, later: bool) {
        if later { self.deferred_frees.push(id) } else { self.complete_free(ctx, id) }
    }

    /// Frees the held blocks whose free was deferred.
    pub(super) fn complete_all(&mut self, ctx: &AllocCtx) {
        std::mem::take(&mut self.deferred_frees).into_iter().for_each(|id| self.complete_free(ctx, id));
    }

    /// Frees the blocks whose events have completed, and retries what could not be done during a capture. Does nothing
    /// while a graph is captured.
    #[inline]
    pub(super) fn process_events(&mut self, ctx: &AllocCtx) {
        if !(self.events.is_empty() && self.releases.is_idle() || ctx.capturing()) {
            self.process_pending(ctx);
        }
    }

    #[cold]
    fn process_pending(&mut self, ctx: &AllocCtx) {
        let unneeded = self.events.retry_deferred(ctx.driver());
        self.deferred_drops.extend(unneeded);
        for id in self.events.drain_completed(ctx.driver(), Some(ctx.device())) {
            if self.heap.complete_event(id) {
                self.complete_free(ctx, id);
            }
        }
        for segment in self.releases.take_blocked_segments() {
            self.release_if_unused(ctx, segment);
        }
        for (pool, streams) in self.releases.take_pool_releases() {
            self.release_pool(ctx, pool, streams);
        }
    }

    #[inline]
    pub(super) fn has_deferred_drops(&self) -> bool {
        !self.deferred_drops.is_empty()
    }

    /// Handles that the caller drops without the lock, because the last handle of a stream takes it.
    pub(super) fn take_deferred_drops(&mut self) -> Vec<Stream> {
        std::mem::take(&mut self.deferred_drops)
    }
}

/// Memory from the driver.
impl Inner {
    /// Begins a request that no cached block serves. Its pool stays until the request has [ended](Inner::end_request).
    #[cold]
    pub(super) fn begin_request(&mut self, request: Request) -> Miss {
        self.heap.begin_request(request.pool);
        self.miss(request)
    }

    /// Ends a request that could have added memory to a pool, which may be retired meanwhile.
    pub(super) fn end_request(&mut self, ctx: &AllocCtx, pool: PoolKey) {
        if self.heap.end_request(pool)
            && let Some(streams) = self.releases.take_pool_release(pool)
        {
            self.release_pool(ctx, pool, streams);
            self.heap.remove_pool_if_unused(pool);
        }
    }

    /// Plans memory for a request, from a segment that grows if `expansion` says how. Returns `None` if none may be
    /// reserved, and addresses that are of no use then.
    pub(super) fn plan_segment(
        &mut self,
        request: &Request,
        expansion: Option<&mut Expansion>,
    ) -> (Option<SegmentPlan>, Option<Addresses>) {
        let throw_on_oom = self.policy.throw_on_oom();
        let Some(source) = self.segment_source(request, expansion) else { return (None, None) };
        let mut plan = SegmentPlan { source, is_reserved: false, throw_on_oom };
        let reserved = self.heap.stats().reserved_bytes.all.current;
        plan.is_reserved = self.quota.try_reserve(plan.bytes() as u64, reserved);
        if plan.is_reserved || throw_on_oom { (Some(plan), None) } else { (None, self.abort_segment(&plan)) }
    }

    fn segment_source(
        &mut self,
        request: &Request,
        expansion: Option<&mut Expansion>,
    ) -> Option<SegmentSource> {
        let Some(expansion) = expansion else {
            return self.policy.segment_size(request.bytes).map(SegmentSource::Segment);
        };
        if !self.heap.can_grow(request) {
            self.heap.add_unmapped_segment(request, expansion.take_addresses()?, expansion.map_unit());
        }
        self.heap.begin_map(request).map(SegmentSource::Map)
    }

    /// Ends a plan for which the driver returned no memory. Returns addresses that the caller releases.
    pub(super) fn abort_segment(&mut self, plan: &SegmentPlan) -> Option<Addresses> {
        if plan.is_reserved {
            self.quota.end_reservation(plan.bytes() as u64);
        }
        match &plan.source {
            SegmentSource::Segment(_) => None,
            SegmentSource::Map(map) => self.heap.abort_map(map),
        }
    }

    /// Allocates a block of the memory that the driver returned for a plan: a segment at `address`, or mapped
    /// addresses.
    pub(super) fn commit_segment(
        &mut self,
        request: &Request,
        plan: &SegmentPlan,
        address: Address,
    ) -> AllocatedBlock {
        let bytes = plan.bytes();
        self.quota.end_reservation(bytes as u64);
        let (action, segment, block) = match &plan.source {
            SegmentSource::Segment(_) => {
                let block = self.heap.add_segment(request, address, bytes, &self.policy);
                (TraceAction::SegmentAlloc, self.heap.block(block).segment(), block)
            }
            SegmentSource::Map(map) => {
                let segment = self.heap.segment_of_map(map);
                (TraceAction::SegmentMap, segment, self.heap.commit_map(map))
            }
        };
        self.recorder.trace_segment(action, &self.heap, segment, address.0, bytes);
        self.heap.allocate_block(block, request, &self.policy);
        self.on_alloc(block)
    }

    /// Returns whether memory waits to be released.
    #[inline]
    pub(super) fn has_releases(&self) -> bool {
        !self.releases.is_idle()
    }

    /// The blocks that the driver can release now; none while a graph is captured.
    pub(super) fn take_releasable(&mut self, ctx: &AllocCtx) -> Vec<Releasable> {
        if self.releases.is_idle() || ctx.capturing() {
            return Vec::new();
        }
        self.releases.take_releasable(ctx, &self.heap, &mut self.events)
    }

    /// Removes what the driver has released. Returns addresses that the caller releases.
    pub(super) fn finish_release(&mut self, ctx: &AllocCtx, releasable: &Releasable) -> Option<Addresses> {
        self.releases.finish(releasable);
        let id = releasable.block();
        let (block, segment_id) = (self.heap.block(id), self.heap.block(id).segment());
        let (address, bytes) = (block.address().0, block.bytes());
        let segment = self.heap.segment(segment_id);
        if !segment.is_expandable() {
            self.recorder.trace_segment(TraceAction::SegmentFree, &self.heap, segment_id, address, bytes);
            self.heap.remove_segment(segment_id);
            return None;
        }
        let events = segment.retired_after().map(<[_]>::to_vec).unwrap_or_default();
        self.recorder.trace_segment(TraceAction::SegmentUnmap, &self.heap, segment_id, address, bytes);
        let addresses = self.heap.end_unmap(id);
        if addresses.is_some() {
            self.events.recycle_events(events);
        } else {
            self.release_if_unused(ctx, segment_id);
        }
        addresses
    }

    /// Detaches free blocks and releases them once these events have completed.
    fn release_blocks_after(&mut self, events: Vec<EventHandle>, blocks: Vec<BlockId>) {
        let blocks = blocks.into_iter().filter_map(|id| self.heap.detach_releasable(id)).collect();
        self.releases.defer_release(events, blocks);
    }

    /// Releases free blocks once their streams have done what is queued there. Blocks whose streams can't record an
    /// event stay.
    fn release_blocks(&mut self, ctx: &AllocCtx, blocks: Vec<BlockId>) {
        let mut by_stream: BTreeMap<i64, Vec<BlockId>> = BTreeMap::new();
        for id in blocks {
            by_stream.entry(self.heap.segment_of(id).stream()).or_default().push(id);
        }
        for (stream, blocks) in by_stream {
            if let Some(event) = self.event_after(ctx, stream) {
                for id in &blocks {
                    let segment = self.heap.block(*id).segment();
                    self.recorder.note_release(segment, ReleaseReason::Limit);
                }
                self.release_blocks_after(vec![event], blocks);
            }
        }
    }

    /// Releases everything that is unused.
    pub(super) fn release_unused(&mut self, ctx: &AllocCtx) {
        let unused = self.heap.unused();
        self.release_blocks(ctx, unused);
    }

    /// Releases cached blocks beyond the limit, those first that were freed first.
    #[inline]
    pub(super) fn trim(&mut self, ctx: &AllocCtx) {
        let limit = if self.policy.caching() { self.cache_limit } else { Some(0) };
        let excess = limit.map_or(0, |limit| self.heap.cached_bytes().saturating_sub(limit));
        if excess > 0 && !ctx.capturing() {
            self.release_blocks(ctx, gc::oldest_unused(&self.heap, excess));
        }
    }

    /// Releases large segments that have been unused for long if more is reserved than the configured share of the
    /// limit: PyTorch's `garbage_collection_threshold`.
    pub(super) fn garbage_collect(&mut self, ctx: &AllocCtx) {
        let threshold = self.policy.garbage_collection_threshold();
        let Some(limit) = self.quota.limit().filter(|_| threshold > 0.0 && !ctx.capturing()) else { return };
        let allowed = (threshold * limit as f64) as u64;
        let excess = self.heap.stats().reserved_bytes.all.current.saturating_sub(allowed);
        let garbage = gc::garbage(&self.heap, excess);
        self.release_blocks(ctx, garbage);
    }

    /// An event behind all that is queued on a stream; `None` if none can be recorded.
    fn event_after(&mut self, ctx: &AllocCtx, stream: i64) -> Option<EventHandle> {
        let stream = ctx.accelerator().stream_of_id(ctx.device(), stream).ok().flatten()?;
        let event = stream.handle().and_then(|handle| self.events.record_event(ctx.driver(), handle));
        self.deferred_drops.push(stream);
        event.ok()
    }

    /// Releases a retired segment if it is unused. Since it was retired its stream may have been given work that uses
    /// it.
    fn release_if_unused(&mut self, ctx: &AllocCtx, segment: SegmentId) {
        self.releases.unblock_segment(segment);
        if !self.heap.segment(segment).is_retired() || !self.heap.is_unused(segment) {
            return;
        }
        let stream = self.heap.segment(segment).stream();
        let found = ctx.accelerator().stream_of_id(ctx.device(), stream).ok().flatten();
        // A stream that is being destroyed records no event any more, and calls `on_stream_destroyed` in a moment.
        let is_alive = found.is_some() || ctx.accelerator().remembers(stream);
        self.deferred_drops.extend(found);
        let own = if is_alive && !ctx.capturing() { self.event_after(ctx, stream) } else { None };
        if is_alive && own.is_none() {
            self.releases.block_segment(segment);
        } else {
            // It stays retired: units of an expandable segment are released one by one.
            let mut after = self.heap.take_retired_after(segment);
            after.extend(own);
            let blocks = self.heap.unused_of(segment);
            self.release_blocks_after(after, blocks);
        }
    }

    /// Releases the memory of a stream that is being destroyed, once it is unused and no graph uses it.
    pub(super) fn on_stream_destroyed(&mut self, ctx: &AllocCtx, id: i64, stream: StreamHandle) {
        // Not before: as long as the stream is registered, its memory waits for it.
        ctx.accelerator().forget(id);
        for segment in self.heap.live_segments(|segment| segment.stream() == id) {
            // If no event can be recorded, because the stream is lost or captured, the memory is never released.
            let Ok(event) = self.events.record_event(ctx.driver(), stream) else { continue };
            if self.heap.retire_also_after(segment, event) {
                continue;
            }
            if self.heap.is_private(self.heap.segment(segment).pool()) {
                self.heap.set_stream_end_event(segment, event);
            } else {
                self.retire_segment(ctx, segment, vec![event], ReleaseReason::Stream);
            }
        }
    }

    /// Releases the memory of a pool that no graph uses any more, once it is unused and these streams have done what is
    /// queued there.
    pub(super) fn on_pool_released(&mut self, ctx: &AllocCtx, pool: PoolId, streams: &[Stream]) {
        if let Some(pool) = self.heap.retire_pool(pool) {
            self.release_pool(ctx, pool, streams.to_vec());
        }
    }

    /// Retires the segments of a retired pool, or defers that: while a graph is captured or a request may add a
    /// segment, or if a stream can't record an event.
    fn release_pool(&mut self, ctx: &AllocCtx, pool: PoolKey, streams: Vec<Stream>) {
        let segments = if ctx.capturing() { Vec::new() } else { self.heap.active_segments(pool) };
        for segment in segments {
            let Ok(mut events) = self.events.record_events(ctx.driver(), &streams) else { break };
            let stream_end = self.heap.take_stream_end_event(segment);
            match stream_end.or_else(|| self.event_after(ctx, self.heap.segment(segment).stream())) {
                Some(own) => {
                    events.push(own);
                    self.retire_segment(ctx, segment, events, ReleaseReason::Pool);
                }
                None => self.events.recycle_events(events),
            }
        }
        if !self.heap.has_pending_requests(pool) && self.heap.active_segments(pool).is_empty() {
            self.deferred_drops.extend(streams);
        } else {
            self.releases.defer_pool_release(pool, streams);
        }
    }

    fn retire_segment(
        &mut self,
        ctx: &AllocCtx,
        segment: SegmentId,
        after: Vec<EventHandle>,
        reason: ReleaseReason,
    ) {
        self.recorder.note_release(segment, reason);
        self.heap.retire_segment(segment, after);
        self.release_if_unused(ctx, segment);
    }

    /// The ticket of the last block that waits for events.
    pub(super) fn last_event_ticket(&self) -> u64 {
        self.events.last_ticket()
    }

    pub(super) fn has_pending_events_until(&self, ticket: u64) -> bool {
        self.events.is_pending_until(ticket)
    }

    /// The ticket of the last release.
    pub(super) fn last_release_ticket(&self) -> u64 {
        self.releases.last_ticket()
    }

    pub(super) fn has_pending_releases_until(&self, ticket: u64) -> bool {
        self.releases.is_pending_until(ticket)
    }

    /// Returns the last error of a query of events since this was last called.
    pub(super) fn take_last_error(&mut self) -> Result<()> {
        self.events.take_last_error()
    }
}

/// Configuration.
impl Inner {
    /// Applies a configuration, unless a later one was applied, on a device with this number of bytes.
    pub(super) fn configure(&mut self, number: u64, config: &AllocatorConfig, total: u64) {
        self.quota.set_total(total);
        if number > self.config_number {
            self.config_number = number;
            self.policy = SizePolicy::of(config);
            self.quota.configure(config);
        }
    }

    pub(super) fn limit(&self) -> Option<u64> {
        self.quota.limit()
    }

    /// Sets the largest number of bytes that may be reserved; returns the previous one.
    pub(super) fn set_limit(&mut self, limit: Option<u64>) -> Option<u64> {
        self.quota.set_limit(limit)
    }

    pub(super) fn cache_limit(&self) -> Option<u64> {
        self.cache_limit
    }

    /// Sets the largest number of bytes that may be cached; returns the previous one.
    pub(super) fn set_cache_limit(&mut self, ctx: &AllocCtx, limit: Option<u64>) -> Option<u64> {
        let previous = std::mem::replace(&mut self.cache_limit, limit);
        self.trim(ctx);
        previous
    }

    /// Sets a policy that no configuration of the process replaces.
    #[cfg(test)]
    pub(super) fn set_policy(&mut self, policy: SizePolicy) {
        (self.config_number, self.policy) = (u64::MAX, policy);
    }
}

/// Statistics and history.
impl Inner {
    pub(super) fn stats(&self) -> Statistics {
        let counts = self.slow_path_counts;
        Statistics {
            num_alloc_retries: counts.num_alloc_retries,
            num_ooms: counts.num_ooms,
            num_sync_all_streams: counts.num_sync_all_streams,
            num_oom_rejections: counts.num_oom_rejections,
            max_split_size: self.policy.reported_max_split_size(),
            ..self.heap.stats().clone()
        }
    }

    pub(super) fn reset_peak_stats(&mut self) {
        self.heap.reset_peak_stats();
    }

    pub(super) fn reset_accumulated_stats(&mut self) {
        self.heap.reset_accumulated_stats();
        self.slow_path_counts = SlowPathCounts::default();
    }

    /// Counts a request that is repeated after everything unused was released.
    pub(super) fn count_retry(&mut self) {
        self.slow_path_counts.num_alloc_retries += 1;
    }

    /// Counts a wait for all streams.
    pub(super) fn count_sync_all_streams(&mut self) {
        self.slow_path_counts.num_sync_all_streams += 1;
    }

    /// Counts a request that was refused without asking the driver for memory.
    pub(super) fn count_oom_rejection(&mut self) {
        self.slow_path_counts.num_oom_rejections += 1;
    }

    /// Counts and records a request that failed while the driver had `free` bytes, and describes the state at this
    /// moment.
    pub(super) fn note_oom(
        &mut self,
        (requested, rounded): (usize, usize),
        stream: i64,
        pool: Option<PoolId>,
        free: Option<u64>,
    ) -> AllocatorState {
        self.slow_path_counts.num_ooms += 1;
        self.recorder.trace_oom(free.unwrap_or(0), requested as u64, stream, pool);
        let stats = self.heap.stats();
        AllocatorState {
            rounded,
            segment: self.policy.segment_size(rounded).unwrap_or(rounded),
            allocated: stats.allocated_bytes.all.current,
            reserved: stats.reserved_bytes.all.current,
            largest_free: self.heap.largest_free(),
            limit: self.quota.limit(),
            free,
            stream,
            pool,
        }
    }

    /// The size of the largest free block, and all cached bytes.
    pub(super) fn free_bytes(&self) -> (u64, u64) {
        (self.heap.largest_free(), self.heap.cached_bytes())
    }

    /// See [`Recorder::configure`].
    pub(super) fn configure_history(
        &mut self,
        changes: u64,
        begins: bool,
        config: Option<HistoryConfig>,
    ) -> VecDeque<TraceEntry> {
        self.recorder.configure(changes, begins, config)
    }

    /// Sets the reason of all frees and releases from now on.
    pub(super) fn set_release_reason(&mut self, reason: Option<ReleaseReason>) {
        self.recorder.set_release_reason(reason);
    }

    /// The segments, and what is recorded, up to this snapshot.
    pub(super) fn snapshot(&mut self, device: DeviceIndex) -> (Vec<SegmentState>, Vec<TraceEntry>) {
        let segments = snapshot::segment_states(device, &self.heap, &self.recorder);
        let active = segments.iter().map(|segment| segment.active_size).sum();
        self.recorder.trace_snapshot(active);
        (segments, self.recorder.entries())
    }

    pub(super) fn open_tracker(&mut self) -> u64 {
        self.trackers.open(self.heap.allocations())
    }

    pub(super) fn tracker_stats(&self, id: u64) -> Option<TrackerStats> {
        self.trackers.stats(id)
    }

    pub(super) fn close_tracker(&mut self, id: u64) -> Option<TrackerStats> {
        self.trackers.close(id)
    }

    #[cfg(test)]
    pub(super) fn heap(&self) -> &Heap {
        &self.heap
    }
}
