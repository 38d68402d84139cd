//! Counters of threads that a forked child starts from 0: it lacks the threads that its parent counted.

use std::sync::atomic::{AtomicU64, Ordering};

use interlock_core::base::fork;

/// A number of threads, with the fork generation in the upper half.
pub(crate) struct ThreadCount(AtomicU64);

impl ThreadCount {
    pub(crate) const fn new() -> Self {
        ThreadCount(AtomicU64::new(0))
    }

    fn generation_bits() -> u64 {
        u64::from(fork::generation()) << 32
    }

    pub(crate) fn get(&self) -> u64 {
        let counted = self.0.load(Ordering::SeqCst);
        if counted & !u64::from(u32::MAX) == Self::generation_bits() {
            counted & u64::from(u32::MAX)
        } else {
            0
        }
    }

    pub(crate) fn increment(&self) {
        self.update(|counted| counted + 1);
    }

    pub(crate) fn decrement(&self) {
        let none = Self::generation_bits();
        self.update(|counted| if counted > none { counted - 1 } else { counted });
    }

    /// Updates the count, which starts from 0 in a forked child.
    fn update(&self, update: impl Fn(u64) -> u64) {
        let updated = |counted: u64| {
            let here = Self::generation_bits();
            let is_of_parent = counted & !u64::from(u32::MAX) != here;
            Some(update(if is_of_parent { here } else { counted }))
        };
        // Never an error: the closure always returns a value.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, updated);
    }
}
