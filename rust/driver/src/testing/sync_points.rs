//! Checks of sync points: the covered work is fixed once, however often a thread waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use crate::{EventHandle, StreamHandle, WaitPolicy, WaitTarget};

use super::rig::{Make, Rig, failure};

/// Polls a wait without timeout, as a thread does that runs other work in between.
fn is_reached_by_polling(rig: &Rig, target: WaitTarget, blocking: bool) -> bool {
    let point = rig.driver.sync_point(target).unwrap();
    let policy = WaitPolicy { timeout: Duration::ZERO, blocking };
    // Enough attempts for any work that ends.
    (0..10_000_000).any(|_| {
        thread::yield_now();
        rig.driver.wait(&point, policy).unwrap()
    })
}

/// Returns whether sync points have points. A driver may use the default implementation, whose sync points have none.
fn has_points(rig: &Rig) -> bool {
    !rig.driver.sync_point(WaitTarget::Stream(rig.stream(0))).unwrap().points.is_empty()
}

pub fn sync_point_can_be_waited_for_repeatedly(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let latch = rig.block(stream);
    let event = rig.record(stream);
    let points = [WaitTarget::Stream(stream), WaitTarget::Event(event), WaitTarget::Device(0)]
        .map(|target| rig.driver.sync_point(target).unwrap());
    let at_once = WaitPolicy { timeout: Duration::ZERO, blocking: true };
    for point in points.iter().chain(&points) {
        assert_eq!(rig.driver.wait(point, at_once), Ok(false));
    }
    latch.open();
    for point in points.iter().chain(&points) {
        assert_eq!(rig.reach(point), Ok(true));
        assert_eq!(rig.driver.wait(point, at_once), Ok(true));
    }
}

pub fn sync_point_excludes_later_work_and_records(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let before = rig.block(stream);
    let event = rig.record(stream);
    if !has_points(&rig) {
        return before.open();
    }
    let points = [WaitTarget::Stream(stream), WaitTarget::Event(event)]
        .map(|target| rig.driver.sync_point(target).unwrap());
    let after = rig.block(stream);
    rig.driver.record_event(event, stream).unwrap();
    before.open();
    assert_eq!(points.map(|point| rig.reach(&point)), [Ok(true), Ok(true)]);
    assert!(!rig.is_done(stream));
    assert_eq!(rig.driver.check(WaitTarget::Event(event)), Ok(false));
    after.open();
    rig.finish(stream);
}

/// Queues a function that queues itself again before it ends, and records an event after it.
fn produce(rig: &Arc<Rig>, stream: StreamHandle, event: EventHandle, stop: &Arc<AtomicBool>) {
    let (weak, again): (Weak<Rig>, _) = (Arc::downgrade(rig), stop.clone());
    rig.launch(stream, move || {
        if let (Some(rig), false) = (weak.upgrade(), again.load(Ordering::SeqCst)) {
            produce(&rig, stream, event, &again);
        }
    });
    rig.driver.record_event(event, stream).unwrap();
}

pub fn sync_point_is_reached_while_work_is_queued_forever(make: Make) {
    let rig = Arc::new(Rig::new(make));
    if !has_points(&rig) {
        return;
    }
    let (stream, stop) = (rig.stream(0), Arc::default());
    let event = rig.record(stream);
    (0..3).for_each(|_| produce(&rig, stream, event, &stop));
    for target in [WaitTarget::Stream(stream), WaitTarget::Event(event), WaitTarget::Device(0)] {
        for blocking in [true, false] {
            assert!((0..20).all(|_| is_reached_by_polling(&rig, target, blocking)));
            assert_eq!(rig.wait(target), Ok(true));
            assert!(!rig.is_done(stream));
        }
    }
    stop.store(true, Ordering::SeqCst);
    // The last functions may still queue others.
    while !rig.is_done(stream) {
        rig.finish(stream);
    }
}

pub fn sync_point_reports_the_errors_that_it_covers(make: Make) {
    let rig = Rig::new(make);
    let (stream, other) = (rig.stream(0), rig.stream(0));
    let latch = rig.block(stream);
    let before = rig.driver.sync_point(WaitTarget::Stream(stream)).unwrap();
    rig.fail(stream, "greet", "no answer");
    let behind = rig.driver.sync_point(WaitTarget::Stream(stream)).unwrap();
    latch.open();
    rig.join(other, stream);
    rig.finish(other);
    if has_points(&rig) {
        assert_eq!(rig.reach(&before), Ok(true));
    }
    assert_eq!(failure(rig.reach(&behind)).0, "greet");
    assert_eq!(rig.reach(&behind), Ok(true));
}
