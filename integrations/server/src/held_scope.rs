//! A scope that a future holds while it waits.
//!
//! A `ScopeGuard` belongs to its thread and is not `Send`, so a future that several threads poll cannot hold one. A
//! scope object can: it is entered and exited in the state of the future, whichever threads poll and drop that.

use std::sync::atomic::{AtomicU64, Ordering};

use interlock::backends::{self, FlagScope, InputValue};

use crate::seen::Seen;

static CANCELLED: AtomicU64 = AtomicU64::new(0);
static DROPPED_ELSEWHERE: AtomicU64 = AtomicU64::new(0);

/// A scope that is open until it is dropped.
struct HeldScope {
    scope: FlagScope,
    /// The state in the scope.
    opened: Seen,
    is_finished: bool,
}

impl Drop for HeldScope {
    fn drop(&mut self) {
        if !self.is_finished {
            CANCELLED.fetch_add(1, Ordering::Relaxed);
            // A cancelled future is dropped in its state, too.
            if Seen::now() != self.opened {
                DROPPED_ELSEWHERE.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.scope.exit();
    }
}

/// Awaits a future in a scope of `cudnn.deterministic`, which ends also if the caller is cancelled.
pub async fn deterministic<F: Future>(future: F) -> interlock::Result<F::Output> {
    let value = (backends::find("cudnn.deterministic")?, InputValue::Bool(true));
    let scope = FlagScope::new([value], None)?;
    scope.try_enter()?;
    let mut held = HeldScope { scope, opened: Seen::now(), is_finished: false };
    let output = future.await;
    held.is_finished = true;
    Ok(output)
}

/// Returns how many futures were cancelled in the scope, and how many of these were not dropped in their state.
pub fn cancelled() -> (u64, u64) {
    (CANCELLED.load(Ordering::Relaxed), DROPPED_ELSEWHERE.load(Ordering::Relaxed))
}
