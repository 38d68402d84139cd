//! The host driver does what every driver does.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::sync::Arc;

use interlock_driver::DriverRuntime;
use interlock_host::{HostDriver, HostOptions};

fn host() -> Arc<dyn DriverRuntime> {
    HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() }).unwrap().start().unwrap()
}

interlock_driver::driver_suite!(crate::host);
