//! Runs the conformance suite with the host driver.

use std::sync::Arc;

use interlock_driver::DriverRuntime;
use interlock_driver::testing::features::Features;
use interlock_host::{HostDriver, HostOptions};

fn host() -> Arc<dyn DriverRuntime> {
    HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() }).unwrap().start().unwrap()
}

interlock_driver::driver_suite!(crate::driver_behaviour::host);

/// Checks that the suite skips no feature.
#[test]
fn driver_supports_all_features() {
    assert_eq!(Features::of(host), Features::ALL);
}
