//! Checks of the invariants of a heap, in builds with debug assertions.

use std::collections::HashMap;

use super::{BlockState, Heap, PoolKey, inactive_split};

impl Heap {
    /// Checks all invariants, of a heap with many blocks only after some of the operations: a check takes time
    /// proportional to the number of blocks.
    pub(in super::super) fn check_if_due(&mut self) {
        const BLOCKS_PER_OPERATION: usize = 16;
        match self.unchecked.checked_sub(1) {
            Some(unchecked) => self.unchecked = unchecked,
            None => self.unchecked = self.check() / BLOCKS_PER_OPERATION,
        }
    }

    /// Checks all invariants; returns the number of blocks.
    ///
    /// # Panics
    /// Panics if one of them does not hold.
    fn check(&self) -> usize {
        let (mut blocks, mut listed, mut unmapped, mut cached, mut requested) = (0, 0, 0, 0, 0);
        let (mut allocated, mut active, mut split) = ((0, 0), (0, 0), (0, 0));
        let mut segments: HashMap<PoolKey, usize> = HashMap::new();
        let add = |sum: &mut (u64, u64), (count, bytes)| *sum = (sum.0 + count, sum.1 + bytes);
        for (id, segment) in self.segments.iter() {
            *segments.entry(segment.pool).or_default() += 1;
            let list = self.pools[segment.pool].free.of(segment.is_small);
            let (mut end, mut prev) = (segment.address.0, None);
            for key in self.blocks_of(id) {
                let block = &self.blocks[key];
                assert!(block.segment == id && block.bytes > 0, "{block:?} is not a part of {segment:?}");
                assert_eq!(block.address.0, end, "a gap or an overlap before {block:?}");
                if let Some(prev) = prev {
                    let state = self.blocks[prev].state;
                    let [linked, _] = self.blocks.neighbours(key, state);
                    assert_eq!(linked, Some(prev), "{block:?} is not linked to the block before it");
                    let is_mergeable = matches!(state, BlockState::Free | BlockState::Unmapped);
                    assert!(!is_mergeable || block.state != state, "{block:?} was not merged");
                }
                let is_listed = list.position(&segment.entry(key, block)).is_some();
                let is_cached = block.state == BlockState::Free && !segment.is_retired;
                assert_eq!(is_listed, is_cached, "{block:?} of {segment:?} in a free list");
                let served = (segment.is_small, segment.stream);
                let is_unmapped = block.state == BlockState::Unmapped;
                let in_set = self.pools[segment.pool].unmapped.contains(served, block.address, key);
                assert_eq!(in_set, is_unmapped, "{block:?} in the set of unmapped blocks");
                unmapped += usize::from(is_unmapped);
                let bytes = block.bytes as u64;
                match block.state {
                    BlockState::Free => add(&mut split, inactive_split(segment, block)),
                    BlockState::Allocated => {
                        add(&mut allocated, (1, bytes));
                        add(&mut active, (1, bytes));
                    }
                    BlockState::PendingEvents(_) => add(&mut active, (1, bytes)),
                    BlockState::Releasing | BlockState::Unmapped => {}
                }
                if is_cached {
                    listed += 1;
                    cached += bytes;
                }
                requested += block.requested as u64;
                blocks += 1;
                end += bytes;
                prev = Some(key);
            }
            assert_eq!(
                end,
                segment.address.0 + segment.bytes as u64,
                "the sizes of the blocks of {segment:?}"
            );
        }
        assert_eq!(blocks, self.blocks.iter().count(), "blocks in no segment");
        assert_eq!(listed, self.pools.free_blocks().count(), "entries of free lists without a free block");
        let in_sets: usize = self.pools.iter().map(|(_, pool)| pool.unmapped.len()).sum();
        assert_eq!(unmapped, in_sets, "entries of sets without an unmapped block");
        assert_eq!(cached, self.cached_bytes, "the bytes in free lists");
        for (key, pool) in self.pools.iter() {
            assert_eq!(pool.segments, segments.remove(&key).unwrap_or(0), "the segments of {:?}", pool.id);
        }
        assert!(segments.is_empty(), "segments in no pool");
        let stats = &self.stats;
        assert_eq!(allocated, (stats.allocation.all.current, stats.allocated_bytes.all.current));
        assert_eq!(active, (stats.active.all.current, stats.active_bytes.all.current));
        assert_eq!(requested, stats.requested_bytes.all.current);
        assert_eq!(split, (stats.inactive_split.all.current, stats.inactive_split_bytes.all.current));
        blocks
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use interlock_driver::Address;

    use super::super::Request;
    use super::*;

    /// Returns a heap with an allocated and a free block.
    fn heap() -> Heap {
        let mut heap = Heap::default();
        let request = Request { stream: 0, requested: 500, bytes: 512, pool: heap.default_pool };
        heap.add_segment(&request, Address(512), 2 << 20);
        heap.allocate(&request).unwrap();
        heap
    }

    #[test]
    fn check_finds_each_wrong_sum() {
        let sums: [fn(&mut Heap) -> &mut u64; 5] = [
            |heap| &mut heap.cached_bytes,
            |heap| &mut heap.stats.allocated_bytes.all.current,
            |heap| &mut heap.stats.active.all.current,
            |heap| &mut heap.stats.requested_bytes.all.current,
            |heap| &mut heap.stats.inactive_split_bytes.all.current,
        ];
        for (number, sum) in sums.into_iter().enumerate() {
            let mut heap = heap();
            assert_eq!(heap.check(), 2);
            *sum(&mut heap) += 1;
            assert!(catch_unwind(AssertUnwindSafe(|| heap.check_if_due())).is_err(), "{number}");
        }
    }
}
