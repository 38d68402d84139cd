//! How large blocks are, and where they come from.

use super::*;

#[test]
fn what_is_too_large_is_neither_rounded_nor_kept() {
    let home = Home::with(PinnedOptions { max_cached_size: 1000, ..PinnedOptions::default() });
    let (stream, memory) = (home.stream(0), home.memory(1001));
    assert_eq!(home.taken(), 1001);
    drop(memory);
    assert_eq!(home.taken(), 0);
    let (latch, memory) = (home.block(&stream), home.memory(2000));
    memory.prepare_use(&stream).unwrap();
    drop((memory, home.memory(1000)));
    // What is rounded up beyond is not kept either.
    assert_eq!(home.taken(), 2000);
    drop(latch);
    stream.synchronize().unwrap();
    let small = home.memory(8);
    assert_eq!((home.taken(), home.counted().allocations.current), (8, 1));
    drop(small);
    assert_eq!(home.taken(), 8);
}

#[test]
fn a_block_that_was_not_rounded_serves_what_fits() {
    let home = Home::with(PinnedOptions { max_round_threshold: 1024, ..PinnedOptions::default() });
    let memory = home.memory(5000);
    let pointer = memory.pointer();
    drop(memory);
    let larger = home.memory(6000);
    let smaller = home.memory(4097);
    assert!(larger.pointer() != pointer && smaller.pointer() == pointer);
    drop(smaller);
    assert_ne!(home.memory(2000).pointer(), pointer);
}

#[test]
fn blocks_come_from_the_segment_as_long_as_it_has_room() {
    let home = Home::with(PinnedOptions { reserve_segment_size: 16384, ..PinnedOptions::default() });
    let blocks: Vec<_> = [100, 5000, 100].map(|bytes| home.memory(bytes)).into();
    let starts: Vec<_> = blocks
        .iter()
        .map(|block| block.pointer().as_ptr() as usize - blocks[0].pointer().as_ptr() as usize)
        .collect();
    assert_eq!((starts, home.taken()), (vec![0, 4096, 12288], 16384));
    let second = blocks[1].pointer();
    let outside = home.memory(100);
    assert_eq!(home.taken(), 16384 + 128);
    let counted = home.counted();
    assert_eq!((counted.num_host_alloc(), counted.host_alloc_time.count), (4, 2));
    drop((blocks, outside));
    home.empty();
    assert_eq!((home.taken(), home.counted().allocations.current), (16384, 3));
    assert_eq!((home.memory(8192).pointer(), home.taken()), (second, 16384));
}

#[test]
fn memory_of_nothing_takes_nothing() {
    let home = Home::new();
    let memory = home.memory(0);
    memory.prepare_use(&home.stream(0)).unwrap();
    assert_eq!((memory.bytes(), home.taken(), home.counted()), (0, 0, PinnedStats::default()));
    assert!(!home.is_held(memory.pointer()));
}

#[test]
fn an_address_is_held_within_a_block_in_use() {
    let home = Home::new();
    let memory = home.memory(64);
    let start = memory.pointer().as_ptr() as u64;
    let held = |offset: i64| home.home.pinned().lock().pool.is_allocated(start.wrapping_add_signed(offset));
    assert_eq!([-1, 0, 63, 64].map(held), [false, true, true, false]);
    drop(memory);
    assert!(!held(0));
}
