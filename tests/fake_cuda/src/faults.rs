//! Allocations that fail because a test asked for it.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many allocations from now on the one is that fails, 0 for none.
static ALLOCATION: AtomicU64 = AtomicU64::new(0);

pub(crate) fn fail_allocation(number: u64) {
    ALLOCATION.store(number, Ordering::SeqCst);
}

/// As the environment says, unless somebody has called for it already.
pub(crate) fn fail_allocation_if_asked(number: u64) {
    let _ = ALLOCATION.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
}

/// Counts an allocation; whether it is the one.
pub(crate) fn allocation_fails() -> bool {
    let counted = ALLOCATION.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    counted == Ok(1)
}
