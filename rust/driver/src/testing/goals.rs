//! What waits are for: it is fixed once, however often somebody waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use crate::{EventHandle, StreamHandle, WaitPolicy, WaitTarget};

use super::rig::{Make, Rig, failure};

/// Waits in many turns, as a thread does that looks after other things in between.
fn is_reached_in_turns(rig: &Rig, awaited: WaitTarget, blocking: bool) -> bool {
    let goal = rig.driver.sync_point(awaited).unwrap();
    let policy = WaitPolicy { timeout: Duration::ZERO, blocking };
    // So often that whatever ends has ended.
    (0..10_000_000).any(|_| {
        thread::yield_now();
        rig.driver.wait(&goal, policy).unwrap()
    })
}

/// Returns whether goals are fixed: a driver may leave it to the trait to wait, which can't do that.
fn fixes_goals(rig: &Rig) -> bool {
    !rig.driver.sync_point(WaitTarget::Stream(rig.stream(0))).unwrap().points.is_empty()
}

pub fn a_goal_is_waited_for_as_often_as_one_likes(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let latch = rig.block(stream);
    let event = rig.record(stream);
    let goals = [WaitTarget::Stream(stream), WaitTarget::Event(event), WaitTarget::Device(0)]
        .map(|awaited| rig.driver.sync_point(awaited).unwrap());
    let at_once = WaitPolicy { timeout: Duration::ZERO, blocking: true };
    for goal in goals.iter().chain(&goals) {
        assert_eq!(rig.driver.wait(goal, at_once), Ok(false));
    }
    latch.open();
    for goal in goals.iter().chain(&goals) {
        assert_eq!(rig.reach(goal), Ok(true));
        assert_eq!(rig.driver.wait(goal, at_once), Ok(true));
    }
}

pub fn what_is_queued_or_recorded_later_is_not_waited_for(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let before = rig.block(stream);
    let event = rig.record(stream);
    if !fixes_goals(&rig) {
        return before.open();
    }
    let goals = [WaitTarget::Stream(stream), WaitTarget::Event(event)]
        .map(|awaited| rig.driver.sync_point(awaited).unwrap());
    let after = rig.block(stream);
    rig.driver.record_event(event, stream).unwrap();
    before.open();
    assert_eq!(goals.map(|goal| rig.reach(&goal)), [Ok(true), Ok(true)]);
    assert!(!rig.is_done(stream));
    assert_eq!(rig.driver.check(WaitTarget::Event(event)), Ok(false));
    after.open();
    rig.finish(stream);
}

/// Queues a function that queues the same again before it ends, and records an event behind it.
fn produce(rig: &Arc<Rig>, stream: StreamHandle, event: EventHandle, stop: &Arc<AtomicBool>) {
    let (weak, again): (Weak<Rig>, _) = (Arc::downgrade(rig), stop.clone());
    rig.launch(stream, move || {
        if let (Some(rig), false) = (weak.upgrade(), again.load(Ordering::SeqCst)) {
            produce(&rig, stream, event, &again);
        }
    });
    rig.driver.record_event(event, stream).unwrap();
}

pub fn who_never_stops_queueing_holds_up_nobody(make: Make) {
    let rig = Arc::new(Rig::new(make));
    if !fixes_goals(&rig) {
        return;
    }
    let (stream, stop) = (rig.stream(0), Arc::default());
    let event = rig.record(stream);
    (0..3).for_each(|_| produce(&rig, stream, event, &stop));
    for awaited in [WaitTarget::Stream(stream), WaitTarget::Event(event), WaitTarget::Device(0)] {
        for blocking in [true, false] {
            assert!((0..20).all(|_| is_reached_in_turns(&rig, awaited, blocking)));
            assert_eq!(rig.wait(awaited), Ok(true));
            assert!(!rig.is_done(stream));
        }
    }
    stop.store(true, Ordering::SeqCst);
    // The last functions may still queue more.
    while !rig.is_done(stream) {
        rig.finish(stream);
    }
}

pub fn a_goal_tells_the_failures_that_it_covers(make: Make) {
    let rig = Rig::new(make);
    let (stream, other) = (rig.stream(0), rig.stream(0));
    let latch = rig.block(stream);
    let before = rig.driver.sync_point(WaitTarget::Stream(stream)).unwrap();
    rig.fail(stream, "greet", "nobody there");
    let behind = rig.driver.sync_point(WaitTarget::Stream(stream)).unwrap();
    latch.open();
    rig.join(other, stream);
    rig.finish(other);
    if fixes_goals(&rig) {
        assert_eq!(rig.reach(&before), Ok(true));
    }
    assert_eq!(failure(rig.reach(&behind)).0, "greet");
    assert_eq!(rig.reach(&behind), Ok(true));
}
