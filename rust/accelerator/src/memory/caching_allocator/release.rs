//! Memory on its way back to the driver, and what keeps it from being released.

use interlock_driver::{Address, EventHandle};

use super::AllocCtx;
use super::heap::{BlockId, Heap, PoolKey, SegmentId};
use crate::memory::event_queue::EventQueue;
use crate::stream::Stream;

/// Releases that wait for events, retired segments that wait for their streams, and retired pools.
#[derive(Default)]
pub(super) struct Releases {
    pending: Vec<PendingRelease>,
    /// The tickets of blocks that the driver is releasing just now.
    in_flight: Vec<u64>,
    last_ticket: u64,
    /// Unused segments that are retired and can't be released yet, because no event can be recorded on their streams.
    blocked_segments: Vec<SegmentId>,
    /// Retired pools, with the streams that may still run a graph which used them.
    pending_pool_releases: Vec<(PoolKey, Vec<Stream>)>,
}

/// Detached blocks that are released once all events have completed.
struct PendingRelease {
    ticket: u64,
    events: Vec<EventHandle>,
    blocks: Vec<BlockId>,
}

/// A detached block that no stream uses any more.
#[must_use]
pub(super) struct Releasable {
    ticket: u64,
    block: BlockId,
    address: Address,
    bytes: usize,
    map_unit: Option<usize>,
}

impl Releases {
    /// Returns whether nothing waits.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.blocked_segments.is_empty() && self.pending_pool_releases.is_empty()
    }

    /// Releases detached blocks once all events have completed.
    pub(super) fn defer_release(&mut self, events: Vec<EventHandle>, blocks: Vec<BlockId>) {
        self.last_ticket += 1;
        self.pending.push(PendingRelease { ticket: self.last_ticket, events, blocks });
    }

    /// Removes and returns the blocks that can be released. The caller releases each and then
    /// [finishes](Releases::finish) it.
    pub(super) fn take_releasable(
        &mut self,
        ctx: &AllocCtx,
        heap: &Heap,
        events: &mut EventQueue<BlockId>,
    ) -> Vec<Releasable> {
        if self.pending.is_empty() {
            return Vec::new();
        }
        let mut releasable = Vec::new();
        let has_completed = |release: &mut PendingRelease| {
            release.events.iter().all(|event| events.has_completed(ctx.driver(), *event))
        };
        let completed: Vec<_> = self.pending.extract_if(.., has_completed).collect();
        for PendingRelease { ticket, events: completed, blocks } in completed {
            events.recycle_events(completed);
            self.in_flight.extend(std::iter::repeat_n(ticket, blocks.len()));
            releasable.extend(blocks.into_iter().map(|id| Releasable::new(ticket, id, heap)));
        }
        releasable
    }

    /// Ends the release of a block.
    pub(super) fn finish(&mut self, releasable: &Releasable) {
        if let Some(place) = self.in_flight.iter().position(|ticket| *ticket == releasable.ticket) {
            self.in_flight.swap_remove(place);
        }
    }

    /// The ticket of the last release.
    pub(super) fn last_ticket(&self) -> u64 {
        self.last_ticket
    }

    /// Returns whether a release with up to this ticket is not finished.
    pub(super) fn is_pending_until(&self, ticket: u64) -> bool {
        let pending = self.pending.iter().map(|release| release.ticket);
        pending.chain(self.in_flight.iter().copied()).any(|unfinished| unfinished <= ticket)
    }

    /// Notes an unused segment that is retired and can't be released yet.
    pub(super) fn block_segment(&mut self, segment: SegmentId) {
        self.blocked_segments.push(segment);
    }

    pub(super) fn unblock_segment(&mut self, segment: SegmentId) {
        self.blocked_segments.retain(|blocked| *blocked != segment);
    }

    pub(super) fn take_blocked_segments(&mut self) -> Vec<SegmentId> {
        std::mem::take(&mut self.blocked_segments)
    }

    /// Notes a retired pool whose segments can't be retired yet.
    pub(super) fn defer_pool_release(&mut self, pool: PoolKey, streams: Vec<Stream>) {
        self.pending_pool_releases.push((pool, streams));
    }

    pub(super) fn take_pool_releases(&mut self) -> Vec<(PoolKey, Vec<Stream>)> {
        std::mem::take(&mut self.pending_pool_releases)
    }

    /// Removes a retired pool; returns its streams.
    pub(super) fn take_pool_release(&mut self, pool: PoolKey) -> Option<Vec<Stream>> {
        let place = self.pending_pool_releases.iter().position(|(pending, _)| *pending == pool)?;
        Some(self.pending_pool_releases.swap_remove(place).1)
    }
}

impl Releasable {
    fn new(ticket: u64, id: BlockId, heap: &Heap) -> Self {
        let (block, segment) = (heap.block(id), heap.segment_of(id));
        Releasable {
            ticket,
            block: id,
            address: block.address(),
            bytes: block.bytes(),
            map_unit: segment.map_unit(),
        }
    }

    pub(super) fn block(&self) -> BlockId {
        self.block
    }

    /// Has the driver release the memory. It may block, so no lock is held. A lost device refuses, and has nothing to
    /// be released.
    pub(super) fn release_to_driver(&self, ctx: &AllocCtx) {
        let Some(map_unit) = self.map_unit else {
            // SAFETY: the driver allocated it for this device and size. The block was detached, so nothing allocates
            // it, and the events of all streams that have used it have completed.
            let _ = unsafe { ctx.driver().free(ctx.device(), self.address, self.bytes) };
            return;
        };
        for address in (self.address.0..self.address.0 + self.bytes as u64).step_by(map_unit) {
            // SAFETY: it was mapped unit by unit. The block was detached, so nothing allocates it, and the events of
            // all streams that have used it have completed.
            let _ = unsafe { ctx.driver().unmap(ctx.device(), Address(address), map_unit) };
        }
    }
}
