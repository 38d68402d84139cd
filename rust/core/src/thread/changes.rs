//! The epoch of changes that reach a thread from elsewhere: a layer of a context that was exited in another context, a
//! request in a mailbox, other defaults of the process.
//!
//! A thread compares the epoch with the one that it has seen whenever it enters or exits a scope or guard, writes,
//! captures or explains. Reads do not compare, because they are one load.

use crate::base::fork::rank;
use crate::base::sync::{Epoch, ForkLock};

static EPOCH: Epoch = Epoch::new();

static ADVANCING: ForkLock<()> = ForkLock::new(rank::THREAD_CHANGES, ());

/// An epoch that no thread has seen.
pub(super) const UNSEEN: u64 = u64::MAX;

#[cfg(not(loom))]
#[inline]
pub(super) fn epoch() -> u64 {
    EPOCH.get()
}

#[cfg(loom)]
pub(super) fn epoch() -> u64 {
    EPOCH.get_exploring_order()
}

/// Makes all threads look at changes that the caller has made before.
pub(super) fn announce() {
    let _one_at_a_time = ADVANCING.lock();
    EPOCH.advance();
}
