//! Injected failures of allocations.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the allocation that fails, where 1 is the next; 0 for none.
static ALLOCATION: AtomicU64 = AtomicU64::new(0);

pub(crate) fn fail_allocation(number: u64) {
    ALLOCATION.store(number, Ordering::SeqCst);
}

/// Sets the fault from the environment, unless a test has already set one.
pub(crate) fn fail_allocation_unless_set(number: u64) {
    let _ = ALLOCATION.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
}

/// Counts an allocation and returns whether it fails.
pub(crate) fn allocation_fails() -> bool {
    let counted = ALLOCATION.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    counted == Ok(1)
}
