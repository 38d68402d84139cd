//! The functions that the CUDA driver calls are those that the fake library exports, with the exceptions listed here.

use std::collections::BTreeSet;

/// The source file that lists the functions that the driver calls.
const API: &str = include_str!("../../../rust/cuda/src/sys/api.rs");

/// The functions that the probe loads and calls directly.
const PROBE_CALLS: [&str; 2] = ["cuDriverGetVersion", "cuInit"];

/// The functions that only tests call.
const TEST_CALLS: [&str; 2] = ["cuCtxGetDevice", "cuCtxSetCurrent"];

/// Returns the names between the braces of `functions! { ... }`.
fn called() -> BTreeSet<&'static str> {
    let (_, list) = API.split_once("\nfunctions! {").unwrap();
    let (list, _) = list.split_once("\n}").unwrap();
    let names: BTreeSet<_> = list.split_whitespace().collect();
    assert!(names.len() > 50 && names.iter().all(|name| name.starts_with("cu")), "{names:?}");
    names
}

#[test]
fn exports_are_the_functions_that_the_driver_calls() {
    let exported: BTreeSet<_> = include_str!("../symbols.txt").lines().collect();
    let exceptions: BTreeSet<_> = PROBE_CALLS.into_iter().chain(TEST_CALLS).collect();
    let called = called();
    assert!(called.is_disjoint(&exceptions), "the driver calls an exception");
    assert_eq!(exported, &called | &exceptions);
}
