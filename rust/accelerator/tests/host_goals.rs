//! What the host driver's goals outlast: streams and events that go, captures that begin, streams that come.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod rig;

use std::time::Duration;

use interlock_accelerator::driver::{Awaited, CaptureMode, Goal, WaitPolicy};
use rig::host::two_devices;
use rig::{Rig, failure, is_refused};

fn goal(rig: &Rig, awaited: Awaited) -> Goal {
    rig.driver.goal(awaited).unwrap()
}

#[test]
fn a_goal_is_pairs_of_streams_and_places_there() {
    let (rig, _) = two_devices();
    let (stream, other) = (rig.stream(1), rig.stream(1));
    let unrecorded = rig.driver.create_event(1, Default::default()).unwrap();
    rig.launch(stream, || {});
    let event = rig.record(stream);
    rig.launch(stream, || {});
    assert_eq!(goal(&rig, Awaited::Event(unrecorded)).places, []);
    assert_eq!(goal(&rig, Awaited::Event(event)).places, [(stream.native, 2)]);
    assert_eq!(goal(&rig, Awaited::Stream(stream)).places, [(stream.native, 3)]);
    let default = rig.driver.default_stream(1).unwrap();
    let device = goal(&rig, Awaited::Device(1));
    assert_eq!(device.places, [(default.native, 0), (stream.native, 3), (other.native, 0)]);
    assert_eq!(rig.reach(&device), Ok(true));
}

#[test]
fn streams_that_come_later_are_not_waited_for() {
    let (rig, _) = two_devices();
    let before = rig.block(rig.stream(0));
    let device = goal(&rig, Awaited::Device(0));
    let later = rig.stream(0);
    let after = rig.block(later);
    before.open();
    assert_eq!(rig.reach(&device), Ok(true));
    assert!(!rig.is_done(later));
    after.open();
    rig.finish(later);
}

#[test]
fn streams_and_events_that_go_are_waited_for_to_their_end() {
    let (rig, faults) = two_devices();
    let stream = rig.stream(0);
    let latch = rig.block(stream);
    let event = rig.record(stream);
    let goals = [Awaited::Stream(stream), Awaited::Event(event), Awaited::Device(0)]
        .map(|awaited| goal(&rig, awaited));
    rig.driver.release_event(event);
    rig.driver.release_stream(stream);
    let at_once = WaitPolicy { timeout: Duration::ZERO, blocking: true };
    assert!(goals.iter().all(|goal| rig.driver.wait(goal, at_once) == Ok(false)));
    latch.open();
    assert!(goals.iter().all(|goal| rig.reach(goal) == Ok(true)));
    assert_eq!(faults.live_objects().unwrap().streams, 0);
    assert!(goals.iter().all(|goal| rig.reach(goal) == Ok(true)));
}

#[test]
fn what_a_stream_failed_at_that_is_gone_is_told_once_by_a_goal_that_covers_it() {
    for place in 0..3 {
        let (rig, _) = two_devices();
        let (stream, other) = (rig.stream(0), rig.stream(1));
        let before = goal(&rig, Awaited::Device(0));
        rig.fail(stream, "greet", "nobody there");
        let event = rig.record(stream);
        let awaited = [Awaited::Stream(stream), Awaited::Event(event), Awaited::Device(0)][place];
        let behind = goal(&rig, awaited);
        rig.join(other, stream);
        rig.driver.release_stream(stream);
        rig.finish(other);
        assert_eq!(rig.reach(&before), Ok(true));
        assert_eq!(failure(rig.reach(&behind)).0, "greet");
        assert_eq!(rig.reach(&behind), Ok(true));
        assert_eq!(rig.wait(Awaited::Device(0)), Ok(true));
    }
}

#[test]
fn a_capture_that_began_in_the_meantime_forbids_to_wait_for_its_stream_and_device() {
    let (rig, _) = two_devices();
    let stream = rig.stream(0);
    rig.launch(stream, || {});
    for (awaited, mode) in
        [(Awaited::Stream(stream), CaptureMode::Relaxed), (Awaited::Device(0), CaptureMode::Global)]
    {
        let goal = goal(&rig, awaited);
        rig.driver.begin_capture(stream, mode).unwrap();
        assert!(is_refused(&rig.reach(&goal)));
        assert!(is_refused(&rig.driver.end_capture(stream)));
        rig.driver.begin_capture(stream, mode).unwrap();
        assert!(is_refused(&rig.driver.goal(awaited)));
        assert!(is_refused(&rig.driver.end_capture(stream)));
        assert_eq!(rig.reach(&goal), Ok(true));
    }
}

#[test]
fn an_event_that_a_capture_records_again_is_reached_where_it_was() {
    let (rig, _) = two_devices();
    let stream = rig.stream(0);
    let latch = rig.block(stream);
    let event = rig.record(stream);
    let goal = goal(&rig, Awaited::Event(event));
    let graph = rig.capture(stream, || {
        rig.driver.record_event(event, stream).unwrap();
        latch.open();
        assert_eq!(rig.reach(&goal), Ok(true));
    });
    rig.driver.release_graph(graph.unwrap());
}
