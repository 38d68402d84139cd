//! What is left when something fails.

use super::*;
use crate::Error;

#[test]
fn blocks_of_a_lost_device_are_given_to_nobody() {
    let home = Home::new();
    let (lost, other) = (home.stream(0), home.stream(1));
    let latch = home.block(&lost);
    let [before, after] = [home.memory(64), home.memory(64)];
    for memory in [&before, &after] {
        memory.prepare_use(&lost).unwrap();
    }
    drop(before);
    home.faults.lose_device(0, "unplugged").unwrap();
    assert!(matches!(after.prepare_use(&lost), Err(Error::DeviceLost { .. })));
    after.prepare_use(&other).unwrap();
    drop((after, latch));
    other.synchronize().unwrap();
    home.empty();
    assert_eq!((home.taken(), home.counted().active_requests.current), (128, 2));
}

#[test]
fn without_room_for_the_segment_each_block_is_taken_by_itself() {
    let home = Home::with(PinnedOptions { reserve_segment_size: 16384, ..PinnedOptions::default() });
    home.faults.fail_pinned_allocation(Some(1)).unwrap();
    let blocks = [home.memory(100), home.memory(100)];
    assert_eq!(home.taken(), 256);
    drop(blocks);
    home.empty();
    assert_eq!(home.taken(), 0);
}

#[test]
fn what_is_kept_makes_room_before_a_request_fails() {
    let home = Home::new();
    drop(home.memory(64));
    home.faults.fail_pinned_allocation(Some(1)).unwrap();
    let memory = home.memory(128);
    assert_eq!((home.taken(), home.counted().num_host_free()), (128, 1));
    drop((memory, home.memory(16)));
    match PinnedMemory::of(home.home, usize::MAX - 1) {
        Err(Error::OutOfMemory(told)) => {
            let cache = told.cache.unwrap();
            assert_eq!((told.requested, cache.rounded), (usize::MAX - 1, usize::MAX - 1));
            assert_eq!((cache.allocated, cache.reserved, cache.largest_free), (0, 0, 0));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(home.counted().active_requests.current, 0);
}

#[test]
fn a_failure_at_any_allocation_leaves_the_cache_whole() {
    for number in 1..=6 {
        let home = Home::new();
        home.faults.fail_pinned_allocation(Some(number)).unwrap();
        let stream = home.stream(0);
        for bytes in [64, 128, 64, 256, 128, 64] {
            let memory = home.memory(bytes);
            memory.prepare_use(&stream).unwrap();
            let other = home.memory(bytes);
            drop(memory);
            stream.synchronize().unwrap();
            drop(other);
            assert_eq!(home.taken(), home.counted().allocated_bytes.current);
        }
        home.empty();
        assert_eq!((home.taken(), home.counted().active_bytes.current), (0, 0));
    }
}
