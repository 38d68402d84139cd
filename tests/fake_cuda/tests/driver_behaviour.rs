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

/// As much memory as the checks take, and some more.
const MEMORY: &str = "268435456";

fn started() -> Arc<dyn Driver> {
    // SAFETY: a process runs one test, which has no other thread that reads the environment now.
    unsafe { std::env::set_var("FAKE_CUDA_MEMORY", MEMORY) };
    let driver = cuda::driver();
    driver.start().unwrap();
    driver
}

driver_suite!(crate::started);
