//! Checks of copies and fills.

use std::sync::Arc;

use crate::{Address, Copy, Fill, HostFn, Owners, WaitTarget};

use super::rig::{Latch, Make, Rig};

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index * 7 + 1) as u8).collect()
}

pub fn copy_to_a_device_and_back_preserves_bytes(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    for bytes in [1, 511, 4096, 100_000] {
        let (from, memory) = (rig.pinned(&pattern(bytes)), rig.memory(0, bytes));
        rig.copy(stream, &memory, &from);
        assert_eq!(rig.read(stream, &memory), pattern(bytes));
    }
}

pub fn copy_through_another_device_preserves_bytes(make: Make) {
    let rig = Rig::new(make);
    let last = (rig.driver.device_count() - 1) as u8;
    let stream = rig.stream(0);
    let (from, first, second) = (rig.pinned(&pattern(1000)), rig.memory(0, 1000), rig.memory(last, 1000));
    rig.copy(stream, &first, &from);
    rig.copy(stream, &second, &first);
    rig.finish(stream);
    assert_eq!(rig.read(rig.stream(last), &second), pattern(1000));
}

pub fn fill_sets_exactly_its_bytes(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let memory = rig.memory(0, 100);
    rig.copy(stream, &memory, &rig.pinned(&pattern(100)));
    let inner = Fill {
        address: Address(memory.address.0 + 10),
        bytes: 80,
        value: 200,
        owners: Owners::until_completed(memory.clone()),
    };
    // SAFETY: `owners` own the memory around these bytes.
    unsafe { rig.driver.fill(stream, inner) }.unwrap();
    let mut expected = pattern(100);
    expected[10..90].fill(200);
    assert_eq!(rig.read(stream, &memory), expected);
}

pub fn copies_of_one_stream_run_in_order(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let chain: Vec<_> = (0..50).map(|_| rig.memory(0, 64)).collect();
    rig.copy(stream, &chain[0], &rig.pinned(&pattern(64)));
    for pair in chain.windows(2) {
        rig.copy(stream, &pair[1], &pair[0]);
        rig.fill(stream, &pair[0], 0);
    }
    assert_eq!(rig.read(stream, &chain[49]), pattern(64));
}

pub fn copy_keeps_its_resources_alive_until_it_is_done(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let (to, from) = (rig.memory(0, 16), rig.pinned(&pattern(16)));
    let weak = Arc::downgrade(&from);
    let latch = rig.block(stream);
    rig.copy(stream, &to, &from);
    drop(from);
    assert!(weak.upgrade().is_some());
    latch.open();
    assert_eq!(rig.read(stream, &to), pattern(16));
    assert!(weak.upgrade().is_none());
}

pub fn work_owns_memory_that_is_freed_in_order_only_until_it_is_queued(make: Make) {
    let rig = Rig::new(make);
    let (stream, latch) = (rig.stream(0), Latch::default());
    let (to, from, owner) = (rig.memory(0, 16), rig.memory(0, 16), Arc::new(()));
    rig.driver.launch_host_fn(stream, latch.work()).unwrap();
    let owners = || Owners::in_graphs(owner.clone(), None);
    rig.fill_with(stream, &to, 1, owners());
    let copy = Copy { to: to.endpoint(), from: from.endpoint(), bytes: 16, owners: owners() };
    // SAFETY: both endpoints are freed after the stream has completed the copy.
    unsafe { rig.driver.copy(stream, copy) }.unwrap();
    let function = HostFn::new("work", || Ok(())).with_owners(owners());
    rig.driver.launch_host_fn(stream, function).unwrap();
    assert_eq!((Arc::strong_count(&owner), rig.driver.check(WaitTarget::Stream(stream))), (1, Ok(false)));
    latch.open();
    rig.finish(stream);
}

pub fn copy_accepts_zero_bytes(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let memory = rig.memory(0, 8);
    let endpoint = memory.endpoint();
    let owners = Owners::until_completed(memory.clone());
    let copy = Copy { to: endpoint, from: endpoint, bytes: 0, owners };
    // SAFETY: `owners` own both endpoints.
    unsafe { rig.driver.copy(stream, copy) }.unwrap();
    rig.fill(stream, &memory, 3);
    rig.copy(stream, &memory, &memory);
    assert_eq!(rig.read(stream, &memory), [3; 8]);
}
