//! Checks of events.

use crate::{EventOptions, WaitTarget};

use super::features::Features;
use super::rig::{Make, Rig, failure};

const TIMING: EventOptions = EventOptions { timing: true, blocking: false, interprocess: false };

pub fn event_that_was_never_recorded_has_completed(make: Make) {
    let rig = Rig::new(make);
    let event = rig.driver.create_event(0, EventOptions::default()).unwrap();
    assert_eq!(rig.driver.check(WaitTarget::Event(event)), Ok(true));
    assert_eq!(rig.wait(WaitTarget::Event(event)), Ok(true));
    let stream = rig.stream(0);
    rig.driver.wait_event(stream, event).unwrap();
    rig.finish(stream);
}

pub fn event_check_returns_true_after_the_work_before_it(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let first = rig.record(stream);
    let latch = rig.block(stream);
    let second = rig.record(stream);
    assert_eq!(rig.wait(WaitTarget::Event(first)), Ok(true));
    assert_eq!(rig.driver.check(WaitTarget::Event(second)), Ok(false));
    latch.open();
    assert_eq!(rig.wait(WaitTarget::Event(second)), Ok(true));
    assert_eq!(rig.driver.check(WaitTarget::Event(second)), Ok(true));
}

pub fn event_has_completed_after_the_work_before_it(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let event = rig.driver.create_event(0, EventOptions::default()).unwrap();
    assert_eq!(rig.driver.has_completed(event), Ok(true));
    let latch = rig.block(stream);
    rig.driver.record_event(event, stream).unwrap();
    assert_eq!(rig.driver.has_completed(event), Ok(false));
    latch.open();
    rig.finish(stream);
    assert_eq!(rig.driver.has_completed(event), Ok(true));
}

pub fn event_has_completed_leaves_errors_pending(make: Make) {
    let rig = Rig::new(make);
    let (stream, other) = (rig.stream(0), rig.stream(0));
    rig.fail(stream, "first", "it broke");
    let event = rig.record(stream);
    rig.join(other, stream);
    rig.finish(other);
    assert_eq!([(); 2].map(|()| rig.driver.has_completed(event)), [Ok(true), Ok(true)]);
    assert_eq!(failure(rig.driver.check(WaitTarget::Event(event))), ("first".into(), "it broke".into()));
    assert_eq!(rig.driver.has_completed(event), Ok(true));
}

pub fn event_blocks_a_stream_that_waits_for_it(make: Make) {
    let rig = Rig::new(make);
    let (blocked, waiting, free) = (rig.stream(0), rig.stream(0), rig.stream(0));
    let memory = rig.memory(0, 4);
    rig.fill(waiting, &memory, 1);
    rig.finish(waiting);
    let latch = rig.block(blocked);
    rig.join(waiting, blocked);
    rig.fill(waiting, &memory, 2);
    assert_eq!(rig.read(free, &memory), [1; 4]);
    assert!(!rig.is_done(waiting));
    latch.open();
    assert_eq!(rig.read(waiting, &memory), [2; 4]);
}

pub fn event_record_replaces_the_previous_record(make: Make) {
    let rig = Rig::new(make);
    let (first, second, waiting) = (rig.stream(0), rig.stream(0), rig.stream(0));
    let latch = rig.block(first);
    let event = rig.record(first);
    rig.driver.record_event(event, second).unwrap();
    assert_eq!(rig.wait(WaitTarget::Event(event)), Ok(true));
    rig.driver.wait_event(waiting, event).unwrap();
    rig.finish(waiting);
    assert!(!rig.is_done(first));
    latch.open();
    rig.finish(first);
}

pub fn event_record_does_not_affect_earlier_waits(make: Make) {
    let rig = Rig::new(make);
    let (first, second, waiting) = (rig.stream(0), rig.stream(0), rig.stream(0));
    let latch = rig.block(first);
    let event = rig.record(first);
    rig.driver.wait_event(waiting, event).unwrap();
    rig.driver.record_event(event, second).unwrap();
    assert_eq!(rig.wait(WaitTarget::Event(event)), Ok(true));
    assert!(!rig.is_done(waiting));
    latch.open();
    rig.finish(waiting);
}

pub fn destroyed_event_still_blocks_waiting_streams(make: Make) {
    let rig = Rig::new(make);
    let (blocked, waiting) = (rig.stream(0), rig.stream(0));
    let latch = rig.block(blocked);
    let event = rig.record(blocked);
    rig.driver.wait_event(waiting, event).unwrap();
    rig.driver.destroy_event(event);
    assert!(!rig.is_done(waiting));
    latch.open();
    rig.finish(waiting);
    rig.finish(blocked);
}

pub fn event_blocks_streams_of_other_devices(make: Make) {
    let rig = Rig::new(make);
    if rig.driver.device_count() < 2 {
        return;
    }
    // Before a stream is blocked, because a driver may wait for all work when it allocates memory.
    let (blocked, waiting, memory) = (rig.stream(0), rig.stream(1), rig.memory(1, 4));
    let latch = rig.block(blocked);
    rig.join(waiting, blocked);
    rig.fill(waiting, &memory, 1);
    assert_eq!(rig.driver.check(WaitTarget::Device(1)), Ok(false));
    latch.open();
    assert_eq!(rig.wait(WaitTarget::Device(1)), Ok(true));
    assert!(rig.is_done(waiting) && rig.is_done(blocked));
}

pub fn elapsed_requires_completed_events(make: Make) {
    if !Features::of(make).timing {
        return;
    }
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let [start, end] = [TIMING; 2].map(|options| rig.driver.create_event(0, options).unwrap());
    assert_eq!(failure(rig.driver.elapsed(start, end)).0, "Event.elapsed_time");
    rig.driver.record_event(start, stream).unwrap();
    let latch = rig.block(stream);
    rig.driver.record_event(end, stream).unwrap();
    assert_eq!(failure(rig.driver.elapsed(start, end)).0, "Event.elapsed_time");
    latch.open();
    rig.finish(stream);
    let milliseconds = rig.driver.elapsed(start, end).unwrap();
    assert!(milliseconds > 0.0 && milliseconds < 60_000.0, "{milliseconds}");
    assert!((rig.driver.elapsed(end, start).unwrap() + milliseconds).abs() < 1e-3);
    assert_eq!(rig.driver.elapsed(start, start), Ok(0.0));
}

pub fn elapsed_requires_timing(make: Make) {
    if !Features::of(make).timing {
        return;
    }
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let timed = rig.driver.create_event(0, TIMING).unwrap();
    rig.driver.record_event(timed, stream).unwrap();
    let untimed = rig.record(stream);
    rig.finish(stream);
    assert_eq!(failure(rig.driver.elapsed(timed, untimed)).0, "Event.elapsed_time");
    assert_eq!(failure(rig.driver.elapsed(untimed, timed)).0, "Event.elapsed_time");
}
