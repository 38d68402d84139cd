//! The cuda driver does what every driver does, on devices that lack what newer ones have, too.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::env;
use std::process::Command;
use std::sync::Arc;

use interlock_driver::DriverRuntime;
use interlock_driver::testing::features::Features;

mod stand_in;

/// As much memory as the checks take, and some more.
const MEMORY: &str = "268435456";

fn started() -> Arc<dyn DriverRuntime> {
    stand_in::set(&[("FAKE_CUDA_MEMORY", MEMORY)]);
    stand_in::started()
}

interlock_driver::driver_suite!(crate::started);

/// The suite skips the checks of a feature that a driver does not support.
#[test]
fn no_check_is_skipped_but_those_of_virtual_memory_where_there_is_none() {
    let virtual_memory = env::var_os("FAKE_CUDA_NO_VIRTUAL_MEMORY").is_none();
    assert_eq!(Features::of(started), Features { virtual_memory, ..Features::ALL });
}

/// Runs this program in a process of its own, with a variable that says what devices lack. Returns what it wrote.
fn run_with(variable: &str, arguments: &[&str]) -> String {
    let mut again = Command::new(env::current_exe().unwrap());
    let output = again.args(arguments).env(variable, "1").output().unwrap();
    let written = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{variable}: {written}");
    written
}

/// Runs all other tests again, each in a process of its own.
fn is_passed_again_with(variable: &str) {
    let listed = run_with(variable, &["--list", "--format=terse", "--skip=it_does_so_without"]);
    let names: Vec<_> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    assert!(names.len() > 50, "{listed}");
    for name in names {
        run_with(variable, &["--exact", name]);
    }
}

#[test]
fn it_does_so_without_virtual_memory() {
    is_passed_again_with("FAKE_CUDA_NO_VIRTUAL_MEMORY");
}

#[test]
fn it_does_so_without_waits_for_numbers_in_memory() {
    is_passed_again_with("FAKE_CUDA_NO_WAIT_VALUE");
}
