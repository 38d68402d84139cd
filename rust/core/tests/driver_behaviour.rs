//! The host driver does what every driver does.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::sync::Arc;

use interlock::accelerator::driver::DriverRuntime;
use interlock::accelerator::host::{HostDriver, HostOptions};

fn host() -> Arc<dyn DriverRuntime> {
    HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() }).unwrap().start().unwrap()
}

interlock::driver_suite!(crate::host);
