//! Machines with many devices: copies between all of them, and contexts of only the used ones.

use crate::fake_library;
use std::thread;

use crate::fake_library::{calls, contexts};
use crate::rig::Rig;
use interlock_driver::WaitTarget;

const DEVICES: u8 = 8;

fn rig() -> Rig {
    fake_library::set(&[("FAKE_CUDA_DEVICES", &DEVICES.to_string())]);
    Rig::of(fake_library::started())
}

fn pairs(devices: u8) -> impl Iterator<Item = (u8, u8)> {
    (0..devices).flat_map(move |from| (0..devices).map(move |to| (from, to)))
}

fn copy_between_all(rig: &Rig) {
    let streams: Vec<_> = (0..DEVICES).map(|index| rig.stream(index)).collect();
    for (from, to) in pairs(DEVICES) {
        for own in [from, to] {
            let (stream, value) = (streams[usize::from(own)], 1 + from * DEVICES + to);
            let [source, target] = [from, to].map(|index| rig.memory(index, 100));
            rig.copy(stream, &source, &rig.pinned(&[value; 100]));
            rig.copy(stream, &target, &source);
            assert_eq!(rig.read(stream, &target), [value; 100], "from {from} to {to} on {own}");
        }
    }
}

#[test]
fn copy_works_between_all_devices_on_streams_of_either() {
    copy_between_all(&rig());
    // Each device enables access to each other device once.
    assert_eq!(calls("cuCtxEnablePeerAccess"), u64::from(DEVICES) * u64::from(DEVICES - 1));
}

#[test]
fn copy_works_between_devices_beyond_the_peer_limit() {
    fake_library::set(&[("FAKE_CUDA_PEERS", "3")]);
    copy_between_all(&rig());
}

#[test]
fn streams_wait_for_events_of_every_device() {
    let rig = rig();
    let streams: Vec<_> = (0..DEVICES).map(|index| rig.stream(index)).collect();
    let latch = rig.block(streams[0]);
    for pair in streams.windows(2) {
        rig.join(pair[1], pair[0]);
    }
    let last = streams[usize::from(DEVICES) - 1];
    let event = rig.record(last);
    assert_eq!(rig.driver.has_completed(event), Ok(false));
    latch.open();
    assert_eq!(rig.wait(WaitTarget::Event(event)), Ok(true));
    assert!(streams.iter().all(|stream| rig.is_done(*stream)));
    assert_eq!(contexts(DEVICES), Vec::from_iter(0..DEVICES));
}

#[test]
fn unused_devices_have_no_context() {
    let rig = rig();
    let used = [6, 2];
    let [first, second] = used.map(|index| rig.stream(index));
    let [source, target] = used.map(|index| rig.memory(index, 100));
    rig.fill(first, &source, 3);
    rig.join(second, first);
    rig.copy(second, &target, &source);
    rig.finish(second);
    for index in 0..DEVICES {
        rig.driver.properties(index).unwrap();
        assert_eq!(rig.wait(WaitTarget::Device(index)), Ok(true));
    }
    drop((source, target));
    assert_eq!(contexts(DEVICES), [2, 6]);
}

#[test]
fn first_peer_copies_of_concurrent_threads_succeed() {
    let rig = rig();
    thread::scope(|scope| {
        for thread in 0..8 {
            let rig = &rig;
            scope.spawn(move || {
                for (from, to) in pairs(DEVICES).skip(thread) {
                    let stream = rig.stream(to);
                    let [source, target] = [from, to].map(|index| rig.memory(index, 8));
                    let first = rig.stream(from);
                    rig.fill(first, &source, 0);
                    rig.join(stream, first);
                    rig.copy(stream, &target, &source);
                    rig.finish(stream);
                }
            });
        }
    });
    assert_eq!(contexts(DEVICES).len(), usize::from(DEVICES));
}
