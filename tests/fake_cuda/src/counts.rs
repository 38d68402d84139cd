//! How often each function was called.

use std::sync::atomic::{AtomicU64, Ordering};

/// The names of all functions, one in each line.
const NAMES: &str = include_str!("../symbols.txt");

static CALLS: [AtomicU64; 80] = [const { AtomicU64::new(0) }; 80];

fn calls(name: &str) -> Option<&'static AtomicU64> {
    CALLS.get(NAMES.lines().position(|line| line == name)?)
}

pub(crate) fn count(name: &str) {
    if let Some(calls) = calls(name) {
        calls.fetch_add(1, Ordering::Relaxed);
    }
}

/// 0 for a function that there is not.
pub(crate) fn count_of(name: &str) -> u64 {
    calls(name).map_or(0, |calls| calls.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_count_for_every_function() {
        assert!(NAMES.lines().all(|name| calls(name).is_some()));
    }
}
