//! The behavior suite of all drivers on the CUDA driver, also without the optional features of devices.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::env;
use std::process::Command;
use std::sync::Arc;

use interlock_driver::DriverRuntime;
use interlock_driver::testing::features::Features;

mod fake_library;

/// Bytes of memory of each device, enough for all checks of the suite.
const MEMORY: &str = "268435456";

fn started() -> Arc<dyn DriverRuntime> {
    fake_library::set(&[("FAKE_CUDA_MEMORY", MEMORY)]);
    fake_library::started()
}

interlock_driver::driver_suite!(crate::started);

/// Checks the features of the driver: the suite skips the checks of unsupported features.
#[test]
fn suite_skips_only_virtual_memory_checks() {
    let virtual_memory = env::var_os("FAKE_CUDA_NO_VIRTUAL_MEMORY").is_none();
    assert_eq!(Features::of(started), Features { virtual_memory, ..Features::ALL });
}

/// Runs this test program in a child process with a variable that disables a feature. Returns its output.
fn run_with(variable: &str, arguments: &[&str]) -> String {
    let mut again = Command::new(env::current_exe().unwrap());
    let output = again.args(arguments).env(variable, "1").output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{variable}: {stdout}");
    stdout
}

/// Runs all other tests again, each in its own process.
fn rerun_with(variable: &str) {
    let listed = run_with(variable, &["--list", "--format=terse", "--skip=rerun_without"]);
    let names: Vec<_> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    assert!(names.len() > 50, "{listed}");
    for name in names {
        run_with(variable, &["--exact", name]);
    }
}

#[test]
fn rerun_without_virtual_memory() {
    rerun_with("FAKE_CUDA_NO_VIRTUAL_MEMORY");
}

#[test]
fn rerun_without_wait_value() {
    rerun_with("FAKE_CUDA_NO_WAIT_VALUE");
}
