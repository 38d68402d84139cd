//! Many devices: copies between all of them, and none that is touched because another is.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../../../rust/accelerator/tests/rig/mod.rs"]
mod rig;
mod stand_in;

use std::thread;

use interlock_driver::WaitTarget;
use rig::Rig;
use stand_in::{calls, contexts};

const DEVICES: u8 = 8;

fn rig() -> Rig {
    stand_in::set(&[("FAKE_CUDA_DEVICES", &DEVICES.to_string())]);
    Rig { driver: stand_in::started() }
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
fn bytes_go_from_every_device_to_every_other_on_streams_of_either() {
    copy_between_all(&rig());
    // Each device lets each other reach its memory once.
    assert_eq!(calls("cuCtxEnablePeerAccess"), u64::from(DEVICES) * u64::from(DEVICES - 1));
}

#[test]
fn bytes_go_to_devices_beyond_those_that_one_can_reach() {
    stand_in::set(&[("FAKE_CUDA_PEERS", "3")]);
    copy_between_all(&rig());
}

#[test]
fn streams_and_events_of_every_device_wait_for_each_other() {
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
fn devices_that_nobody_uses_stay_without_a_context() {
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
fn threads_that_copy_between_the_same_devices_for_the_first_time_all_succeed() {
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
