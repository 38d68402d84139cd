//! The example driver passes the suite that every driver has to pass.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use example_driver::ExampleDriver;
use interlock_driver::testing::features::Features;
use interlock_driver::{Driver, DriverRuntime, Error, EventHandle, StreamHandle, WaitTarget};

fn start() -> Arc<dyn DriverRuntime> {
    ExampleDriver::new(2).unwrap().start().unwrap()
}

interlock_driver::driver_suite!(crate::start);

#[test]
fn it_has_no_optional_feature() {
    assert_eq!(Features::of(start), Features::default());
}

#[test]
fn later_starts_return_the_same_runtime() {
    let driver = ExampleDriver::new(1).unwrap();
    let [first, second] = [(); 2].map(|()| driver.start().unwrap());
    assert!(Arc::ptr_eq(&first, &second));
}

#[test]
fn unknown_handles_are_refused() {
    let runtime = start();
    let stream = runtime.create_stream(0, 0).unwrap();
    let event = runtime.create_event(0, Default::default()).unwrap();
    runtime.destroy_stream(stream);
    runtime.destroy_event(event);
    let default = runtime.default_stream(0).unwrap();
    let results = [
        runtime.check(WaitTarget::Stream(stream)).map(drop),
        runtime.check(WaitTarget::Stream(StreamHandle { device: 1, ..default })).map(drop),
        runtime.check(WaitTarget::Event(event)).map(drop),
        runtime.has_completed(EventHandle { device: 1, raw: 7 }).map(drop),
        runtime.check(WaitTarget::Device(2)).map(drop),
        runtime.record_event(event, default),
        runtime.wait_event(default, event),
        runtime.allocate(2, 1).map(drop),
        runtime.create_stream(2, 0).map(drop),
    ];
    for result in results {
        assert!(matches!(result, Err(Error::Argument { .. })), "{result:?}");
    }
    runtime.destroy_stream(default);
    assert_eq!(runtime.check(WaitTarget::Stream(default)), Ok(true));
}
