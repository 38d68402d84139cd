//! Blocks a thread until another one unblocks it.

use std::time::{Duration, Instant};

use super::mutex::{Condvar, Mutex};

/// Blocks one thread, like crossbeam's `Parker`. An `unpark` before `park` is stored, so no wake-up between a check and
/// `park` is lost.
#[derive(Debug, Default)]
pub struct Parker {
    is_unparked: Mutex<bool>,
    changed: Condvar,
}

impl Parker {
    /// Unblocks the thread, or makes its next `park` return at once.
    pub fn unpark(&self) {
        *self.is_unparked.lock() = true;
        self.changed.notify_one();
    }

    /// Blocks until `unpark`, or until the deadline if there is one. Returns whether `unpark` ended the wait.
    pub fn park(&self, deadline: Option<Instant>) -> bool {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        let timeout = deadline.map_or(Duration::MAX, left);
        let is_parked = |is_unparked: &mut bool| !*is_unparked;
        let mut is_unparked = self.changed.wait_timeout_while(self.is_unparked.lock(), timeout, is_parked);
        std::mem::take(&mut is_unparked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn park_returns_at_once_after_unpark() {
        let parker = Parker::default();
        parker.unpark();
        parker.unpark();
        assert!(parker.park(None));
        assert!(!parker.park(Some(Instant::now())));
    }
}
