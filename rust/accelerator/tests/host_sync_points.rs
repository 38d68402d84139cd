//! Tests of the host driver's sync points after streams and events are destroyed or created and captures begin.

use std::time::Duration;

use crate::rig::host::two_devices;
use crate::rig::{Rig, failure, is_refused};
use interlock_driver::races::{self, Race, RaceDetector};
use interlock_driver::{
    ByteRange, CaptureMode, StreamHandle, SyncPoint, TimelinePoint, WaitPoint, WaitPolicy, WaitTarget,
};

fn sync_point(rig: &Rig, target: WaitTarget) -> SyncPoint {
    rig.driver.sync_point(target).unwrap()
}

fn point(stream: StreamHandle, position: u64) -> WaitPoint {
    WaitPoint::InStream(TimelinePoint { stream: stream.raw, position })
}

#[test]
fn sync_point_consists_of_streams_and_positions() {
    let (rig, _) = two_devices();
    let (stream, other) = (rig.stream(1), rig.stream(1));
    let unrecorded = rig.driver.create_event(1, Default::default()).unwrap();
    rig.launch(stream, || {});
    let event = rig.record(stream);
    rig.launch(stream, || {});
    assert_eq!(sync_point(&rig, WaitTarget::Event(unrecorded)).points, []);
    assert_eq!(sync_point(&rig, WaitTarget::Event(event)).points, [point(stream, 2)]);
    assert_eq!(sync_point(&rig, WaitTarget::Stream(stream)).points, [point(stream, 3)]);
    let default = rig.driver.default_stream(1).unwrap();
    let device = sync_point(&rig, WaitTarget::Device(1));
    assert_eq!(device.points, [point(default, 0), point(stream, 3), point(other, 0)]);
    assert_eq!(rig.reach(&device), Ok(true));
}

#[test]
fn sync_point_excludes_later_streams() {
    let (rig, _) = two_devices();
    let before = rig.block(rig.stream(0));
    let device = sync_point(&rig, WaitTarget::Device(0));
    let later = rig.stream(0);
    let after = rig.block(later);
    before.open();
    assert_eq!(rig.reach(&device), Ok(true));
    assert!(!rig.is_done(later));
    after.open();
    rig.finish(later);
}

#[test]
fn wait_orders_the_program_after_the_work_that_it_covers_only() {
    let (rig, _) = two_devices();
    let (stream, memory) = (rig.stream(0), rig.memory(0, 64));
    let detector = RaceDetector::start();
    let start = std::ptr::with_exposed_provenance(memory.address.0 as usize);
    let points = [WaitTarget::Stream(stream), WaitTarget::Device(0)].map(|target| sync_point(&rig, target));
    rig.fill(stream, &memory, 1);
    points.iter().for_each(|point| assert_eq!(rig.reach(point), Ok(true)));
    while detector.pending() > 0 {
        std::thread::yield_now();
    }
    races::access(&[ByteRange::read(start, 64)]);
    let is_of_memory = |race: &Race| race.first.bytes.start == memory.address.0 as usize;
    assert_eq!(detector.races().iter().filter(|race| is_of_memory(race)).count(), 1);
    rig.finish(stream);
}

#[test]
fn sync_point_covers_destroyed_streams_and_events() {
    let (rig, faults) = two_devices();
    let stream = rig.stream(0);
    let latch = rig.block(stream);
    let event = rig.record(stream);
    let points = [WaitTarget::Stream(stream), WaitTarget::Event(event), WaitTarget::Device(0)]
        .map(|target| sync_point(&rig, target));
    rig.driver.destroy_event(event);
    rig.driver.destroy_stream(stream);
    let at_once = WaitPolicy { timeout: Duration::ZERO, blocking: true };
    assert!(points.iter().all(|point| rig.driver.wait(point, at_once) == Ok(false)));
    latch.open();
    assert!(points.iter().all(|point| rig.reach(point) == Ok(true)));
    assert_eq!(faults.live_objects().unwrap().streams, 0);
    assert!(points.iter().all(|point| rig.reach(point) == Ok(true)));
}

#[test]
fn sync_point_reports_the_error_of_a_destroyed_stream_once() {
    for place in 0..3 {
        let (rig, _) = two_devices();
        let (stream, other) = (rig.stream(0), rig.stream(1));
        let before = sync_point(&rig, WaitTarget::Device(0));
        rig.fail(stream, "greet", "no answer");
        let event = rig.record(stream);
        let target = [WaitTarget::Stream(stream), WaitTarget::Event(event), WaitTarget::Device(0)][place];
        let behind = sync_point(&rig, target);
        rig.join(other, stream);
        rig.driver.destroy_stream(stream);
        rig.finish(other);
        assert_eq!(rig.reach(&before), Ok(true));
        assert_eq!(failure(rig.reach(&behind)).0, "greet");
        assert_eq!(rig.reach(&behind), Ok(true));
        assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
    }
}

#[test]
fn sync_point_is_rejected_after_a_capture_began() {
    let (rig, _) = two_devices();
    let stream = rig.stream(0);
    rig.launch(stream, || {});
    for (target, mode) in
        [(WaitTarget::Stream(stream), CaptureMode::Relaxed), (WaitTarget::Device(0), CaptureMode::Global)]
    {
        let point = sync_point(&rig, target);
        rig.driver.begin_capture(stream, mode).unwrap();
        assert!(is_refused(&rig.reach(&point)));
        assert!(is_refused(&rig.driver.end_capture(stream)));
        rig.driver.begin_capture(stream, mode).unwrap();
        assert!(is_refused(&rig.driver.sync_point(target)));
        assert!(is_refused(&rig.driver.end_capture(stream)));
        assert_eq!(rig.reach(&point), Ok(true));
    }
}

#[test]
fn sync_point_of_an_event_ignores_a_record_in_a_capture() {
    let (rig, _) = two_devices();
    let stream = rig.stream(0);
    let latch = rig.block(stream);
    let event = rig.record(stream);
    let point = sync_point(&rig, WaitTarget::Event(event));
    let graph = rig.capture(stream, || {
        rig.driver.record_event(event, stream).unwrap();
        latch.open();
        assert_eq!(rig.reach(&point), Ok(true));
    });
    rig.driver.destroy_graph(graph.unwrap());
}
