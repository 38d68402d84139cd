//! Expandable segments, which grow by mapping memory at their unmapped addresses, and shrink by unmapping it.

use interlock_driver::Address;

use super::super::block::{Block, BlockId, BlockState, Segment, SegmentId};
use super::{Addresses, Heap, Request};

/// Addresses of an expandable segment that are about to be mapped.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct PlannedMap {
    /// The detached block of these addresses, without memory so far.
    block: BlockId,
    /// The free block before it, if it was detached for the same request.
    prev: Option<BlockId>,
    pub(in super::super) segment: SegmentId,
    pub(in super::super) address: Address,
    pub(in super::super) bytes: usize,
    /// The number of bytes that the driver maps at once.
    pub(in super::super) map_unit: usize,
}

impl Heap {
    /// Returns the unmapped block that, with the free block before it, is large enough for a request and needs the
    /// least new memory.
    fn find_unmapped(&self, request: &Request) -> Option<BlockId> {
        let unmapped = self.pools[request.pool].unmapped.of((request.is_small(), request.stream));
        let free_before = unmapped.filter_map(|id| {
            let free_before = self.blocks.free_before(id);
            let fits =
                free_before + self.blocks[id].bytes >= request.bytes && !self.segment_of(id).is_retired;
            fits.then_some((id, free_before))
        });
        // The first of those that need the least.
        let best = free_before.reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.map(|(id, _)| id)
    }

    /// Adds an unmapped block to the set of its pool.
    pub(super) fn add_to_unmapped(&mut self, id: BlockId) {
        let block = &self.blocks[id];
        let segment = &self.segments[block.segment];
        let served = (segment.is_small, segment.stream);
        self.pools[segment.pool].unmapped.insert(served, block.address, id);
    }

    /// Removes an unmapped block from the set of its pool.
    fn remove_from_unmapped(&mut self, id: BlockId) {
        let block = &self.blocks[id];
        let segment = &self.segments[block.segment];
        let served = (segment.is_small, segment.stream);
        self.pools[segment.pool].unmapped.remove(served, block.address);
    }

    /// Returns whether a segment can grow for a request.
    pub(in super::super) fn can_grow(&self, request: &Request) -> bool {
        self.find_unmapped(request).is_some()
    }

    /// Detaches the addresses to be mapped for a request, and the free block before them.
    pub(in super::super) fn begin_map(&mut self, request: &Request) -> Option<PlannedMap> {
        let block = self.find_unmapped(request)?;
        let Block { segment, address, .. } = self.blocks[block];
        let map_unit = self.segments[segment].map_unit?;
        // The free block before them may be large enough by now.
        let missing = request.bytes.saturating_sub(self.blocks.free_before(block)).max(1);
        let bytes = missing.checked_next_multiple_of(map_unit)?;
        let [prev, _] = self.blocks.neighbours(block, BlockState::Free);
        if let Some(prev) = prev {
            self.remove_from_free_list(prev);
            self.blocks[prev].state = BlockState::Releasing;
        }
        self.remove_from_unmapped(block);
        if self.blocks[block].bytes > bytes {
            let rest = self.blocks.split(block, bytes);
            self.add_to_unmapped(rest);
        }
        self.blocks[block].state = BlockState::Releasing;
        Some(PlannedMap { block, prev, segment, address, bytes, map_unit })
    }

    /// Adds mapped addresses as a free block, which it returns.
    pub(in super::super) fn commit_map(&mut self, map: &PlannedMap) -> BlockId {
        let Segment { pool, is_small: small, .. } = self.segments[map.segment];
        self.count_reserved(pool, small, 0, map.bytes);
        if let Some(prev) = map.prev {
            self.insert_and_merge(prev);
        }
        self.insert_and_merge(map.block)
    }

    /// Restores addresses that could not be mapped. If none of the segment has memory, removes it and returns its
    /// addresses.
    pub(in super::super) fn abort_map(&mut self, map: &PlannedMap) -> Option<Addresses> {
        self.make_unmapped(map.block, map.prev)
    }

    /// Marks a detached block as unmapped. If none of its segment has memory, removes it and returns its addresses.
    pub(in super::super) fn end_unmap(&mut self, id: BlockId) -> Option<Addresses> {
        let Block { segment, bytes, .. } = self.blocks[id];
        let Segment { pool, is_small: small, .. } = self.segments[segment];
        self.count_reserved(pool, small, bytes, 0);
        self.make_unmapped(id, None)
    }

    /// Makes a block unmapped, merged with unmapped neighbours, and frees the block that was `detached` with it.
    fn make_unmapped(&mut self, id: BlockId, detached: Option<BlockId>) -> Option<Addresses> {
        let [prev, next] = self.blocks.neighbours(id, BlockState::Unmapped);
        self.blocks[id].state = BlockState::Unmapped;
        if let Some(next) = next {
            self.remove_from_unmapped(next);
            self.blocks.merge(id, next);
        }
        match prev {
            // It is in the set already, at its address.
            Some(prev) => self.blocks.merge(prev, id),
            None => self.add_to_unmapped(id),
        }
        if let Some(detached) = detached {
            self.insert_and_merge(detached);
        }
        let merged = &self.blocks[prev.unwrap_or(id)];
        if merged.is_split() {
            return None;
        }
        let segment = merged.segment;
        self.remove_from_unmapped(prev.unwrap_or(id));
        let Segment { address, bytes, .. } = self.take_segment(segment);
        Some(Addresses { start: address, bytes })
    }
}
