//! Asking again and again, less and less often.

use std::time::{Duration, Instant};

use super::driver::Patience;

/// Pauses between two questions: none at first, then ever longer ones.
#[derive(Debug)]
pub struct Backoff {
    began: Instant,
    patience: Patience,
    pause: Duration,
}

impl Backoff {
    /// What an answer that comes soon is awaited for without a pause.
    const AT_ONCE: Duration = Duration::from_micros(50);
    const SHORTEST: Duration = Duration::from_micros(10);
    /// An answer is never missed for longer than this.
    const LONGEST: Duration = Duration::from_millis(1);

    /// Nothing has been asked yet.
    pub fn new(patience: Patience) -> Self {
        Backoff { began: Instant::now(), patience, pause: Self::SHORTEST }
    }

    /// Lets some time pass; false once patience has run out.
    pub fn pause(&mut self) -> bool {
        let waited = self.began.elapsed();
        let left = self.patience.limit.saturating_sub(waited);
        if left.is_zero() {
            return false;
        }
        if waited < Self::AT_ONCE || !self.patience.asleep {
            std::thread::yield_now();
        } else {
            std::thread::sleep(self.pause.min(left));
            self.pause = (self.pause * 2).min(Self::LONGEST);
        }
        true
    }
}
