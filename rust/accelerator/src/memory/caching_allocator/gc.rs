//! Which free blocks can be released, and which of them are released first. Nothing here changes the heap.

use super::block::{BlockId, BlockState, Segment, SegmentId};
use super::heap::Heap;
use super::mem_pool::PoolKey;

/// Blocks that may be released: all of unused segments, and free blocks of expandable ones. Not those of graphs, and not
/// those of retired segments.
pub(super) fn unused(heap: &Heap) -> Vec<BlockId> {
    let may_be_released = |segment: &Segment| heap.pool(segment.pool).id.is_none() && !segment.is_retired;
    let segments = heap.segments().filter(|(_, segment)| may_be_released(segment));
    segments.flat_map(|(id, _)| unused_of(heap, id)).collect()
}

/// Blocks of one segment that may be released.
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

/// Segments that meet a condition and are not being released.
pub(super) fn live_segments(heap: &Heap, condition: impl Fn(&Segment) -> bool) -> Vec<SegmentId> {
    let is_live = |segment: &Segment| {
        segment.is_expandable() || heap.block(segment.first).state != BlockState::Releasing
    };
    let found = heap.segments().filter(|(_, segment)| is_live(segment) && condition(segment));
    found.map(|(id, _)| id).collect()
}

/// Live segments of a pool whose free blocks are allocated.
pub(super) fn active_segments(heap: &Heap, pool: PoolKey) -> Vec<SegmentId> {
    live_segments(heap, |segment| segment.pool == pool && !segment.is_retired)
}

/// Free blocks of at least `excess` bytes, those that were freed first.
pub(super) fn oldest_unused(heap: &Heap, excess: u64) -> Vec<BlockId> {
    let mut unused = unused(heap);
    unused.sort_by_key(|block| heap.block(*block).freed_tick);
    first_with(heap, unused, excess)
}

/// Large segments that are unused for longer than others, of at least `excess` bytes if there are as many: PyTorch's
/// `garbage_collect_cached_blocks`.
pub(super) fn garbage(heap: &Heap, mut excess: u64) -> Vec<BlockId> {
    let mut garbage = Vec::new();
    let mut unused = unused(heap);
    unused.retain(|block| {
        let segment = heap.segment_of(*block);
        !segment.is_small && !segment.is_expandable()
    });
    // Each round takes what is at least of average age, which makes the average younger.
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

/// The first blocks that have at least this number of bytes.
fn first_with(heap: &Heap, blocks: Vec<BlockId>, bytes: u64) -> Vec<BlockId> {
    let mut missing = bytes;
    let is_needed = |block: &BlockId| {
        let needed = missing > 0;
        missing = missing.saturating_sub(heap.block(*block).bytes as u64);
        needed
    };
    blocks.into_iter().take_while(is_needed).collect()
}
