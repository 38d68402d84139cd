//! The cuda driver does what every driver does.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::sync::Arc;

use interlock::accelerator::cuda;
use interlock::accelerator::driver::Driver;

#[macro_use]
#[path = "../../../rust/core/tests/driver_suite/mod.rs"]
mod driver_suite;
#[path = "../../../rust/core/tests/rig/mod.rs"]
mod rig;

fn started() -> Arc<dyn Driver> {
    let driver = cuda::driver();
    driver.start().unwrap();
    driver
}

driver_suite!(crate::started);
