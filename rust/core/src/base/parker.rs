//! Blocking one thread until another one unblocks it.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Blocks one thread. An `unpark` that comes before `park` is remembered, so no wake-up between a check and `park` is
/// lost.
#[derive(Debug, Default)]
pub struct Parker {
    is_unparked: Mutex<bool>,
    changed: Condvar,
}

impl Parker {
    /// Unblocks the thread, or makes its next `park` return at once.
    pub fn unpark(&self) {
        *self.is_unparked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Blocks until `unpark`, or until the deadline if there is one; returns whether it was `unpark`.
    pub fn park(&self, deadline: Option<Instant>) -> bool {
        let mut is_unparked = self.is_unparked.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if std::mem::take(&mut *is_unparked) {
                return true;
            }
            let Some(deadline) = deadline else {
                is_unparked = self.changed.wait(is_unparked).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            is_unparked =
                self.changed.wait_timeout(is_unparked, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parker_remembers_one_unpark() {
        let parker = Parker::default();
        parker.unpark();
        parker.unpark();
        assert!(parker.park(None));
        assert!(!parker.park(Some(Instant::now())));
    }
}
