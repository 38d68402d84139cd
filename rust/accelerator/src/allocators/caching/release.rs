//! Deferred frees and releases: memory that waits for events before it is reused or released to the driver.

use std::collections::{BTreeMap, HashMap};

use interlock_driver::{Address, EventHandle, StreamHandle};

use super::block::{BlockId, SegmentId};
use super::heap::Heap;
use super::mem_pool::PoolKey;
use super::{AllocCtx, gc};
use crate::PoolId;
use crate::allocators::event_queue::EventQueue;
use crate::allocators::trace::ReleaseReason;
use crate::stream::Stream;

/// Freed blocks and releases that wait for events, retired segments that wait for their streams, and retired pools.
#[derive(Default)]
pub(super) struct Releases {
    /// Freed blocks that other streams still use.
    pub(super) events: EventQueue<BlockId>,
    pending: Vec<PendingRelease>,
    /// The tickets of blocks that the driver is releasing.
    in_flight: Vec<u64>,
    last_ticket: u64,
    /// Unused retired segments that can't be released yet, because no event can be recorded on their streams.
    blocked_segments: Vec<SegmentId>,
    /// Retired pools with segments that are not retired yet, and the streams that may still run their graphs.
    pending_pools: Vec<(PoolKey, Vec<Stream>)>,
    /// The ends of the work of external streams of which no handle is left, by id.
    ends: HashMap<i64, EventHandle>,
    /// Stream handles that the caller drops after unlocking, because dropping the last handle of a stream takes the
    /// lock.
    pub(super) deferred_drops: Vec<Stream>,
}

/// Detached blocks that are released once all events have completed.
struct PendingRelease {
    ticket: u64,
    events: Vec<EventHandle>,
    blocks: Vec<BlockId>,
}

/// A detached block that no stream uses.
#[must_use]
pub(super) struct Releasable {
    ticket: u64,
    pub(super) block: BlockId,
    address: Address,
    bytes: usize,
    map_unit: Option<usize>,
}

/// Waits for events.
impl Releases {
    /// Returns whether no release waits.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.blocked_segments.is_empty() && self.pending_pools.is_empty()
    }

    /// Defers the free of a block until the queued work of these streams is done.
    pub(super) fn defer_free(&mut self, ctx: &AllocCtx, id: BlockId, streams: Vec<Stream>) {
        for stream in &streams {
            match ctx.capturing {
                true => self.events.defer(stream, id),
                false => self.events.push(ctx.driver(), stream, id),
            }
        }
        self.deferred_drops.extend(streams);
    }

    /// Removes and returns the blocks of completed events, a block once for each of its events.
    pub(super) fn drain_completed(&mut self, ctx: &AllocCtx) -> Vec<BlockId> {
        self.deferred_drops.extend(self.events.retry_deferred(ctx.driver()));
        self.events.drain_completed(ctx.driver(), Some(ctx.device))
    }

    /// Retries releases that were not possible before.
    pub(super) fn retry(&mut self, ctx: &AllocCtx, heap: &mut Heap) {
        for segment in std::mem::take(&mut self.blocked_segments) {
            self.release_if_unused(ctx, heap, segment);
        }
        for (pool, streams) in std::mem::take(&mut self.pending_pools) {
            self.release_pool(ctx, heap, pool, streams);
        }
    }

    /// Removes and returns the blocks that can be released; none while a graph is captured. The caller releases each
    /// and then [finishes](Releases::finish) it.
    pub(super) fn take_releasable(&mut self, ctx: &AllocCtx, heap: &Heap) -> Vec<Releasable> {
        if self.pending.is_empty() || ctx.capturing {
            return Vec::new();
        }
        let mut releasable = Vec::new();
        let has_completed = |release: &mut PendingRelease| {
            release.events.iter().all(|event| self.events.has_completed(ctx.driver(), *event))
        };
        let completed: Vec<_> = self.pending.extract_if(.., has_completed).collect();
        for PendingRelease { ticket, events, blocks } in completed {
            self.events.recycle_events(events);
            self.in_flight.extend(std::iter::repeat_n(ticket, blocks.len()));
            releasable.extend(blocks.into_iter().map(|id| {
                let (block, map_unit) = (heap.block(id), heap.segment_of(id).map_unit);
                Releasable { ticket, block: id, address: block.address, bytes: block.bytes, map_unit }
            }));
        }
        releasable
    }

    /// Ends the release of a block.
    pub(super) fn finish(&mut self, releasable: &Releasable) {
        if let Some(index) = self.in_flight.iter().position(|ticket| *ticket == releasable.ticket) {
            self.in_flight.swap_remove(index);
        }
    }

    /// Returns the ticket of the last release.
    pub(super) fn last_ticket(&self) -> u64 {
        self.last_ticket
    }

    /// Returns whether a release with up to this ticket is not finished.
    pub(super) fn is_pending_until(&self, ticket: u64) -> bool {
        let pending = self.pending.iter().map(|release| release.ticket);
        pending.chain(self.in_flight.iter().copied()).any(|unfinished| unfinished <= ticket)
    }

    /// Returns events after all queued work of a stream: one that is recorded now, or none if the stream was dropped
    /// and its work has completed. Returns `None` if that is not known.
    fn events_after(&mut self, ctx: &AllocCtx, stream: i64) -> Option<Vec<EventHandle>> {
        let Some(stream) = ctx.home.stream_of_id(stream).ok().flatten() else {
            let end = self.end_of(stream)?;
            return self.events.has_completed(ctx.driver(), end).then(Vec::new);
        };
        let event = stream.handle().and_then(|handle| self.events.record_event(ctx.driver(), handle));
        self.deferred_drops.push(stream);
        event.ok().map(|event| vec![event])
    }

    /// Returns an event after all work of an external stream that was dropped.
    pub(super) fn end_of(&self, stream: i64) -> Option<EventHandle> {
        self.ends.get(&stream).copied()
    }

    /// Returns whether an external stream that was dropped still has queued work.
    pub(super) fn is_any_end_pending(&mut self, ctx: &AllocCtx) -> bool {
        !self.ends.values().all(|end| self.events.has_completed(ctx.driver(), *end))
    }

    /// Records the end of the work of an external stream that is dropped, if it has memory. If no event can be
    /// recorded, because the stream is captured or lost, its memory is not released before the stream is wrapped and
    /// dropped again.
    pub(super) fn on_external_stream_dropped(
        &mut self,
        ctx: &AllocCtx,
        heap: &Heap,
        id: i64,
        stream: StreamHandle,
    ) {
        let has_memory = heap.segments().any(|(_, segment)| segment.stream == id);
        let end = has_memory.then(|| self.events.record_event(ctx.driver(), stream)).and_then(Result::ok);
        let replaced = match end {
            Some(end) => self.ends.insert(id, end),
            None => self.ends.remove(&id),
        };
        self.events.recycle_events(replaced.into_iter().collect());
    }
}

/// Starts of releases.
impl Releases {
    /// Releases free blocks after the queued work of their streams. Blocks whose streams can't record an event remain
    /// cached.
    pub(super) fn release_blocks(&mut self, ctx: &AllocCtx, heap: &mut Heap, blocks: Vec<BlockId>) {
        let mut by_stream: BTreeMap<i64, Vec<BlockId>> = BTreeMap::new();
        for id in blocks {
            by_stream.entry(heap.segment_of(id).stream).or_default().push(id);
        }
        for (stream, blocks) in by_stream {
            if let Some(events) = self.events_after(ctx, stream) {
                for id in &blocks {
                    heap.release_state(heap.block(*id).segment).reason = Some(ReleaseReason::Limit);
                }
                self.release_after(events, heap, blocks);
            }
        }
    }

    /// Detaches free blocks and releases them once these events have completed.
    fn release_after(&mut self, events: Vec<EventHandle>, heap: &mut Heap, blocks: Vec<BlockId>) {
        let blocks = blocks.into_iter().filter_map(|id| heap.detach_releasable(id)).collect();
        self.last_ticket += 1;
        self.pending.push(PendingRelease { ticket: self.last_ticket, events, blocks });
    }

    /// Releases a retired segment if it is unused, after the work that was queued on its stream since it was retired.
    pub(super) fn release_if_unused(&mut self, ctx: &AllocCtx, heap: &mut Heap, id: SegmentId) {
        self.blocked_segments.retain(|blocked| *blocked != id);
        let segment = heap.segment(id);
        if !segment.is_retired || !gc::is_unused(heap, id) {
            return;
        }
        let stream = segment.stream;
        let found = ctx.home.stream_of_id(stream).ok().flatten();
        // A dedicated stream that is being destroyed records no events, and is about to call `on_stream_destroyed`.
        let is_alive = found.is_some() || ctx.home.streams().is_registered(stream);
        self.deferred_drops.extend(found);
        let own = match is_alive {
            false => Some(Vec::new()),
            true if ctx.capturing => None,
            true => self.events_after(ctx, stream),
        };
        let Some(own) = own else {
            self.blocked_segments.push(id);
            return;
        };
        // It remains retired: units of an expandable segment are released one by one.
        let mut after = std::mem::take(&mut heap.release_state(id).after);
        after.extend(own);
        let blocks = gc::unused_of(heap, id);
        self.release_after(after, heap, blocks);
    }

    /// Releases the memory of a stream that is being destroyed, once it is unused and no graph uses it.
    pub(super) fn on_stream_destroyed(
        &mut self,
        ctx: &AllocCtx,
        heap: &mut Heap,
        id: i64,
        stream: StreamHandle,
    ) {
        // Only now, because segments of a registered stream wait for it.
        ctx.home.streams().unregister(id);
        for id in gc::live_segments(heap, |segment| segment.stream == id) {
            // If no event can be recorded, because the stream is lost or captured, the memory is never released.
            let Ok(event) = self.events.record_event(ctx.driver(), stream) else { continue };
            let segment = heap.segment(id);
            let is_private = heap.pool(segment.pool).id.is_some();
            if segment.is_retired {
                heap.release_state(id).after.push(event);
            } else if is_private {
                heap.release_state(id).stream_end = Some(event);
            } else {
                self.retire_segment(ctx, heap, id, vec![event], ReleaseReason::Stream);
            }
        }
    }

    /// Releases the memory of a pool that has no user left, once it is unused and the queued work of these streams is
    /// done.
    pub(super) fn on_pool_released(
        &mut self,
        ctx: &AllocCtx,
        heap: &mut Heap,
        pool: PoolId,
        streams: &[Stream],
    ) {
        if let Some(pool) = heap.retire_pool(pool) {
            self.release_pool(ctx, heap, pool, streams.to_vec());
        }
    }

    /// Retires the segments of a retired pool. Deferred while a graph is captured, and if a stream can't record an
    /// event.
    fn release_pool(&mut self, ctx: &AllocCtx, heap: &mut Heap, pool: PoolKey, streams: Vec<Stream>) {
        let segments = if ctx.capturing { Vec::new() } else { gc::active_segments(heap, pool) };
        for id in segments {
            let Some(mut events) = self.events.record_events(ctx.driver(), &streams) else { break };
            let stream_end = heap.release_state(id).stream_end.take();
            let own = stream_end.map(|end| vec![end]);
            match own.or_else(|| self.events_after(ctx, heap.segment(id).stream)) {
                Some(own) => {
                    events.extend(own);
                    self.retire_segment(ctx, heap, id, events, ReleaseReason::Pool);
                }
                None => self.events.recycle_events(events),
            }
        }
        if gc::active_segments(heap, pool).is_empty() {
            self.deferred_drops.extend(streams);
            heap.remove_pool_if_unused(pool);
        } else {
            self.pending_pools.push((pool, streams));
        }
    }

    fn retire_segment(
        &mut self,
        ctx: &AllocCtx,
        heap: &mut Heap,
        id: SegmentId,
        after: Vec<EventHandle>,
        reason: ReleaseReason,
    ) {
        heap.retire_segment(id);
        let state = heap.release_state(id);
        (state.after, state.reason) = (after, Some(reason));
        self.release_if_unused(ctx, heap, id);
    }
}

impl Releasable {
    /// Releases the memory to the driver, which may block, so no lock is held. Errors are ignored: a lost device has no
    /// memory to release.
    pub(super) fn release_to_driver(&self, ctx: &AllocCtx) {
        let Some(map_unit) = self.map_unit else {
            // SAFETY: the driver allocated it for this device and size. The block was detached, so nothing allocates
            // it, and the events of all streams that have used it have completed.
            let _ = unsafe { ctx.driver().free(ctx.device, self.address, self.bytes) };
            return;
        };
        for address in (self.address.0..self.address.0 + self.bytes as u64).step_by(map_unit) {
            // SAFETY: it was mapped unit by unit. The block was detached, so nothing allocates it, and the events of
            // all streams that have used it have completed.
            let _ = unsafe { ctx.driver().unmap(ctx.device, Address(address), map_unit) };
        }
    }
}
