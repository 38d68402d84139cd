//! Segments of device memory, and the blocks that they are split into.

use interlock_driver::{Address, EventHandle};

use super::super::arena::Key;
use super::super::free_list::FreeBlock;
use super::mem_pool::PoolKey;

pub(crate) type BlockId = Key<Block>;
pub(in super::super) type SegmentId = Key<Segment>;

/// A part of a segment. It owns nothing, so that adding and removing it is a few stores.
#[derive(Debug)]
pub(crate) struct Block {
    pub(super) segment: SegmentId,
    pub(super) address: Address,
    pub(super) bytes: usize,
    pub(super) requested: usize,
    pub(super) state: BlockState,
    /// The neighbours in the segment.
    pub(super) prev: Option<BlockId>,
    pub(super) next: Option<BlockId>,
    /// Streams other than its own have used it, which the heap has a list of.
    pub(super) has_stream_uses: bool,
    pub(super) last_used_tick: u64,
    pub(super) freed_tick: u64,
    pub(super) is_oversize: bool,
}

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum BlockState {
    /// By nothing; it is in a free list, unless its segment is retired.
    Free,
    /// By the program.
    Allocated,
    /// The program has freed it; this number of events has to complete first.
    PendingEvents(u32),
    /// It is on its way to the driver, or is about to get memory.
    Releasing,
    /// Addresses without memory.
    Unmapped,
}

/// Memory that the driver returned at once, or addresses that it reserved at once.
#[derive(Debug)]
pub(in super::super) struct Segment {
    pub(super) number: u64,
    pub(super) address: Address,
    pub(super) bytes: usize,
    pub(super) pool: PoolKey,
    pub(super) is_small: bool,
    pub(super) stream: i64,
    /// The first of its blocks, which follow each other without gaps.
    pub(super) first: BlockId,
    pub(super) map_unit: Option<usize>,
    pub(super) is_oversize: bool,
    pub(super) stream_end_event: Option<EventHandle>,
    pub(super) retired_after: Option<Vec<EventHandle>>,
}

impl Block {
    pub(in super::super) fn segment(&self) -> SegmentId {
        self.segment
    }

    pub(in super::super) fn address(&self) -> Address {
        self.address
    }

    #[inline]
    pub(in super::super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes that the program requested; 0 if the block is free.
    pub(in super::super) fn requested(&self) -> usize {
        self.requested
    }

    pub(in super::super) fn state(&self) -> BlockState {
        self.state
    }

    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.state == BlockState::Free
    }

    /// Returns whether streams other than its own have used it since it was allocated.
    #[inline]
    pub(in super::super) fn has_stream_uses(&self) -> bool {
        self.has_stream_uses
    }

    /// When it was allocated or freed last, in allocations on the device.
    pub(in super::super) fn last_used_tick(&self) -> u64 {
        self.last_used_tick
    }

    /// When it was freed last, in frees on the device.
    pub(in super::super) fn freed_tick(&self) -> u64 {
        self.freed_tick
    }

    /// Returns whether the segment has other blocks.
    #[inline]
    pub(in super::super) fn is_split(&self) -> bool {
        self.prev.is_some() || self.next.is_some()
    }
}

impl Segment {
    /// The number of segments before it.
    #[cfg(test)]
    pub(in super::super) fn number(&self) -> u64 {
        self.number
    }

    pub(in super::super) fn address(&self) -> Address {
        self.address
    }

    #[cfg(test)]
    pub(in super::super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(in super::super) fn pool(&self) -> PoolKey {
        self.pool
    }

    /// Returns whether it is for small blocks.
    pub(in super::super) fn is_small(&self) -> bool {
        self.is_small
    }

    /// The id of the stream that uses its blocks first.
    pub(in super::super) fn stream(&self) -> i64 {
        self.stream
    }

    /// By how many bytes it grows and shrinks, if it does: then its addresses are reserved, and have memory where
    /// blocks are not unmapped.
    pub(in super::super) fn map_unit(&self) -> Option<usize> {
        self.map_unit
    }

    #[inline]
    pub(in super::super) fn is_expandable(&self) -> bool {
        self.map_unit.is_some()
    }

    /// Returns whether its stream or its pool is gone: its free blocks are not allocated any more, and it is released
    /// once all are free and the events of [`retired_after`](Segment::retired_after) have completed.
    #[inline]
    pub(in super::super) fn is_retired(&self) -> bool {
        self.retired_after.is_some()
    }

    /// The events behind which a retired segment is unused.
    pub(in super::super) fn retired_after(&self) -> Option<&[EventHandle]> {
        self.retired_after.as_deref()
    }

    /// The entry of a block in a free list.
    #[inline]
    pub(super) fn entry(&self, id: BlockId, block: &Block) -> FreeBlock {
        self.entry_of(id, block.bytes, block.address)
    }

    /// The entry of a block of this size at this address.
    #[inline]
    pub(super) fn entry_of(&self, id: BlockId, bytes: usize, address: Address) -> FreeBlock {
        FreeBlock::new(id, self.stream, bytes, (self.number, address), self.map_unit.is_some())
    }
}
