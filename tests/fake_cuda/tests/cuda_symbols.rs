//! What the cuda driver calls and what the stand-in exports are one list, with the exceptions that are named here.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeSet;

/// Where each function that is called is named once.
const API: &str = include_str!("../../../rust/cuda/src/sys/api.rs");

/// What the probe calls before any of them, through a loader of its own.
const OF_THE_PROBE: [&str; 2] = ["cuDriverGetVersion", "cuInit"];

/// What only the tests of the stand-in call: to see which context is current and to wait for a stream.
const OF_OTHERS: [&str; 2] = ["cuCtxGetDevice", "cuStreamSynchronize"];

/// The names between the braces of `functions! { ... }`.
fn called() -> BTreeSet<&'static str> {
    let (_, list) = API.split_once("\nfunctions! {").unwrap();
    let (list, _) = list.split_once("\n}").unwrap();
    let names: BTreeSet<_> = list.split_whitespace().collect();
    assert!(names.len() > 50 && names.iter().all(|name| name.starts_with("cu")), "{names:?}");
    names
}

#[test]
fn the_stand_in_exports_what_is_called_and_nothing_else() {
    let exported: BTreeSet<_> = include_str!("../symbols.txt").lines().collect();
    let exceptions: BTreeSet<_> = OF_THE_PROBE.into_iter().chain(OF_OTHERS).collect();
    let called = called();
    assert!(called.is_disjoint(&exceptions), "what is called is no exception");
    assert_eq!(exported, &called | &exceptions);
}
