//! Tests of the sizes of pinned blocks, and of the segment.

use super::*;

#[test]
fn pinned_block_above_the_limit_is_neither_rounded_nor_cached() {
    let rig = Rig::with(PinnedOptions { max_cached_size: 1000, ..PinnedOptions::default() });
    let (stream, memory) = (rig.stream(0), rig.memory(1001));
    assert_eq!(rig.reserved(), 1001);
    drop(memory);
    assert_eq!(rig.reserved(), 0);
    let (latch, memory) = (rig.block(&stream), rig.memory(2000));
    memory.prepare_use(&stream).unwrap();
    drop((memory, rig.memory(1000)));
    // The request of 1000 bytes is rounded up beyond the limit, and not cached either.
    assert_eq!(rig.reserved(), 2000);
    drop(latch);
    stream.synchronize().unwrap();
    let small = rig.memory(8);
    assert_eq!((rig.reserved(), rig.counted().allocations.current), (8, 1));
    drop(small);
    assert_eq!(rig.reserved(), 8);
}

#[test]
fn pinned_block_without_rounding_serves_similar_sizes() {
    let rig = Rig::with(PinnedOptions { max_round_threshold: 1024, ..PinnedOptions::default() });
    let memory = rig.memory(5000);
    let pointer = memory.pointer();
    drop(memory);
    let larger = rig.memory(6000);
    let smaller = rig.memory(4097);
    assert!(larger.pointer() != pointer && smaller.pointer() == pointer);
    drop(smaller);
    assert_ne!(rig.memory(2000).pointer(), pointer);
}

#[test]
fn pinned_blocks_are_taken_from_the_segment_while_it_has_room() {
    let rig = Rig::with(PinnedOptions { reserve_segment_size: 16384, ..PinnedOptions::default() });
    let blocks: Vec<_> = [100, 5000, 100].map(|bytes| rig.memory(bytes)).into();
    let starts: Vec<_> = blocks
        .iter()
        .map(|block| block.pointer().as_ptr() as usize - blocks[0].pointer().as_ptr() as usize)
        .collect();
    assert_eq!((starts, rig.reserved()), (vec![0, 4096, 12288], 16384));
    let second = blocks[1].pointer();
    let outside = rig.memory(100);
    assert_eq!(rig.reserved(), 16384 + 128);
    let counted = rig.counted();
    assert_eq!((counted.num_host_alloc(), counted.host_alloc_time.count), (4, 2));
    drop((blocks, outside));
    rig.empty();
    assert_eq!((rig.reserved(), rig.counted().allocations.current), (16384, 3));
    assert_eq!((rig.memory(8192).pointer(), rig.reserved()), (second, 16384));
}

#[test]
fn pinned_memory_of_zero_bytes_allocates_nothing() {
    let rig = Rig::new();
    let memory = rig.memory(0);
    memory.prepare_use(&rig.stream(0)).unwrap();
    assert_eq!((memory.bytes(), rig.reserved(), rig.counted()), (0, 0, PinnedStats::default()));
    assert!(!rig.is_allocated(memory.pointer()));
}

#[test]
fn is_allocated_is_true_within_a_block_in_use() {
    let rig = Rig::new();
    let memory = rig.memory(64);
    let start = memory.pointer().as_ptr() as u64;
    let is_allocated =
        |offset: i64| rig.accelerator.pinned().lock().pool.is_allocated(start.wrapping_add_signed(offset));
    assert_eq!([-1, 0, 63, 64].map(is_allocated), [false, true, true, false]);
    drop(memory);
    assert!(!is_allocated(0));
}
