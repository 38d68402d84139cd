//! The segments and blocks of one device.
//!
//! [`Heap`] owns what has to agree at all times: blocks follow each other in their segment without gaps or overlaps, no
//! two neighbours are free, a block is in a free list if and only if it is free and its segment is not retired, and the
//! statistics count exactly these blocks. It calls no driver.

mod block;
mod mem_pool;

pub(crate) use block::BlockId;
pub(super) use block::{Block, BlockState, Segment, SegmentId};
pub(super) use mem_pool::PoolKey;
use mem_pool::{MemPools, Removed};

use interlock_driver::{Address, EventHandle};

use std::collections::HashMap;

use super::arena::Arena;
use super::free_list::Position;
use super::size_policy::SizePolicy;
use crate::PoolId;
use crate::memory::stats::{Quantity, StatArray, Statistics};
use crate::stream::Stream;

/// The segments and blocks of one device.
pub(super) struct Heap {
    blocks: Arena<Block>,
    segments: Arena<Segment>,
    pools: MemPools,
    /// The streams other than their own that have used allocated blocks.
    stream_uses: HashMap<BlockId, Vec<Stream>>,
    /// The number of segments that were ever added.
    segments_added: u64,
    /// The number of allocations: the clock of [`Block::last_used_tick`].
    allocations: u64,
    /// The number of frees: the clock of [`Block::freed_tick`].
    frees: u64,
    /// Bytes in free lists.
    cached_bytes: u64,
    stats: Statistics,
}

/// A request for memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// The id of the stream that uses the memory first.
    pub(super) stream: i64,
    /// The bytes that the program requested.
    pub(super) requested: usize,
    /// The size of a block for them.
    pub(super) bytes: usize,
    pub(super) pool: PoolKey,
}

impl Request {
    #[inline]
    pub(super) fn is_small(&self) -> bool {
        SizePolicy::is_small(self.bytes)
    }
}

/// Addresses of an expandable segment that are about to get memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedMap {
    /// Detached, without memory so far.
    block: BlockId,
    /// The free block before it, which was detached for the same request. Other blocks before it belong to others.
    prev: Option<BlockId>,
    address: Address,
    bytes: usize,
    map_unit: usize,
}

impl PlannedMap {
    pub(super) fn address(&self) -> Address {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of bytes that the driver maps at once.
    pub(super) fn map_unit(&self) -> usize {
        self.map_unit
    }
}

/// Reserved addresses of a segment, all without memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) start: Address,
    pub(super) bytes: usize,
}

/// Free blocks that share their segment with others: how many, and their bytes.
type InactiveSplit = (u64, u64);

impl Default for Heap {
    fn default() -> Self {
        Heap {
            blocks: Arena::default(),
            segments: Arena::default(),
            pools: MemPools::default(),
            stream_uses: HashMap::new(),
            segments_added: 0,
            allocations: 0,
            frees: 0,
            cached_bytes: 0,
            stats: Statistics::new(),
        }
    }
}

impl Heap {
    #[inline]
    pub(super) fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id]
    }

    #[inline]
    pub(super) fn segment(&self, id: SegmentId) -> &Segment {
        &self.segments[id]
    }

    /// The segment that a block is a part of.
    pub(super) fn segment_of(&self, id: BlockId) -> &Segment {
        &self.segments[self.blocks[id].segment]
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        self.segments.iter()
    }

    /// The blocks of a segment, in the order of their addresses.
    pub(super) fn blocks_of(&self, segment: SegmentId) -> impl Iterator<Item = BlockId> {
        std::iter::successors(Some(self.segments[segment].first), |id| self.blocks[*id].next)
    }

    /// The number of allocations so far.
    pub(super) fn allocations(&self) -> u64 {
        self.allocations
    }

    /// Bytes of free blocks that can be allocated.
    #[inline]
    pub(super) fn cached_bytes(&self) -> u64 {
        self.cached_bytes
    }

    /// The size of the largest free block, in bytes.
    pub(super) fn largest_free(&self) -> u64 {
        self.pools.largest_free() as u64
    }

    /// What is counted of segments and blocks.
    pub(super) fn stats(&self) -> &Statistics {
        &self.stats
    }

    pub(super) fn reset_peak_stats(&mut self) {
        self.stats.reset_peak();
    }

    pub(super) fn reset_accumulated_stats(&mut self) {
        self.stats.reset_accumulated();
    }

    /// Allocates the free block that fits best, split to size; `None` if no block fits.
    #[inline]
    pub(super) fn allocate(&mut self, request: &Request, policy: &SizePolicy) -> Option<BlockId> {
        let list = self.pools.list(request.pool, request.is_small());
        let (position, block) = list.best_fit(request.stream, request.bytes, policy)?;
        if self.segment_of(block).is_expandable() {
            let block = self.best_expandable(block, request, policy);
            self.allocate_block(block, request, policy);
            return Some(block);
        }
        self.allocate_listed(block, Some(position), request, policy);
        Some(block)
    }

    /// The smallest free block that is large enough, where one that can still grow counts as large as it can grow: the
    /// end of an expandable segment is spared for requests that need it. `first` is the smallest.
    fn best_expandable(&self, first: BlockId, request: &Request, policy: &SizePolicy) -> BlockId {
        let list = self.pools.list(request.pool, request.is_small());
        let mut best = first;
        for next in list.fitting(request.stream, request.bytes, policy).skip(1) {
            if self.bytes_if_grown(next.block()) >= self.bytes_if_grown(best) {
                break;
            }
            best = next.block();
        }
        best
    }

    /// The bytes that a free block has, or would have if its segment grew behind it.
    fn bytes_if_grown(&self, id: BlockId) -> usize {
        let next = self.blocks[id].next.map(|next| &self.blocks[next]);
        let unmapped = next.filter(|next| next.state == BlockState::Unmapped).map_or(0, |next| next.bytes);
        self.blocks[id].bytes + unmapped
    }

    /// Allocates a free block that is large enough, split to size if the rest is large enough to be a block.
    pub(super) fn allocate_block(&mut self, id: BlockId, request: &Request, policy: &SizePolicy) {
        let block = &self.blocks[id];
        let segment = &self.segments[block.segment];
        let list = self.pools.list(segment.pool, segment.is_small);
        // Without a position it is in no list, because its segment is retired.
        let position = list.position(&segment.entry(id, block));
        self.allocate_listed(id, position, request, policy);
    }

    /// Allocates the free block that is at this position of its free list.
    #[inline]
    fn allocate_listed(
        &mut self,
        id: BlockId,
        position: Option<Position>,
        request: &Request,
        policy: &SizePolicy,
    ) {
        let block = &self.blocks[id];
        let segment = &self.segments[block.segment];
        let (small, is_expandable) = (segment.is_small, segment.is_expandable());
        let rest_bytes = block.bytes - request.bytes;
        let before = inactive_split(segment, block);
        let list = self.pools.list_mut(segment.pool, small);
        let mut after = InactiveSplit::default();
        if policy.should_split(request.bytes, rest_bytes, is_expandable) {
            if let Some(position) = position {
                let rest = self.blocks.next_key();
                let address = Address(block.address.0 + request.bytes as u64);
                list.replace(position, segment.entry_of(rest, rest_bytes, address));
                self.cached_bytes -= request.bytes as u64;
            }
            self.split(id, request.bytes);
            if !is_expandable {
                after = (1, rest_bytes as u64);
            }
        } else if let Some(position) = position {
            list.remove(position);
            self.cached_bytes -= block.bytes as u64;
        }
        self.update_inactive_split(small, before, after);
        self.mark_allocated(id, request, policy);
    }

    #[inline]
    fn mark_allocated(&mut self, id: BlockId, request: &Request, policy: &SizePolicy) {
        let small = request.is_small();
        self.allocations += 1;
        let block = &mut self.blocks[id];
        block.state = BlockState::Allocated;
        block.requested = request.requested;
        block.last_used_tick = self.allocations;
        block.is_oversize = policy.is_oversize(block.bytes);
        let (bytes, is_oversize) = (block.bytes as u64, block.is_oversize);
        let stats = &mut self.stats;
        stats.allocation.increase(small, 1);
        stats.allocated_bytes.increase(small, bytes);
        stats.active.increase(small, 1);
        stats.active_bytes.increase(small, bytes);
        stats.requested_bytes.increase(small, request.requested as u64);
        if is_oversize {
            stats.oversize_allocations.increase(1);
        }
    }

    /// Counts a block as not allocated any more. It stays active until it is [freed](Heap::free): streams may still use
    /// it.
    #[inline]
    pub(super) fn mark_freed(&mut self, id: BlockId) {
        let block = &self.blocks[id];
        let (bytes, small) = (block.bytes as u64, self.segments[block.segment].is_small);
        self.stats.allocation.decrease(small, 1);
        self.stats.allocated_bytes.decrease(small, bytes);
        if block.is_oversize {
            self.stats.oversize_allocations.decrease(1);
        }
    }

    /// Notes that a stream other than its own uses a block.
    pub(super) fn add_stream_use(&mut self, id: BlockId, stream: &Stream) {
        self.blocks[id].has_stream_uses = true;
        let stream_uses = self.stream_uses.entry(id).or_default();
        if !stream_uses.contains(stream) {
            stream_uses.push(stream.clone());
        }
    }

    /// Makes a block that is not allocated any more wait for a number of events.
    pub(super) fn set_pending_events(&mut self, id: BlockId, events: usize) {
        self.blocks[id].state = BlockState::PendingEvents(u32::try_from(events).unwrap_or(u32::MAX));
    }

    /// The streams other than its own that have used a block since it was allocated.
    pub(super) fn stream_uses(&self, id: BlockId) -> &[Stream] {
        self.stream_uses.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Removes and returns the streams that have used a block.
    pub(super) fn take_stream_uses(&mut self, id: BlockId) -> Vec<Stream> {
        self.blocks[id].has_stream_uses = false;
        self.stream_uses.remove(&id).unwrap_or_default()
    }

    /// Counts a completed event of a block; returns whether it was the last one that the block waited for.
    pub(super) fn complete_event(&mut self, id: BlockId) -> bool {
        let BlockState::PendingEvents(events) = &mut self.blocks[id].state else { return false };
        *events = events.saturating_sub(1);
        *events == 0
    }

    /// Frees a block that no stream uses any more and merges it with its free neighbours. Returns its segment.
    #[inline]
    pub(super) fn free(&mut self, id: BlockId) -> SegmentId {
        let block = &self.blocks[id];
        let (segment, bytes, requested) = (block.segment, block.bytes as u64, block.requested as u64);
        let small = self.segments[segment].is_small;
        self.stats.active.decrease(small, 1);
        self.stats.active_bytes.decrease(small, bytes);
        self.stats.requested_bytes.decrease(small, requested);
        self.insert_free(id);
        segment
    }

    /// Makes a block free, merged with its free neighbours. Returns the merged block.
    #[inline]
    fn insert_free(&mut self, id: BlockId) -> BlockId {
        self.frees += 1;
        let block = &self.blocks[id];
        let bytes = block.bytes;
        let segment = &self.segments[block.segment];
        let (small, is_listed) = (segment.is_small, !segment.is_retired());
        let is_free = |side: &BlockId| self.blocks[*side].is_free();
        let (prev, next) = (block.prev.filter(is_free), block.next.filter(is_free));
        let list = self.pools.list_mut(segment.pool, small);
        let (mut merged, mut position, mut before) = (id, None, InactiveSplit::default());
        if let Some(next) = next {
            let neighbour = &self.blocks[next];
            before = inactive_split(segment, neighbour);
            position = list.position(&segment.entry(next, neighbour));
            merge(&mut self.blocks, id, next);
        }
        if let Some(prev) = prev {
            let neighbour = &self.blocks[prev];
            let inactive = inactive_split(segment, neighbour);
            before = (before.0 + inactive.0, before.1 + inactive.1);
            position.into_iter().for_each(|next| list.remove(next));
            position = list.position(&segment.entry(prev, neighbour));
            merge(&mut self.blocks, prev, id);
            merged = prev;
        }
        let block = &mut self.blocks[merged];
        (block.state, block.requested) = (BlockState::Free, 0);
        (block.last_used_tick, block.freed_tick) = (self.allocations, self.frees);
        let after = inactive_split(segment, block);
        if is_listed {
            let entry = segment.entry(merged, block);
            match position {
                Some(position) => list.replace(position, entry),
                None => list.insert(entry),
            }
            self.cached_bytes += bytes as u64;
        }
        self.update_inactive_split(small, before, after);
        merged
    }

    /// Splits a block in two; returns the second, which has the same state. Neither is in a free list for its new size.
    #[inline]
    fn split(&mut self, id: BlockId, bytes: usize) -> BlockId {
        let rest = self.blocks.next_key();
        let block = &mut self.blocks[id];
        let (segment, state, next) = (block.segment, block.state, block.next);
        let (address, rest_bytes) = (Address(block.address.0 + bytes as u64), block.bytes - bytes);
        let (last_used_tick, freed_tick) = (block.last_used_tick, block.freed_tick);
        (block.bytes, block.next) = (bytes, Some(rest));
        if let Some(next) = next {
            self.blocks[next].prev = Some(rest);
        }
        self.blocks.insert_with(|| Block {
            segment,
            address,
            bytes: rest_bytes,
            requested: 0,
            state,
            prev: Some(id),
            next,
            has_stream_uses: false,
            last_used_tick,
            freed_tick,
            is_oversize: false,
        })
    }

    /// Adds a free block to its free list.
    fn list(&mut self, id: BlockId) {
        let block = &self.blocks[id];
        let segment = &self.segments[block.segment];
        if !segment.is_retired() {
            self.cached_bytes += block.bytes as u64;
            self.pools.list_mut(segment.pool, segment.is_small).insert(segment.entry(id, block));
        }
    }

    /// Removes a block from its free list.
    fn unlist(&mut self, id: BlockId) {
        let block = &self.blocks[id];
        let segment = &self.segments[block.segment];
        let list = self.pools.list_mut(segment.pool, segment.is_small);
        if let Some(position) = list.position(&segment.entry(id, block)) {
            list.remove(position);
            self.cached_bytes -= block.bytes as u64;
        }
    }

    #[inline]
    fn update_inactive_split(&mut self, small: bool, before: InactiveSplit, after: InactiveSplit) {
        if before.0 != after.0 {
            self.stats.inactive_split.change(small, before.0, after.0);
        }
        if before.1 != after.1 {
            self.stats.inactive_split_bytes.change(small, before.1, after.1);
        }
    }

    /// Adds a segment that the driver returned, as one free block, which is returned.
    pub(super) fn add_segment(
        &mut self,
        request: &Request,
        address: Address,
        bytes: usize,
        policy: &SizePolicy,
    ) -> BlockId {
        let small = request.is_small();
        let is_oversize = policy.is_oversize(bytes);
        let block = self.insert_segment(request, address, bytes, None, is_oversize);
        self.list(block);
        self.stats.segment.increase(small, 1);
        self.count_reserved(request.pool, |stat| stat.increase(small, bytes as u64));
        self.stats.num_device_alloc += 1;
        if is_oversize {
            self.stats.oversize_segments.increase(1);
        }
        block
    }

    /// Adds an expandable segment, whose addresses have no memory yet.
    pub(super) fn add_unmapped_segment(&mut self, request: &Request, addresses: Addresses, map_unit: usize) {
        self.insert_segment(request, addresses.start, addresses.bytes, Some(map_unit), false);
    }

    fn insert_segment(
        &mut self,
        request: &Request,
        address: Address,
        bytes: usize,
        map_unit: Option<usize>,
        is_oversize: bool,
    ) -> BlockId {
        let first = self.blocks.insert(Block {
            segment: self.segments.next_key(),
            address,
            bytes,
            requested: 0,
            state: if map_unit.is_some() { BlockState::Unmapped } else { BlockState::Free },
            prev: None,
            next: None,
            has_stream_uses: false,
            last_used_tick: self.allocations,
            freed_tick: self.frees,
            is_oversize: false,
        });
        self.segments.insert(Segment {
            number: self.segments_added,
            address,
            bytes,
            pool: request.pool,
            is_small: request.is_small(),
            stream: request.stream,
            first,
            map_unit,
            is_oversize,
            stream_end_event: None,
            retired_after: None,
        });
        self.segments_added += 1;
        self.pools.add_segment(request.pool);
        first
    }

    /// Removes a segment whose one block was detached.
    pub(super) fn remove_segment(&mut self, id: SegmentId) {
        let segment = self.segments.remove(id);
        let small = segment.is_small;
        self.blocks.remove(segment.first);
        self.stats.segment.decrease(small, 1);
        self.count_reserved(segment.pool, |stat| stat.decrease(small, segment.bytes as u64));
        self.stats.num_device_free += 1;
        if segment.is_oversize {
            self.stats.oversize_segments.decrease(1);
        }
        self.pools.remove_segment(segment.pool);
        self.remove_pool_if_unused(segment.pool);
    }

    /// Counts bytes that the driver has returned or got back.
    fn count_reserved(&mut self, pool: PoolKey, count: impl Fn(&mut StatArray)) {
        count(&mut self.stats.reserved_bytes);
        let Some(id) = self.pools.id(pool) else { return };
        let private = &mut self.stats.reserved_bytes_by_private_pools;
        let place = private.binary_search_by_key(&id, |(id, _)| *id).unwrap_or_else(|place| {
            private.insert(place, (id, StatArray::default()));
            place
        });
        if let Some((_, stat)) = private.get_mut(place) {
            count(stat);
        }
    }

    /// Takes the part of a free block that can be released out of the free lists, and returns it: all of the block, or
    /// its whole map units.
    pub(super) fn detach_releasable(&mut self, id: BlockId) -> Option<BlockId> {
        match self.segment_of(id).map_unit {
            Some(map_unit) => self.detach_mapped(id, map_unit),
            None => {
                self.detach(id);
                Some(id)
            }
        }
    }

    fn detach(&mut self, id: BlockId) {
        self.unlist(id);
        self.blocks[id].state = BlockState::Releasing;
    }

    fn detach_mapped(&mut self, id: BlockId, map_unit: usize) -> Option<BlockId> {
        let (start, length) = self.map_units_in(id, map_unit)?;
        self.unlist(id);
        let units = if start > 0 { self.split(id, start) } else { id };
        if self.blocks[units].bytes > length {
            let tail = self.split(units, length);
            self.list(tail);
        }
        if units != id {
            self.list(id);
        }
        self.blocks[units].state = BlockState::Releasing;
        Some(units)
    }

    /// Where in a block its whole map units begin, and how many bytes they have; `None` if there are none.
    fn map_units_in(&self, id: BlockId, map_unit: usize) -> Option<(usize, usize)> {
        let Block { segment, address, bytes, .. } = self.blocks[id];
        let start = (address.0 - self.segments[segment].address.0) as usize;
        let (first, end) = (start.next_multiple_of(map_unit), (start + bytes) / map_unit * map_unit);
        let length = end.checked_sub(first).filter(|length| *length > 0)?;
        Some((first - start, length))
    }

    /// Blocks that may be released: all of unused segments, and free blocks of expandable ones. Not those of graphs,
    /// and not those of retired segments.
    pub(super) fn unused(&self) -> Vec<BlockId> {
        let may_go = |segment: &Segment| !self.is_private(segment.pool) && !segment.is_retired();
        let segments = self.segments.iter().filter(|(_, segment)| may_go(segment));
        segments.flat_map(|(id, _)| self.unused_of(id)).collect()
    }

    /// Blocks of one segment that may be released.
    pub(super) fn unused_of(&self, id: SegmentId) -> Vec<BlockId> {
        let segment = &self.segments[id];
        match segment.map_unit {
            None => {
                let first = &self.blocks[segment.first];
                Some(segment.first).filter(|_| first.is_free() && !first.is_split()).into_iter().collect()
            }
            Some(map_unit) => {
                let can_shrink =
                    |id: &BlockId| self.blocks[*id].is_free() && self.map_units_in(*id, map_unit).is_some();
                self.blocks_of(id).filter(can_shrink).collect()
            }
        }
    }

    /// Returns whether no block of a segment is used.
    pub(super) fn is_unused(&self, segment: SegmentId) -> bool {
        let is_unused = |id| matches!(self.blocks[id].state, BlockState::Free | BlockState::Unmapped);
        self.blocks_of(segment).all(is_unused)
    }

    /// Segments that meet a condition and are not being released.
    pub(super) fn live_segments(&self, condition: impl Fn(&Segment) -> bool) -> Vec<SegmentId> {
        let is_live = |segment: &Segment| {
            segment.is_expandable() || self.blocks[segment.first].state != BlockState::Releasing
        };
        let found = self.segments.iter().filter(|(_, segment)| is_live(segment) && condition(segment));
        found.map(|(id, _)| id).collect()
    }

    /// Live segments of a pool whose free blocks are allocated.
    pub(super) fn active_segments(&self, pool: PoolKey) -> Vec<SegmentId> {
        self.live_segments(|segment| segment.pool == pool && !segment.is_retired())
    }

    /// Allocates no free block of a segment any more, which is unused behind these events.
    pub(super) fn retire_segment(&mut self, segment: SegmentId, after: Vec<EventHandle>) {
        let blocks: Vec<_> = self.blocks_of(segment).filter(|id| self.blocks[*id].is_free()).collect();
        blocks.into_iter().for_each(|id| self.unlist(id));
        self.segments[segment].retired_after = Some(after);
    }

    /// Adds an event behind which a retired segment is unused; returns false if the segment is not retired.
    pub(super) fn retire_also_after(&mut self, segment: SegmentId, event: EventHandle) -> bool {
        match &mut self.segments[segment].retired_after {
            Some(after) => {
                after.push(event);
                true
            }
            None => false,
        }
    }

    /// The events behind which a retired segment is unused; the caller waits for them. The segment stays retired.
    pub(super) fn take_retired_after(&mut self, segment: SegmentId) -> Vec<EventHandle> {
        self.segments[segment].retired_after.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Stores the event behind all work of a stream that was destroyed while a graph uses the segment.
    pub(super) fn set_stream_end_event(&mut self, segment: SegmentId, event: EventHandle) {
        self.segments[segment].stream_end_event = Some(event);
    }

    pub(super) fn take_stream_end_event(&mut self, segment: SegmentId) -> Option<EventHandle> {
        self.segments[segment].stream_end_event.take()
    }

    #[inline]
    pub(super) fn default_pool(&self) -> PoolKey {
        self.pools.default_pool()
    }

    /// The pool of graphs with this id, which is added if there is none.
    pub(super) fn private_pool(&mut self, id: PoolId) -> PoolKey {
        self.pools.find_or_insert(id)
    }

    pub(super) fn pool_id(&self, pool: PoolKey) -> Option<PoolId> {
        self.pools.id(pool)
    }

    /// Returns whether a pool belongs to graphs.
    pub(super) fn is_private(&self, pool: PoolKey) -> bool {
        self.pools.id(pool).is_some()
    }

    /// Keeps a pool until the request has [ended](Heap::end_request).
    pub(super) fn begin_request(&mut self, pool: PoolKey) {
        self.pools.begin_request(pool);
    }

    /// Ends a request that could have added a segment to a pool; returns whether it was the last one.
    pub(super) fn end_request(&mut self, pool: PoolKey) -> bool {
        self.pools.end_request(pool);
        !self.pools.has_pending_requests(pool)
    }

    pub(super) fn has_pending_requests(&self, pool: PoolKey) -> bool {
        self.pools.has_pending_requests(pool)
    }

    /// Retires the pool of graphs with this id. Returns it unless it was unused, and so removed.
    pub(super) fn retire_pool(&mut self, id: PoolId) -> Option<PoolKey> {
        let pool = self.pools.find(id)?;
        self.pools.retire(pool);
        (!self.remove_pool_if_unused(pool)).then_some(pool)
    }

    /// Removes a retired pool that has no segments and gets none; returns whether it was removed.
    pub(super) fn remove_pool_if_unused(&mut self, pool: PoolKey) -> bool {
        let Some(Removed { id }) = self.pools.remove_if_unused(pool) else { return false };
        if id.is_some() {
            self.stats.reserved_bytes_by_private_pools.retain(|(counted, _)| Some(*counted) != id);
        }
        true
    }

    /// Addresses without memory that, with the free block before them, are enough for a request: those that need the
    /// least new memory.
    fn find_unmapped(&self, request: &Request) -> Option<BlockId> {
        let fits = |segment: &Segment| {
            segment.is_expandable()
                && !segment.is_retired()
                && (segment.pool, segment.is_small, segment.stream)
                    == (request.pool, request.is_small(), request.stream)
        };
        let segments = self.segments.iter().filter(|(_, segment)| fits(segment));
        let unmapped = segments.flat_map(|(id, _)| self.blocks_of(id)).filter(|id| {
            let block = &self.blocks[*id];
            block.state == BlockState::Unmapped && self.free_before(*id) + block.bytes >= request.bytes
        });
        unmapped.max_by_key(|id| (self.free_before(*id), std::cmp::Reverse(self.blocks[*id].address)))
    }

    /// Returns whether a segment can grow for a request.
    pub(super) fn can_grow(&self, request: &Request) -> bool {
        self.find_unmapped(request).is_some()
    }

    /// The bytes of the free block before a block.
    fn free_before(&self, id: BlockId) -> usize {
        let prev = self.blocks[id].prev.map(|prev| &self.blocks[prev]);
        prev.filter(|prev| prev.is_free()).map_or(0, |prev| prev.bytes)
    }

    /// Detaches addresses that get memory for a request, and the free block before them.
    pub(super) fn begin_map(&mut self, request: &Request) -> Option<PlannedMap> {
        let block = self.find_unmapped(request)?;
        let map_unit = self.segment_of(block).map_unit?;
        // The free block before them may be enough by now.
        let missing = request.bytes.saturating_sub(self.free_before(block)).max(1);
        let bytes = missing.checked_next_multiple_of(map_unit)?;
        let prev = self.blocks[block].prev.filter(|_| self.free_before(block) > 0);
        if let Some(prev) = prev {
            self.detach(prev);
        }
        if self.blocks[block].bytes > bytes {
            self.split(block, bytes);
        }
        self.blocks[block].state = BlockState::Releasing;
        Some(PlannedMap { block, prev, address: self.blocks[block].address, bytes, map_unit })
    }

    /// Returns the free block that mapped addresses have become.
    pub(super) fn commit_map(&mut self, map: &PlannedMap) -> BlockId {
        let Segment { pool, is_small: small, .. } = *self.segment_of(map.block);
        self.stats.num_device_alloc += 1;
        self.count_reserved(pool, |stat| stat.increase(small, map.bytes as u64));
        if let Some(prev) = map.prev {
            self.insert_free(prev);
        }
        self.insert_free(map.block)
    }

    /// Puts back addresses that got no memory. Returns those of the segment if none has memory: then it is removed.
    pub(super) fn abort_map(&mut self, map: &PlannedMap) -> Option<Addresses> {
        let unmapped = self.insert_unmapped(map.block);
        if let Some(prev) = map.prev {
            self.insert_free(prev);
        }
        self.remove_if_unmapped(unmapped)
    }

    /// The segment that a planned map belongs to.
    pub(super) fn segment_of_map(&self, map: &PlannedMap) -> SegmentId {
        self.blocks[map.block].segment
    }

    /// Takes the memory of a detached block off the heap. Returns the addresses of its segment if none has memory: then
    /// it is removed.
    pub(super) fn end_unmap(&mut self, id: BlockId) -> Option<Addresses> {
        let Block { segment, bytes, .. } = self.blocks[id];
        let Segment { pool, is_small: small, .. } = self.segments[segment];
        self.stats.num_device_free += 1;
        self.count_reserved(pool, |stat| stat.decrease(small, bytes as u64));
        let unmapped = self.insert_unmapped(id);
        self.remove_if_unmapped(unmapped)
    }

    /// Makes a block one without memory, merged with such neighbours. Returns the merged block.
    fn insert_unmapped(&mut self, id: BlockId) -> BlockId {
        let is_unmapped = |side: &BlockId| self.blocks[*side].state == BlockState::Unmapped;
        let prev = self.blocks[id].prev.filter(is_unmapped);
        let next = self.blocks[id].next.filter(is_unmapped);
        self.blocks[id].state = BlockState::Unmapped;
        if let Some(next) = next {
            merge(&mut self.blocks, id, next);
        }
        if let Some(prev) = prev {
            merge(&mut self.blocks, prev, id);
        }
        prev.unwrap_or(id)
    }

    /// Removes the segment of a block without memory if it has no other block; returns its addresses.
    fn remove_if_unmapped(&mut self, id: BlockId) -> Option<Addresses> {
        if self.blocks[id].is_split() {
            return None;
        }
        let segment = self.segments.remove(self.blocks[id].segment);
        self.blocks.remove(id);
        self.pools.remove_segment(segment.pool);
        self.remove_pool_if_unused(segment.pool);
        Some(Addresses { start: segment.address, bytes: segment.bytes })
    }
}

/// How a free block counts. Those of expandable segments do not: they are released unit by unit, whatever blocks are
/// beside them.
#[inline]
fn inactive_split(segment: &Segment, block: &Block) -> InactiveSplit {
    if block.is_split() && !segment.is_expandable() { (1, block.bytes as u64) } else { (0, 0) }
}

/// Makes one block of two neighbours.
#[inline]
fn merge(blocks: &mut Arena<Block>, left: BlockId, right: BlockId) {
    let Block { next, bytes, .. } = blocks.remove(right);
    if let Some(next) = next {
        blocks[next].prev = Some(left);
    }
    let block = &mut blocks[left];
    block.bytes += bytes;
    block.next = next;
}
