//! The host driver does what every driver does.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::sync::Arc;

use interlock_driver::DriverRuntime;
use interlock_driver::testing::features::Features;
use interlock_host::{HostDriver, HostOptions};

fn host() -> Arc<dyn DriverRuntime> {
    HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() }).unwrap().start().unwrap()
}

interlock_driver::driver_suite!(crate::host);

/// The suite skips the checks of a feature that a driver does not support.
#[test]
fn no_check_is_skipped() {
    assert_eq!(Features::of(host), Features::ALL);
}
