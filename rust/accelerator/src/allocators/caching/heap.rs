//! The segments and blocks of one device.
//!
//! [`Heap`] maintains the invariants of the allocator: blocks follow each other in their segment without gaps or
//! overlaps, no two neighbours are free, a block is in a free list if and only if it is free and its segment is not
//! retired, and the statistics count exactly these blocks. It calls no driver. Builds with debug assertions check these
//! invariants after operations.

#[cfg(debug_assertions)]
mod check;
mod growth;

use std::collections::HashMap;

use interlock_driver::{Address, AllocatorState};

use super::arena::Arena;
use super::block::{Block, BlockId, BlockState, ReleaseState, Segment, SegmentId};
use super::free_list::Position;
use super::mem_pool::{MemPool, MemPoolOptions, PoolKey};
use super::size_policy::SizePolicy;
use crate::PoolId;
use crate::allocators::stats::{StatArray, Statistics};
use crate::stream::Stream;
pub(super) use growth::PlannedMap;

/// The segments and blocks of one device.
pub(super) struct Heap {
    blocks: Arena<Block>,
    segments: Arena<Segment>,
    pools: Arena<MemPool>,
    /// The pool of requests that are routed to no private pool.
    default_pool: PoolKey,
    /// The streams other than their own that have used allocated blocks.
    stream_uses: HashMap<BlockId, Vec<Stream>>,
    /// The number of segments added so far.
    segments_added: u64,
    /// The number of allocations: the clock of [`Block::last_used_tick`].
    allocations: u64,
    /// The number of frees: the clock of [`Block::freed_tick`].
    frees: u64,
    /// The bytes in free lists.
    cached_bytes: u64,
    /// All statistics. The heap counts segments and blocks; the slow path counts retries and failures.
    pub(super) stats: Statistics,
    pub(super) policy: SizePolicy,
    /// The number of operations before the next check.
    #[cfg(debug_assertions)]
    unchecked: usize,
}

/// A request for memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// The id of the stream that uses the memory first.
    pub(super) stream: i64,
    /// The bytes that the program requested.
    pub(super) requested: usize,
    /// The size of the block.
    pub(super) bytes: usize,
    pub(super) pool: PoolKey,
}

impl Request {
    #[inline]
    pub(super) fn is_small(&self) -> bool {
        SizePolicy::is_small(self.bytes)
    }
}

/// The reserved addresses of a segment, none of which has memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) start: Address,
    pub(super) bytes: usize,
}

/// The number and the bytes of free blocks that share their segment with others.
type InactiveSplit = (u64, u64);

impl Default for Heap {
    fn default() -> Self {
        let mut pools = Arena::default();
        let default_pool = pools.insert(MemPool::default());
        Heap {
            blocks: Arena::default(),
            segments: Arena::default(),
            pools,
            default_pool,
            stream_uses: HashMap::new(),
            segments_added: 0,
            allocations: 0,
            frees: 0,
            cached_bytes: 0,
            stats: Statistics::new(),
            policy: SizePolicy::default(),
            #[cfg(debug_assertions)]
            unchecked: 0,
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

    /// Returns the segment that a block is a part of.
    pub(super) fn segment_of(&self, id: BlockId) -> &Segment {
        &self.segments[self.blocks[id].segment]
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        self.segments.iter()
    }

    /// Returns the blocks of a segment, in the order of their addresses.
    pub(super) fn blocks_of(&self, segment: SegmentId) -> impl Iterator<Item = BlockId> {
        self.blocks.chain(self.segments[segment].first)
    }

    /// Returns the number of allocations so far.
    pub(super) fn allocations(&self) -> u64 {
        self.allocations
    }

    /// Returns the bytes of free blocks that can be allocated.
    #[inline]
    pub(super) fn cached_bytes(&self) -> u64 {
        self.cached_bytes
    }

    /// Returns the largest size and the total size of the free blocks that requests of a stream may use.
    pub(super) fn free_bytes_for(&self, stream: i64, pool: Option<PoolId>) -> (u64, u64) {
        let pool = self.find_pool(pool);
        let free =
            self.pools.free_blocks().filter(|block| Some(block.pool) == pool && block.stream == stream);
        free.fold((0, 0), |(largest, all), block| (largest.max(block.bytes as u64), all + block.bytes as u64))
    }

    /// Adds to the state of a failed request which free blocks there are.
    pub(super) fn classify_free_blocks(&self, state: &mut AllocatorState) {
        let pool = self.find_pool(state.pool);
        for block in self.pools.free_blocks() {
            let bytes = block.bytes as u64;
            let is_private = self.pools[block.pool].id.is_some();
            *match () {
                () if Some(block.pool) != pool && is_private => &mut state.free_private_pools,
                () if Some(block.pool) != pool => &mut state.free_default_pool,
                () if block.stream != state.stream => &mut state.free_other_streams,
                () if block.is_small != state.is_small => &mut state.free_other_sizes,
                // Larger ones are oversize blocks, which serve no smaller requests.
                () if block.bytes < state.rounded => {
                    state.largest_free = state.largest_free.max(bytes);
                    &mut state.free_too_small
                }
                () => &mut state.free_other_sizes,
            } += bytes;
        }
    }

    /// Returns the private pool with this id, `None` if there is none, or the default pool.
    fn find_pool(&self, pool: Option<PoolId>) -> Option<PoolKey> {
        pool.map_or(Some(self.default_pool), |id| self.pools.find(id))
    }

    /// Creates a request for a number of bytes; `None` if it exceeds the address space.
    #[inline]
    pub(super) fn request(&mut self, stream: i64, requested: usize, pool: Option<PoolId>) -> Option<Request> {
        let bytes = self.policy.round(requested)?;
        let pool = match pool {
            None => self.default_pool,
            Some(id) => self.private_pool(id),
        };
        Some(Request { stream, requested, bytes, pool })
    }

    /// Allocates the best-fitting free block, split to size; `None` if no block fits.
    #[inline]
    pub(super) fn allocate(&mut self, request: &Request) -> Option<BlockId> {
        let list = self.pools[request.pool].free.of(request.is_small());
        let (position, block) = list.best_fit(request.stream, request.bytes, &self.policy)?;
        if self.segment_of(block).is_expandable() {
            let block = self.best_expandable(block, request);
            self.allocate_block(block, request);
            return Some(block);
        }
        self.allocate_and_split(block, Some(position), request);
        Some(block)
    }

    /// Returns the best-fitting free block of expandable segments. A block that can still grow counts with the size
    /// that it can reach, to save the end of a segment for requests that need it. `first` is the smallest block.
    fn best_expandable(&self, first: BlockId, request: &Request) -> BlockId {
        let list = self.pools[request.pool].free.of(request.is_small());
        let mut best = first;
        for next in list.fitting(request.stream, request.bytes, &self.policy).skip(1) {
            if self.blocks.bytes_if_grown(next.block) >= self.blocks.bytes_if_grown(best) {
                break;
            }
            best = next.block;
        }
        best
    }

    /// Allocates a free block that is large enough, split if the rest is large enough to be a block.
    pub(super) fn allocate_block(&mut self, id: BlockId, request: &Request) {
        let block = &self.blocks[id];
        let segment = &self.segments[block.segment];
        let list = self.pools[segment.pool].free.of(segment.is_small);
        // Blocks of retired segments are in no list and have no position.
        let position = list.position(&segment.entry(id, block));
        self.allocate_and_split(id, position, request);
    }

    /// Allocates a free block, and splits it if the rest is large enough to be a block. `position` is its position in
    /// its free list; `None` if it is in no list.
    #[inline]
    fn allocate_and_split(&mut self, id: BlockId, position: Option<Position>, request: &Request) {
        let block = &self.blocks[id];
        let segment = &self.segments[block.segment];
        let (small, is_expandable) = (segment.is_small, segment.is_expandable());
        let rest_bytes = block.bytes - request.bytes;
        let before = inactive_split(segment, block);
        let pool = &mut self.pools[segment.pool];
        let may_split = !pool.options.no_split;
        let list = pool.free.of_mut(small);
        let mut after = InactiveSplit::default();
        if may_split && self.policy.should_split(request.bytes, rest_bytes, is_expandable) {
            if let Some(position) = position {
                let rest = self.blocks.next_key();
                let address = Address(block.address.0 + request.bytes as u64);
                list.replace(position, segment.entry_of(rest, rest_bytes, address));
                self.cached_bytes -= request.bytes as u64;
            }
            self.blocks.split(id, request.bytes);
            if !is_expandable {
                after = (1, rest_bytes as u64);
            }
        } else if let Some(position) = position {
            list.remove(position);
            self.cached_bytes -= block.bytes as u64;
        }
        self.update_inactive_split(small, before, after);
        self.mark_allocated(id, request);
    }

    #[inline]
    fn mark_allocated(&mut self, id: BlockId, request: &Request) {
        let small = request.is_small();
        self.allocations += 1;
        let block = &mut self.blocks[id];
        block.state = BlockState::Allocated;
        block.requested = request.requested;
        block.last_used_tick = self.allocations;
        block.is_oversize = self.policy.is_oversize(block.bytes);
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

    /// Counts a block as no longer allocated. It remains active until it is [freed](Heap::free), because streams may
    /// still use it.
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

    /// Records that a stream other than its own uses a block.
    pub(super) fn add_stream_use(&mut self, id: BlockId, stream: &Stream) {
        self.blocks[id].has_stream_uses = true;
        let stream_uses = self.stream_uses.entry(id).or_default();
        if !stream_uses.contains(stream) {
            stream_uses.push(stream.clone());
        }
    }

    /// Sets the number of events that a freed block waits for.
    pub(super) fn set_pending_events(&mut self, id: BlockId, events: usize) {
        self.blocks[id].state = BlockState::PendingEvents(u32::try_from(events).unwrap_or(u32::MAX));
    }

    /// Returns the streams other than its own that have used a block since it was allocated.
    pub(super) fn stream_uses(&self, id: BlockId) -> &[Stream] {
        self.stream_uses.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Removes and returns the streams that have used a block.
    pub(super) fn take_stream_uses(&mut self, id: BlockId) -> Vec<Stream> {
        self.blocks[id].has_stream_uses = false;
        self.stream_uses.remove(&id).unwrap_or_default()
    }

    /// Counts a completed event of a block; returns whether the block waits for no other.
    pub(super) fn complete_event(&mut self, id: BlockId) -> bool {
        let BlockState::PendingEvents(events) = &mut self.blocks[id].state else {
            debug_assert!(false, "a block that waits for no event");
            return false;
        };
        debug_assert!(*events > 0, "more events than were recorded");
        *events = events.saturating_sub(1);
        *events == 0
    }

    /// Frees a block of the program; returns false, without effect, if other streams use it or its segment is retired.
    #[inline]
    pub(super) fn free_if_unused(&mut self, id: BlockId) -> bool {
        let block = &self.blocks[id];
        if block.has_stream_uses || self.segments[block.segment].is_retired {
            return false;
        }
        self.mark_freed(id);
        self.free(id);
        true
    }

    /// Frees a block that no stream uses and merges it with its free neighbours. Returns its segment.
    #[inline]
    pub(super) fn free(&mut self, id: BlockId) -> SegmentId {
        let block = &self.blocks[id];
        let (segment, bytes, requested) = (block.segment, block.bytes as u64, block.requested as u64);
        let small = self.segments[segment].is_small;
        self.stats.active.decrease(small, 1);
        self.stats.active_bytes.decrease(small, bytes);
        self.stats.requested_bytes.decrease(small, requested);
        self.insert_and_merge(id);
        segment
    }

    /// Marks a block as free, merges it with its free neighbours and inserts the result in its free list. Returns the
    /// merged block.
    #[inline]
    fn insert_and_merge(&mut self, id: BlockId) -> BlockId {
        self.frees += 1;
        let block = &self.blocks[id];
        let bytes = block.bytes;
        let segment = &self.segments[block.segment];
        let (small, is_listed) = (segment.is_small, !segment.is_retired);
        let [prev, next] = self.blocks.neighbours(id, BlockState::Free);
        let list = self.pools[segment.pool].free.of_mut(small);
        let (mut merged, mut position, mut before) = (id, None, InactiveSplit::default());
        if let Some(next) = next {
            let neighbour = &self.blocks[next];
            before = inactive_split(segment, neighbour);
            position = list.position(&segment.entry(next, neighbour));
            self.blocks.merge(id, next);
        }
        if let Some(prev) = prev {
            let neighbour = &self.blocks[prev];
            let inactive = inactive_split(segment, neighbour);
            before = (before.0 + inactive.0, before.1 + inactive.1);
            position.into_iter().for_each(|next| list.remove(next));
            position = list.position(&segment.entry(prev, neighbour));
            self.blocks.merge(prev, id);
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

    /// Adds a free block to its free list.
    fn add_to_free_list(&mut self, id: BlockId) {
        let block = &self.blocks[id];
        let segment = &self.segments[block.segment];
        if !segment.is_retired {
            self.cached_bytes += block.bytes as u64;
            self.pools[segment.pool].free.of_mut(segment.is_small).insert(segment.entry(id, block));
        }
    }

    /// Removes a block from its free list.
    fn remove_from_free_list(&mut self, id: BlockId) {
        let block = &self.blocks[id];
        let segment = &self.segments[block.segment];
        let list = self.pools[segment.pool].free.of_mut(segment.is_small);
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

    /// Adds a segment that the driver has allocated as one free block, which it returns.
    pub(super) fn add_segment(&mut self, request: &Request, address: Address, bytes: usize) -> BlockId {
        let small = request.is_small();
        let block = self.insert_segment(request, Addresses { start: address, bytes }, None);
        self.add_to_free_list(block);
        self.stats.segment.increase(small, 1);
        self.count_reserved(request.pool, small, 0, bytes);
        if self.segment_of(block).is_oversize {
            self.stats.oversize_segments.increase(1);
        }
        block
    }

    /// Adds a segment as one block, which it returns. With a `map_unit`, the segment is expandable and has no memory
    /// yet.
    pub(super) fn insert_segment(
        &mut self,
        request: &Request,
        Addresses { start: address, bytes }: Addresses,
        map_unit: Option<usize>,
    ) -> BlockId {
        let state = if map_unit.is_some() { BlockState::Unmapped } else { BlockState::Free };
        let first = self.blocks.insert(Block::new(self.segments.next_key(), address, bytes, state));
        let block = &mut self.blocks[first];
        (block.last_used_tick, block.freed_tick) = (self.allocations, self.frees);
        self.segments.insert(Segment {
            number: self.segments_added,
            address,
            bytes,
            pool: request.pool,
            is_small: request.is_small(),
            stream: request.stream,
            first,
            map_unit,
            is_oversize: map_unit.is_none() && self.policy.is_oversize(bytes),
            is_retired: false,
            release: ReleaseState::default(),
        });
        self.segments_added += 1;
        self.pools[request.pool].segments += 1;
        if map_unit.is_some() {
            self.add_to_unmapped(first);
        }
        first
    }

    /// Removes a segment whose only block is detached.
    pub(super) fn remove_segment(&mut self, id: SegmentId) {
        let Segment { is_small: small, pool, bytes, is_oversize, .. } = self.segments[id];
        self.stats.segment.decrease(small, 1);
        self.count_reserved(pool, small, bytes, 0);
        if is_oversize {
            self.stats.oversize_segments.decrease(1);
        }
        self.take_segment(id);
    }

    /// Removes a segment with one block from the arenas.
    fn take_segment(&mut self, id: SegmentId) -> Segment {
        let segment = self.segments.remove(id);
        self.blocks.remove(segment.first);
        self.pools[segment.pool].segments -= 1;
        self.remove_pool_if_unused(segment.pool);
        segment
    }

    /// Counts bytes that the driver has allocated (`before` is 0) or released (`after` is 0).
    fn count_reserved(&mut self, pool: PoolKey, small: bool, before: usize, after: usize) {
        let stats = &mut self.stats;
        *(if before == 0 { &mut stats.num_device_alloc } else { &mut stats.num_device_free }) += 1;
        stats.reserved_bytes.change(small, before as u64, after as u64);
        let Some(id) = self.pools[pool].id else { return };
        let private = &mut stats.reserved_bytes_by_private_pools;
        let index = private.binary_search_by_key(&id, |(id, _)| *id).unwrap_or_else(|index| {
            private.insert(index, (id, StatArray::default()));
            index
        });
        if let Some((_, stat)) = private.get_mut(index) {
            stat.change(small, before as u64, after as u64);
        }
    }

    /// Detaches the [part of a free block that can be released](Segment::releasable_part) from the free lists, and
    /// returns it.
    pub(super) fn detach_releasable(&mut self, id: BlockId) -> Option<BlockId> {
        let (start, length) = self.segment_of(id).releasable_part(&self.blocks[id])?;
        self.remove_from_free_list(id);
        let units = if start > 0 { self.blocks.split(id, start) } else { id };
        if self.blocks[units].bytes > length {
            let tail = self.blocks.split(units, length);
            self.add_to_free_list(tail);
        }
        if units != id {
            self.add_to_free_list(id);
        }
        self.blocks[units].state = BlockState::Releasing;
        Some(units)
    }

    /// Retires a segment: its free blocks are no longer allocated.
    pub(super) fn retire_segment(&mut self, segment: SegmentId) {
        let is_free = |id: &BlockId| self.blocks[*id].state == BlockState::Free;
        let blocks: Vec<_> = self.blocks_of(segment).filter(is_free).collect();
        blocks.into_iter().for_each(|id| self.remove_from_free_list(id));
        self.segments[segment].is_retired = true;
    }

    /// Returns the conditions for the release of a segment.
    pub(super) fn release_state(&mut self, segment: SegmentId) -> &mut ReleaseState {
        &mut self.segments[segment].release
    }

    pub(super) fn pool(&self, pool: PoolKey) -> &MemPool {
        &self.pools[pool]
    }

    /// Adds a private pool.
    pub(super) fn add_pool(&mut self, id: PoolId, options: MemPoolOptions) -> PoolKey {
        self.pools.insert(MemPool::private(id, options))
    }

    /// Returns the private pool with this id, adding it if there is none.
    pub(super) fn private_pool(&mut self, id: PoolId) -> PoolKey {
        self.pools.find(id).unwrap_or_else(|| self.add_pool(id, MemPoolOptions::default()))
    }

    /// Allocates a free block of a private pool that serves requests of the default pool before they fail.
    pub(super) fn allocate_from_reserve(&mut self, request: &Request) -> Option<BlockId> {
        if request.pool != self.default_pool {
            return None;
        }
        let reserves: Vec<_> = self.pools.reserves().collect();
        reserves.into_iter().find_map(|pool| self.allocate(&Request { pool, ..*request }))
    }

    /// Retires the private pool with this id. Returns it unless it was unused and therefore removed.
    pub(super) fn retire_pool(&mut self, id: PoolId) -> Option<PoolKey> {
        let pool = self.pools.find(id)?;
        self.pools[pool].is_retired = true;
        (!self.remove_pool_if_unused(pool)).then_some(pool)
    }

    /// Removes a retired pool without segments; returns whether it was removed.
    pub(super) fn remove_pool_if_unused(&mut self, pool: PoolKey) -> bool {
        if !self.pools[pool].is_unused() {
            return false;
        }
        let id = self.pools.remove(pool).id;
        // A graph that is captured again reuses the id.
        if self.pools.iter().all(|(_, other)| other.id != id) {
            self.stats.reserved_bytes_by_private_pools.retain(|(counted, _)| Some(*counted) != id);
        }
        true
    }
}

/// Returns the contribution of a free block to the statistics. Blocks of expandable segments contribute nothing,
/// because they are released unit by unit, whatever their neighbours are.
#[inline]
fn inactive_split(segment: &Segment, block: &Block) -> InactiveSplit {
    if block.is_split() && !segment.is_expandable() { (1, block.bytes as u64) } else { (0, 0) }
}
