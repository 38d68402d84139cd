//! The behavior suite of all drivers on NVIDIA's driver library and a GPU (`make test-gpu`).
//!
//! Each test must run in its own process, because a capture or an error of one affects the others.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use interlock_driver::DriverRuntime;
use interlock_driver::testing::features::Features;

fn started() -> Arc<dyn DriverRuntime> {
    // SAFETY: the function only sets a timer, which ends a process that hangs.
    unsafe { libc::alarm(60) };
    interlock_cuda::driver().start().unwrap()
}

interlock_driver::driver_suite!(crate::started);

#[test]
fn suite_skips_no_feature() {
    assert_eq!(Features::of(started), Features::ALL);
}
