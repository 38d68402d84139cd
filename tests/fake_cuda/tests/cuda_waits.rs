//! Waits for streams and events, which sleep until a worker thread returns from the driver.

use crate::fake_library;
use crate::rig;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::fake_library::{calls, hook};
use crate::rig::Rig;
use cudarc::driver::sys::CUresult;
use interlock_driver::{Address, Copy, CopyEndpoint, Owners, SyncPoint, WaitPolicy, WaitTarget};

fn rig() -> Rig {
    Rig::of(fake_library::started())
}

/// Returns sync points of a stream and an event, both after the queued work of the stream.
fn sync_points(rig: &Rig) -> (rig::Latch, [SyncPoint; 2]) {
    let stream = rig.stream(0);
    let latch = rig.block(stream);
    let event = rig.record(stream);
    let targets = [WaitTarget::Stream(stream), WaitTarget::Event(event)];
    (latch, targets.map(|target| rig.driver.sync_point(target).unwrap()))
}

/// Waits until a function has been called this number of times.
fn wait_for_calls(name: &str, count: u64) {
    while calls(name) < count {
        thread::yield_now();
    }
}

#[test]
fn wait_sleeps_until_the_driver_returns_instead_of_polling() {
    let rig = rig();
    let (latch, sync_points) = sync_points(&rig);
    thread::scope(|scope| {
        let waits = sync_points.each_ref().map(|point| scope.spawn(|| rig.reach(point)));
        wait_for_calls("cuEventSynchronize", 2);
        let before = calls("cuEventQuery");
        // Any time: the waits make no calls until the latch opens. A polling wait makes one in a millisecond.
        thread::sleep(Duration::from_millis(100));
        assert_eq!(calls("cuEventQuery"), before);
        latch.open();
        for wait in waits {
            assert_eq!(wait.join().unwrap(), Ok(true));
        }
    });
    // An event that has completed needs no wait.
    assert_eq!(sync_points.map(|point| rig.reach(&point)), [Ok(true), Ok(true)]);
    assert_eq!(calls("cuEventSynchronize"), 2);
}

#[test]
fn waits_for_one_point_share_a_wait_of_the_driver() {
    let rig = rig();
    let (latch, [point, _]) = sync_points(&rig);
    let slice = WaitPolicy { timeout: Duration::from_micros(200), blocking: true };
    for _ in 0..10 {
        assert_eq!(rig.driver.wait(&point, slice), Ok(false));
    }
    thread::scope(|scope| {
        let waits: Vec<_> = (0..4).map(|_| scope.spawn(|| rig.reach(&point))).collect();
        wait_for_calls("cuEventSynchronize", 1);
        latch.open();
        for wait in waits {
            assert_eq!(wait.join().unwrap(), Ok(true));
        }
    });
    assert_eq!(calls("cuEventSynchronize"), 1);
}

#[test]
fn wait_polls_if_the_driver_refuses_to_wait() {
    let rig = rig();
    let (latch, sync_points) = sync_points(&rig);
    let refused = Arc::new(AtomicU64::new(0));
    let count = refused.clone();
    hook("cuEventSynchronize", move || {
        count.fetch_add(1, Ordering::SeqCst);
        CUresult::CUDA_ERROR_OPERATING_SYSTEM as i32
    });
    thread::scope(|scope| {
        let waits = sync_points.each_ref().map(|point| scope.spawn(|| rig.reach(point)));
        wait_for_calls("cuEventSynchronize", 2);
        latch.open();
        for wait in waits {
            assert_eq!(wait.join().unwrap(), Ok(true));
        }
    });
    assert_eq!(refused.load(Ordering::SeqCst), 2);
}

#[test]
fn event_waits_reuse_the_streams_of_earlier_ones() {
    let rig = rig();
    let mut created = Vec::new();
    for _ in 0..3 {
        let (latch, [_, point]) = sync_points(&rig);
        latch.open();
        assert_eq!(rig.reach(&point), Ok(true));
        created.push(calls("cuStreamCreateWithPriority"));
    }
    // Each round creates its own stream; the first one also creates the stream of the wait.
    assert_eq!(created[2] - created[1], 1);
    assert_eq!(created[1] - created[0], 1);
}

#[test]
fn event_wait_is_independent_of_unfinished_copies_of_pageable_memory() {
    let rig = rig();
    let (stream, memory) = (rig.stream(0), rig.memory(0, 8));
    let held = rig.block(stream);
    let pageable: &'static [u8; 8] = Box::leak(Box::new([7; 8]));
    let copy = Copy {
        to: memory.endpoint(),
        from: CopyEndpoint::Host(Address(pageable.as_ptr().expose_provenance() as u64)),
        bytes: pageable.len(),
        owners: Owners::until_completed(memory.clone()),
    };
    // The driver has read the source when this returns.
    // SAFETY: `owners` own the destination, and the source is leaked.
    unsafe { rig.driver.copy(stream, copy) }.unwrap();
    let (latch, [_, event]) = sync_points(&rig);
    latch.open();
    let a_second = WaitPolicy { timeout: Duration::from_secs(1), blocking: true };
    let waited = rig.driver.wait(&event, a_second);
    held.open();
    assert_eq!(waited, Ok(true));
    assert_eq!(rig.read(stream, &memory), [7; 8]);
}
