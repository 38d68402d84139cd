//! Which free blocks are released before memory is short. Both functions choose the blocks and change nothing.

use super::block::BlockId;
use super::heap::Heap;

/// Free blocks of at least `excess` bytes, those that were freed first.
pub(super) fn oldest_unused(heap: &Heap, excess: u64) -> Vec<BlockId> {
    let mut unused = heap.unused();
    unused.sort_by_key(|block| heap.block(*block).freed_tick);
    first_with(heap, unused, excess)
}

/// Large segments that are unused for longer than others, of at least `excess` bytes if there are as many: PyTorch's
/// `garbage_collect_cached_blocks`.
pub(super) fn garbage(heap: &Heap, mut excess: u64) -> Vec<BlockId> {
    let mut garbage = Vec::new();
    let mut unused = heap.unused();
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
