//! Checks of asynchronous errors.

use crate::Error;
use crate::{HostFn, WaitTarget};

use super::rig::{Counter, Make, Rig, failure};

fn error(operation: &str, reason: &str) -> (String, String) {
    (operation.into(), reason.into())
}

pub fn check_reports_an_error_once(make: Make) {
    let rig = Rig::new(make);
    let (stream, other) = (rig.stream(0), rig.stream(0));
    rig.fail(stream, "first", "it broke");
    rig.fail(stream, "second", "a consequence");
    rig.join(other, stream);
    rig.finish(other);
    match rig.driver.check(WaitTarget::Stream(stream)) {
        Err(Error::Device { device, operation, reason, .. }) => {
            assert_eq!((&*operation, &*reason), ("first", "it broke"));
            assert_eq!(device.index(), Some(0));
        }
        other => panic!("{other:?}"),
    }
    assert!(rig.is_done(stream));
    rig.finish(stream);
}

pub fn wait_reports_an_error(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let latch = rig.block(stream);
    rig.fail(stream, "greet", "no answer");
    latch.open();
    assert_eq!(failure(rig.wait(WaitTarget::Stream(stream))), error("greet", "no answer"));
    rig.finish(stream);
}

pub fn device_wait_reports_the_errors_of_streams_one_by_one(make: Make) {
    let rig = Rig::new(make);
    let (first, second) = (rig.stream(0), rig.stream(0));
    rig.fail(first, "first", "one");
    rig.join(second, first);
    rig.fail(second, "second", "two");
    assert_eq!(failure(rig.wait(WaitTarget::Device(0))), error("first", "one"));
    assert_eq!(failure(rig.wait(WaitTarget::Device(0))), error("second", "two"));
    assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
}

pub fn stream_runs_work_after_an_error(make: Make) {
    let rig = Rig::new(make);
    let (stream, counter) = (rig.stream(0), Counter::default());
    rig.fail(stream, "first", "it broke");
    let raised = counter.clone();
    rig.launch(stream, move || raised.increment());
    let event = rig.record(stream);
    assert!(rig.wait(WaitTarget::Event(event)).is_err());
    assert_eq!(rig.wait(WaitTarget::Event(event)), Ok(true));
    assert_eq!(counter.get(), 1);
}

pub fn host_fn_panic_is_an_error(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    rig.driver.launch_host_fn(stream, HostFn::new("fragile", || panic!("number {}", 3))).unwrap();
    assert_eq!(failure(rig.wait(WaitTarget::Stream(stream))), error("fragile", "number 3"));
    rig.finish(stream);
}

pub fn event_reports_only_errors_before_it(make: Make) {
    let rig = Rig::new(make);
    let stream = rig.stream(0);
    let before = rig.record(stream);
    rig.fail(stream, "between", "it broke");
    let behind = rig.record(stream);
    let (waiting, told_late) = (rig.stream(0), error("between", "it broke"));
    rig.join(waiting, stream);
    rig.finish(waiting);
    assert_eq!(rig.wait(WaitTarget::Event(before)), Ok(true));
    assert_eq!(failure(rig.driver.check(WaitTarget::Event(behind))), told_late);
    assert_eq!(rig.driver.check(WaitTarget::Event(behind)), Ok(true));
    rig.finish(stream);
}

pub fn stream_does_not_report_errors_of_streams_it_waited_for(make: Make) {
    let rig = Rig::new(make);
    let (failing, waiting) = (rig.stream(0), rig.stream(0));
    rig.fail(failing, "first", "it broke");
    rig.join(waiting, failing);
    let event = rig.record(waiting);
    rig.finish(waiting);
    assert_eq!(rig.wait(WaitTarget::Event(event)), Ok(true));
    assert!(rig.wait(WaitTarget::Stream(failing)).is_err());
}
