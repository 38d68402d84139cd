//! A scope that a future holds while it waits.
//!
//! A `ScopeGuard` belongs to its thread and is not `Send`, so a future that several threads poll cannot hold one. A
//! scope object can: it is entered and exited in the state of the future, whichever threads poll and drop that.

use std::sync::atomic::{AtomicU64, Ordering};

use interlock::backends::{self, FlagScope, InputValue};
use serde::Serialize;

use crate::seen::Seen;

static ENTERED: AtomicU64 = AtomicU64::new(0);
static FINISHED: AtomicU64 = AtomicU64::new(0);
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
        // A cancelled future is dropped in its state, too.
        if Seen::now() != self.opened {
            DROPPED_ELSEWHERE.fetch_add(1, Ordering::Relaxed);
        }
        self.scope.exit();
        let ended = if self.is_finished { &FINISHED } else { &CANCELLED };
        ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// Awaits a future in a scope of `cudnn.deterministic`, which ends also if the caller is cancelled.
pub async fn deterministic<F: Future>(future: F) -> interlock::Result<F::Output> {
    let value = (backends::find("cudnn.deterministic")?, InputValue::Bool(true));
    let scope = FlagScope::new([value], None)?;
    scope.try_enter()?;
    ENTERED.fetch_add(1, Ordering::Relaxed);
    let mut held = HeldScope { scope, opened: Seen::now(), is_finished: false };
    let output = future.await;
    held.is_finished = true;
    Ok(output)
}

/// The scopes of all requests.
#[derive(Serialize)]
pub struct Counts {
    entered: u64,
    /// Those whose future has finished.
    finished: u64,
    /// Those whose future was dropped while it waited.
    cancelled: u64,
    /// Those that were not dropped in the state in which they were entered.
    dropped_elsewhere: u64,
}

/// Returns how many scopes were entered, and how they have ended.
pub fn counts() -> Counts {
    let [entered, finished, cancelled, dropped_elsewhere] =
        [&ENTERED, &FINISHED, &CANCELLED, &DROPPED_ELSEWHERE].map(|count| count.load(Ordering::Relaxed));
    Counts { entered, finished, cancelled, dropped_elsewhere }
}
