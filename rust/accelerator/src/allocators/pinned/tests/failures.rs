//! Tests of the cache of pinned memory after errors.

use super::*;
use crate::Error;

#[test]
fn pinned_blocks_used_by_a_lost_device_are_never_reused() {
    let rig = Rig::new();
    let (lost, other) = (rig.stream(0), rig.stream(1));
    let latch = rig.block(&lost);
    let [before, after] = [rig.memory(64), rig.memory(64)];
    for memory in [&before, &after] {
        memory.prepare_use(&lost).unwrap();
    }
    drop(before);
    rig.faults.lose_device(0, "unplugged").unwrap();
    assert!(matches!(after.prepare_use(&lost), Err(Error::DeviceLost { .. })));
    after.prepare_use(&other).unwrap();
    drop((after, latch));
    other.synchronize().unwrap();
    rig.empty();
    assert_eq!((rig.reserved(), rig.counted().active_requests.current), (128, 2));
}

#[test]
fn pinned_blocks_are_allocated_one_by_one_if_the_segment_fails() {
    let rig = Rig::with(PinnedOptions { reserve_segment_size: 16384, ..PinnedOptions::default() });
    rig.faults.fail_pinned_allocation(1).unwrap();
    let blocks = [rig.memory(100), rig.memory(100)];
    assert_eq!(rig.reserved(), 256);
    drop(blocks);
    rig.empty();
    assert_eq!(rig.reserved(), 0);
}

#[test]
fn pinned_cache_is_released_before_a_request_fails() {
    let rig = Rig::new();
    drop(rig.memory(64));
    rig.faults.fail_pinned_allocation(1).unwrap();
    let memory = rig.memory(128);
    assert_eq!((rig.reserved(), rig.counted().num_host_free()), (128, 1));
    drop((memory, rig.memory(16)));
    match PinnedMemory::of(rig.accelerator, usize::MAX - 1) {
        Err(Error::OutOfMemory(oom)) => {
            let cache = oom.cache.unwrap();
            assert_eq!((oom.requested, cache.rounded), (usize::MAX - 1, usize::MAX - 1));
            assert_eq!((cache.allocated, cache.reserved, cache.largest_free), (0, 0, 0));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(rig.counted().active_requests.current, 0);
}

#[test]
fn pinned_cache_is_consistent_after_a_failure_of_any_allocation() {
    for number in 1..=6 {
        let rig = Rig::new();
        rig.faults.fail_pinned_allocation(number).unwrap();
        let stream = rig.stream(0);
        for bytes in [64, 128, 64, 256, 128, 64] {
            let memory = rig.memory(bytes);
            memory.prepare_use(&stream).unwrap();
            let other = rig.memory(bytes);
            drop(memory);
            stream.synchronize().unwrap();
            drop(other);
            assert_eq!(rig.reserved(), rig.counted().allocated_bytes.current);
        }
        rig.empty();
        assert_eq!((rig.reserved(), rig.counted().active_bytes.current), (0, 0));
    }
}
