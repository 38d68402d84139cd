//! The host driver does what every driver does.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::sync::Arc;

use interlock_accelerator::driver::Driver;
use interlock_accelerator::host::{HostDriver, HostOptions};

#[macro_use]
mod driver_suite;
mod rig;

fn host() -> Arc<dyn Driver> {
    let driver = HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() }).unwrap();
    driver.start().unwrap();
    driver
}

driver_suite!(crate::host);
