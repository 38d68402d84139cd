//! The number of calls of each function.

use std::sync::atomic::{AtomicU64, Ordering};

/// The names of all functions, one per line.
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

/// Returns the number of calls of a function, or 0 if there is no function of this name.
pub(crate) fn count_of(name: &str) -> u64 {
    calls(name).map_or(0, |calls| calls.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_cover_every_function() {
        assert!(NAMES.lines().all(|name| calls(name).is_some()));
    }
}
