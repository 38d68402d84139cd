//! Checks of streams.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::{WaitPolicy, WaitTarget};

use super::features::is_unsupported;
use super::rig::{Counter, Latch, Make, Rig};

pub fn stream_runs_work_in_the_order_of_its_launches(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let seen = Arc::new(Mutex::new(Vec::new()));
    for number in 0..100 {
        let seen = seen.clone();
        rig.launch(stream, move || seen.lock().unwrap().push(number));
    }
    rig.finish(stream);
    assert_eq!(*seen.lock().unwrap(), Vec::from_iter(0..100));
}

pub fn launch_does_not_block_and_streams_run_independently(make: Make) {
    let rig = Rig::new(make);
    let (blocked, other) = (rig.stream(0), rig.stream(0));
    let memory = rig.memory(0, 8);
    let latch = rig.block(blocked);
    rig.fill(other, &memory, 7);
    assert_eq!(rig.read(other, &memory), [7; 8]);
    assert!(!rig.is_done(blocked) && rig.is_done(other));
    latch.open();
    rig.finish(blocked);
    assert!(rig.is_done(blocked));
}

pub fn default_stream_does_not_synchronize_with_others(make: Make) {
    let rig = Rig::new(make);
    let (default, other) = (rig.driver.default_stream(0).unwrap(), rig.stream(0));
    assert_eq!(default, rig.driver.default_stream(0).unwrap());
    assert_ne!(default, other);
    let memory = rig.memory(0, 4);
    for (blocked, free) in [(default, other), (other, default)] {
        let latch = rig.block(blocked);
        rig.fill(free, &memory, 1);
        rig.finish(free);
        assert!(!rig.is_done(blocked));
        latch.open();
        rig.finish(blocked);
    }
}

pub fn wait_returns_false_on_timeout(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let latch = rig.block(stream);
    let event = rig.record(stream);
    for target in [WaitTarget::Stream(stream), WaitTarget::Event(event), WaitTarget::Device(0)] {
        let point = rig.driver.sync_point(target).unwrap();
        for blocking in [true, false] {
            for timeout in [Duration::ZERO, Duration::from_millis(1)] {
                assert_eq!(rig.driver.wait(&point, WaitPolicy { timeout, blocking }), Ok(false));
            }
        }
    }
    let point = rig.driver.sync_point(WaitTarget::Stream(stream)).unwrap();
    latch.open();
    for blocking in [true, false] {
        assert_eq!(rig.driver.wait(&point, WaitPolicy { timeout: Duration::MAX, blocking }), Ok(true));
    }
}

pub fn device_wait_covers_all_streams(make: Make) {
    let rig = Rig::new(make);
    let counter = Counter::default();
    for stream in (0..4).map(|_| rig.stream(0)) {
        let counter = counter.clone();
        rig.launch(stream, move || counter.increment());
    }
    assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
    assert_eq!(counter.get(), 4);
    assert_eq!(rig.driver.check(WaitTarget::Device(0)), Ok(true));
}

pub fn wait_covers_only_work_that_was_queued_before(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let (before, after) = (rig.block(stream), Latch::default());
    let event = rig.record(stream);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| rig.wait(WaitTarget::Event(event)));
        let latch = after.clone();
        rig.launch(stream, move || latch.wait());
        before.open();
        assert_eq!(waiting.join().unwrap(), Ok(true));
    });
    assert!(!rig.is_done(stream));
    after.open();
    rig.finish(stream);
}

pub fn destroyed_stream_still_runs_queued_work(make: Make) {
    let rig = Rig::new(make);
    let (released, other) = (rig.stream(0), rig.stream(0));
    let (counter, latch) = (Counter::default(), rig.block(released));
    for _ in 0..3 {
        let counter = counter.clone();
        rig.launch(released, move || counter.increment());
    }
    rig.join(other, released);
    rig.driver.destroy_stream(released);
    latch.open();
    rig.finish(other);
    assert_eq!(counter.get(), 3);
}

pub fn external_stream_is_wrapped_by_its_raw_handle(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    // SAFETY: the stream lives as long as the driver.
    let adopted = unsafe { rig.driver.wrap_external_stream(0, stream.raw) };
    if is_unsupported(&adopted) {
        return;
    }
    let adopted = adopted.unwrap();
    assert_eq!(adopted, stream);
    let latch = rig.block(adopted);
    assert!(!rig.is_done(stream));
    latch.open();
    rig.finish(stream);
}

pub fn streams_of_every_priority_run_work(make: Make) {
    let rig = Rig::new(make);
    let range = rig.driver.priority_range(0).unwrap();
    assert!(range.greatest <= range.least && range.least == 0);
    let memory = rig.memory(0, 4);
    for priority in range.greatest..=range.least {
        let stream = rig.driver.create_stream(0, priority).unwrap();
        let value = priority.unsigned_abs() as u8;
        rig.fill(stream, &memory, value);
        assert_eq!(rig.read(stream, &memory), [value; 4]);
        rig.driver.destroy_stream(stream);
    }
}

pub fn host_fn_may_queue_work(make: Make) {
    let rig = Arc::new(Rig::new(make));
    let (stream, other, queued) = (rig.stream(0), rig.stream(0), Latch::default());
    let counter = Counter::default();
    let (inner, raised, latch) = (Arc::downgrade(&rig), counter.clone(), queued.clone());
    rig.launch(stream, move || {
        let (rig, raised) = (inner.upgrade().unwrap(), raised.clone());
        rig.launch(other, move || raised.increment());
        latch.open();
    });
    queued.wait();
    rig.finish(stream);
    rig.finish(other);
    assert_eq!(counter.get(), 1);
}
