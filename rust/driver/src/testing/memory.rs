//! Checks of device memory and pinned memory.

use crate::Error;

use super::rig::{Make, Rig};

pub fn allocate_returns_aligned_disjoint_memory(make: Make) {
    let rig = Rig::new(make);
    let blocks: Vec<_> = [1, 511, 512, 513, 70_000].map(|bytes| rig.memory(0, bytes)).into();
    let mut ends: Vec<_> = blocks.iter().map(|b| (b.address.0, b.address.0 + b.bytes as u64)).collect();
    assert!(ends.iter().all(|(start, _)| start % 512 == 0 && *start != 0));
    ends.sort_unstable();
    assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].0));
}

pub fn allocate_pinned_returns_aligned_usable_memory(make: Make) {
    let rig = Rig::new(make);
    let memory = rig.pinned(&[5; 1000]);
    assert_eq!((memory.address.0 % 512, memory.content()), (0, vec![5; 1000]));
}

pub fn memory_info_counts_allocated_bytes(make: Make) {
    let rig = Rig::new(make);
    let bytes = 64 << 20;
    let before = rig.driver.memory_info(0).unwrap();
    let memory = rig.memory(0, bytes);
    let during = rig.driver.memory_info(0).unwrap();
    assert!(before.free - during.free >= bytes as u64);
    drop(memory);
    let after = rig.driver.memory_info(0).unwrap();
    assert_eq!(after.free, before.free);
    assert_eq!([before.total, during.total], [after.total; 2]);
    assert_eq!(rig.driver.properties(0).unwrap().total_memory, after.total);
}

pub fn allocate_reports_out_of_memory_with_device_and_size(make: Make) {
    let rig = Rig::new(make);
    for requested in [1 << 60, isize::MAX as usize, usize::MAX] {
        match rig.driver.allocate(0, requested) {
            Err(Error::OutOfMemory(oom)) => {
                assert_eq!((oom.device.index(), oom.requested), (Some(0), requested));
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(rig.driver.allocate_pinned(0, requested), Err(Error::OutOfMemory(_))));
    }
    assert_eq!(rig.memory(0, 512).bytes, 512);
}
