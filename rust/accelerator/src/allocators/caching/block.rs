//! Segments of device memory, and the blocks that they are split into.
//!
//! The [heap](super::heap::Heap) owns both and alone modifies them; other parts read them through shared references.

use interlock_driver::{Address, EventHandle};

use super::arena::{Arena, Key};
use super::free_list::FreeBlock;
use super::mem_pool::PoolKey;
use crate::allocators::trace::ReleaseReason;

pub(crate) type BlockId = Key<Block>;
pub(super) type SegmentId = Key<Segment>;

/// A part of a segment. It owns no heap memory, so that adding and removing it takes a few stores.
#[derive(Debug)]
pub(crate) struct Block {
    pub(super) segment: SegmentId,
    pub(super) address: Address,
    pub(super) bytes: usize,
    /// The bytes that the program requested; 0 if the block is free.
    pub(super) requested: usize,
    pub(super) state: BlockState,
    /// The neighbours in the segment.
    prev: Option<BlockId>,
    next: Option<BlockId>,
    /// Whether streams other than its own have used it since it was allocated; the heap has the list.
    pub(super) has_stream_uses: bool,
    /// The time when it was last allocated or freed, in allocations on the device.
    pub(super) last_used_tick: u64,
    /// The time when it was last freed, in frees on the device.
    pub(super) freed_tick: u64,
    pub(super) is_oversize: bool,
}

/// The use of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    /// Unused. It is in a free list, unless its segment is retired.
    Free,
    /// Used by the program.
    Allocated,
    /// Freed by the program, and waiting for this number of events.
    PendingEvents(u32),
    /// Detached while the driver releases or maps its memory.
    Releasing,
    /// Addresses without memory.
    Unmapped,
}

/// Memory of one allocation of the driver, or one range of reserved addresses.
#[derive(Debug)]
pub(super) struct Segment {
    /// The number of segments that were added before it.
    pub(super) number: u64,
    pub(super) address: Address,
    pub(super) bytes: usize,
    pub(super) pool: PoolKey,
    /// Whether it is for small blocks.
    pub(super) is_small: bool,
    /// The id of the stream that its blocks are allocated for.
    pub(super) stream: i64,
    /// The first of its blocks, which follow each other without gaps.
    pub(super) first: BlockId,
    /// The number of bytes by which an expandable segment grows and shrinks. Its addresses are reserved, and have
    /// memory except in unmapped blocks.
    pub(super) map_unit: Option<usize>,
    pub(super) is_oversize: bool,
    /// Whether its stream was destroyed or its pool released. Its free blocks are no longer allocated, and it is
    /// released once all are free and the events of [`ReleaseState::after`] have completed.
    pub(super) is_retired: bool,
    pub(super) release: ReleaseState,
}

/// The conditions for the release of a segment.
#[derive(Debug, Default)]
pub(super) struct ReleaseState {
    /// An event after all work of its stream, which was destroyed while a graph used the segment.
    pub(super) stream_end: Option<EventHandle>,
    /// The events after which a retired segment is unused.
    pub(super) after: Vec<EventHandle>,
    /// The reason of the release.
    pub(super) reason: Option<ReleaseReason>,
}

impl Block {
    #[inline]
    pub(super) fn new(segment: SegmentId, address: Address, bytes: usize, state: BlockState) -> Self {
        Block {
            segment,
            address,
            bytes,
            requested: 0,
            state,
            prev: None,
            next: None,
            has_stream_uses: false,
            last_used_tick: 0,
            freed_tick: 0,
            is_oversize: false,
        }
    }

    /// Returns whether the segment has other blocks.
    #[inline]
    pub(super) fn is_split(&self) -> bool {
        self.prev.is_some() || self.next.is_some()
    }
}

impl Segment {
    #[inline]
    pub(super) fn is_expandable(&self) -> bool {
        self.map_unit.is_some()
    }

    /// Returns the offset and the size of the part of a block that can be released: the block if it is the whole
    /// segment, or the map units of an expandable segment that it contains.
    pub(super) fn releasable_part(&self, block: &Block) -> Option<(usize, usize)> {
        let Some(map_unit) = self.map_unit else {
            return (!block.is_split()).then_some((0, block.bytes));
        };
        let start = (block.address.0 - self.address.0) as usize;
        let (first, end) = (start.next_multiple_of(map_unit), (start + block.bytes) / map_unit * map_unit);
        let length = end.checked_sub(first).filter(|length| *length > 0)?;
        Some((first - start, length))
    }

    /// Returns the entry of a block in a free list.
    #[inline]
    pub(super) fn entry(&self, id: BlockId, block: &Block) -> FreeBlock {
        self.entry_of(id, block.bytes, block.address)
    }

    /// Returns the entry of a block of this size at this address.
    #[inline]
    pub(super) fn entry_of(&self, id: BlockId, bytes: usize, address: Address) -> FreeBlock {
        FreeBlock::new(id, self.stream, bytes, (self.number, address), self.is_expandable())
    }
}

/// Blocks of segments, linked to their neighbours.
impl Arena<Block> {
    /// Returns `first` and the blocks after it, in the order of their addresses.
    pub(super) fn chain(&self, first: BlockId) -> impl Iterator<Item = BlockId> {
        std::iter::successors(Some(first), |id| self[*id].next)
    }

    /// Returns the previous and the next block if they are in this state.
    #[inline]
    pub(super) fn neighbours(&self, id: BlockId, state: BlockState) -> [Option<BlockId>; 2] {
        let Block { prev, next, .. } = self[id];
        let is_in_state = |side: &BlockId| self[*side].state == state;
        [prev.filter(is_in_state), next.filter(is_in_state)]
    }

    /// Returns the size of the free block before a block, 0 if there is none.
    pub(super) fn free_before(&self, id: BlockId) -> usize {
        let [prev, _] = self.neighbours(id, BlockState::Free);
        prev.map_or(0, |prev| self[prev].bytes)
    }

    /// Returns the size of a free block including the unmapped addresses after it.
    pub(super) fn bytes_if_grown(&self, id: BlockId) -> usize {
        let [_, unmapped] = self.neighbours(id, BlockState::Unmapped);
        self[id].bytes + unmapped.map_or(0, |unmapped| self[unmapped].bytes)
    }

    /// Splits a block in two; returns the second one, which has the same state. The caller updates the free lists.
    #[inline]
    pub(super) fn split(&mut self, id: BlockId, bytes: usize) -> BlockId {
        let rest = self.next_key();
        let block = &mut self[id];
        let Block { segment, state, next, last_used_tick, freed_tick, .. } = *block;
        let (address, rest_bytes) = (Address(block.address.0 + bytes as u64), block.bytes - bytes);
        (block.bytes, block.next) = (bytes, Some(rest));
        if let Some(next) = next {
            self[next].prev = Some(rest);
        }
        self.insert_with(|| Block {
            prev: Some(id),
            next,
            last_used_tick,
            freed_tick,
            ..Block::new(segment, address, rest_bytes, state)
        })
    }

    /// Merges two neighbours into the left one.
    #[inline]
    pub(super) fn merge(&mut self, left: BlockId, right: BlockId) {
        let Block { next, bytes, .. } = self.remove(right);
        if let Some(next) = next {
            self[next].prev = Some(left);
        }
        let block = &mut self[left];
        block.bytes += bytes;
        block.next = next;
    }
}
