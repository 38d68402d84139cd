//! A thread that sleeps until somebody wakes it.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Where one thread sleeps. To be woken before it falls asleep counts, so nothing is missed between looking
/// and sleeping.
#[derive(Debug, Default)]
pub(super) struct Sleeper {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl Sleeper {
    /// Wakes the thread, or keeps it from falling asleep the next time.
    pub(super) fn wake(&self) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Sleeps until woken; false if the deadline came first. No deadline is never.
    pub(super) fn sleep(&self, deadline: Option<Instant>) -> bool {
        let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if std::mem::take(&mut *woken) {
                return true;
            }
            let Some(deadline) = deadline else {
                woken = self.changed.wait(woken).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            woken = self.changed.wait_timeout(woken, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_be_woken_before_falling_asleep_counts_once() {
        let sleeper = Sleeper::default();
        sleeper.wake();
        sleeper.wake();
        assert!(sleeper.sleep(None));
        assert!(!sleeper.sleep(Some(Instant::now())));
    }
}
