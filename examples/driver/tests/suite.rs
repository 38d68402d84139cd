//! The behavior suite of all drivers on the example driver, and tests of its own behavior.

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
fn features_of_the_example_driver_are_none() {
    assert_eq!(Features::of(start), Features::default());
}

#[test]
fn start_returns_one_runtime_on_every_call() {
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
