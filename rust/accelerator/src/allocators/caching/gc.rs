//! Selects the free blocks that can be released, and the order of their release. Does not modify the heap.

use super::block::{BlockId, BlockState, Segment, SegmentId};
use super::heap::Heap;
use super::mem_pool::PoolKey;

/// Returns the blocks that may be released: unused segments and free blocks of expandable segments, except segments of
/// private pools and retired ones.
pub(super) fn unused(heap: &Heap) -> Vec<BlockId> {
    let may_be_released = |segment: &Segment| heap.pool(segment.pool).id.is_none() && !segment.is_retired;
    let segments = heap.segments().filter(|(_, segment)| may_be_released(segment));
    segments.flat_map(|(id, _)| unused_of(heap, id)).collect()
}

/// Returns the blocks of one segment that may be released.
pub(super) fn unused_of(heap: &Heap, id: SegmentId) -> Vec<BlockId> {
    let segment = heap.segment(id);
    let may_be_released = |id: &BlockId| {
        let block = heap.block(*id);
        block.state == BlockState::Free && segment.releasable_part(block).is_some()
    };
    heap.blocks_of(id).filter(may_be_released).collect()
}

/// Returns whether no block of a segment is used.
pub(super) fn is_unused(heap: &Heap, segment: SegmentId) -> bool {
    heap.blocks_of(segment).all(|id| matches!(heap.block(id).state, BlockState::Free | BlockState::Unmapped))
}

/// Returns the segments that meet a condition and are not being released.
pub(super) fn live_segments(heap: &Heap, condition: impl Fn(&Segment) -> bool) -> Vec<SegmentId> {
    let is_live = |segment: &Segment| {
        segment.is_expandable() || heap.block(segment.first).state != BlockState::Releasing
    };
    let found = heap.segments().filter(|(_, segment)| is_live(segment) && condition(segment));
    found.map(|(id, _)| id).collect()
}

/// Returns the segments of a pool that are neither retired nor being released.
pub(super) fn active_segments(heap: &Heap, pool: PoolKey) -> Vec<SegmentId> {
    live_segments(heap, |segment| segment.pool == pool && !segment.is_retired)
}

/// Returns the blocks that were freed first, with at least `excess` bytes in total.
pub(super) fn oldest_unused(heap: &Heap, excess: u64) -> Vec<BlockId> {
    let mut unused = unused(heap);
    unused.sort_by_key(|block| heap.block(*block).freed_tick);
    first_with(heap, unused, excess)
}

/// Returns the least recently used large segments, with at least `excess` bytes in total if there are enough: PyTorch's
/// `garbage_collect_cached_blocks`.
pub(super) fn garbage(heap: &Heap, mut excess: u64) -> Vec<BlockId> {
    let mut garbage = Vec::new();
    let mut unused = unused(heap);
    unused.retain(|block| {
        let segment = heap.segment_of(*block);
        !segment.is_small && !segment.is_expandable()
    });
    // Each round selects blocks of at least average age, which lowers the average.
    while excess > 0 && !unused.is_empty() {
        let age = |block: &BlockId| heap.allocations() - heap.block(*block).last_used_tick;
        let average = unused.iter().map(age).sum::<u64>() / unused.len() as u64;
        let (old, young) = unused.into_iter().partition(|block| age(block) >= average);
        let old = first_with(heap, old, excess);
        excess = excess.saturating_sub(old.iter().map(|block| heap.block(*block).bytes as u64).sum());
        garbage.extend(old);
        unused = young;
    }
    garbage
}

/// Returns the first blocks whose sizes sum up to at least `bytes`.
fn first_with(heap: &Heap, blocks: Vec<BlockId>, bytes: u64) -> Vec<BlockId> {
    let mut missing = bytes;
    let is_needed = |block: &BlockId| {
        let needed = missing > 0;
        missing = missing.saturating_sub(heap.block(*block).bytes as u64);
        needed
    };
    blocks.into_iter().take_while(is_needed).collect()
}
