//! How large blocks are, and where they come from.

use super::*;

#[test]
fn what_is_too_large_is_neither_rounded_nor_kept() {
    let rig = Rig::with(PinnedOptions { max_cached_size: 1000, ..PinnedOptions::default() });
    let (stream, memory) = (rig.stream(0), rig.memory(1001));
    assert_eq!(rig.taken(), 1001);
    drop(memory);
    assert_eq!(rig.taken(), 0);
    let (latch, memory) = (rig.block(&stream), rig.memory(2000));
    memory.prepare_use(&stream).unwrap();
    drop((memory, rig.memory(1000)));
    // What is rounded up beyond is not kept either.
    assert_eq!(rig.taken(), 2000);
    drop(latch);
    stream.synchronize().unwrap();
    let small = rig.memory(8);
    assert_eq!((rig.taken(), rig.counted().allocations.current), (8, 1));
    drop(small);
    assert_eq!(rig.taken(), 8);
}

#[test]
fn a_block_that_was_not_rounded_serves_what_fits() {
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
fn blocks_come_from_the_segment_as_long_as_it_has_room() {
    let rig = Rig::with(PinnedOptions { reserve_segment_size: 16384, ..PinnedOptions::default() });
    let blocks: Vec<_> = [100, 5000, 100].map(|bytes| rig.memory(bytes)).into();
    let starts: Vec<_> = blocks
        .iter()
        .map(|block| block.pointer().as_ptr() as usize - blocks[0].pointer().as_ptr() as usize)
        .collect();
    assert_eq!((starts, rig.taken()), (vec![0, 4096, 12288], 16384));
    let second = blocks[1].pointer();
    let outside = rig.memory(100);
    assert_eq!(rig.taken(), 16384 + 128);
    let counted = rig.counted();
    assert_eq!((counted.num_host_alloc(), counted.host_alloc_time.count), (4, 2));
    drop((blocks, outside));
    rig.empty();
    assert_eq!((rig.taken(), rig.counted().allocations.current), (16384, 3));
    assert_eq!((rig.memory(8192).pointer(), rig.taken()), (second, 16384));
}

#[test]
fn memory_of_nothing_takes_nothing() {
    let rig = Rig::new();
    let memory = rig.memory(0);
    memory.prepare_use(&rig.stream(0)).unwrap();
    assert_eq!((memory.bytes(), rig.taken(), rig.counted()), (0, 0, PinnedStats::default()));
    assert!(!rig.is_held(memory.pointer()));
}

#[test]
fn an_address_is_held_within_a_block_in_use() {
    let rig = Rig::new();
    let memory = rig.memory(64);
    let start = memory.pointer().as_ptr() as u64;
    let held =
        |offset: i64| rig.accelerator.pinned().lock().pool.is_allocated(start.wrapping_add_signed(offset));
    assert_eq!([-1, 0, 63, 64].map(held), [false, true, true, false]);
    drop(memory);
    assert!(!held(0));
}
