//! Pauses between polls.

use std::time::{Duration, Instant};

use super::blocking;

/// Pauses between polls that grow from none to a maximum.
#[derive(Debug)]
pub struct Backoff {
    began: Instant,
    timeout: Duration,
    blocking: bool,
    pause: Duration,
}

impl Backoff {
    /// The time of polling without a pause.
    const SPIN_FOR: Duration = Duration::from_micros(50);
    const SHORTEST: Duration = Duration::from_micros(10);
    /// The latency of a poll.
    const LONGEST: Duration = Duration::from_millis(1);

    /// Creates pauses that end after `timeout`. With `blocking` the thread sleeps between polls, otherwise it yields.
    pub fn new(timeout: Duration, blocking: bool) -> Self {
        Backoff { began: Instant::now(), timeout, blocking, pause: Self::SHORTEST }
    }

    /// Pauses before the next poll; returns false after the timeout.
    pub fn pause(&mut self) -> bool {
        let waited = self.began.elapsed();
        let left = self.timeout.saturating_sub(waited);
        if left.is_zero() {
            return false;
        }
        let is_short = waited < Self::SPIN_FOR || !self.blocking;
        let pause =
            || if is_short { std::thread::yield_now() } else { std::thread::sleep(self.pause.min(left)) };
        // SAFETY: the function only pauses.
        unsafe { blocking::detached(pause) };
        if !is_short {
            self.pause = (self.pause * 2).min(Self::LONGEST);
        }
        true
    }
}

/// Pauses between attempts to acquire a lock: spins, then yields, then sleeps. `attempts` is the number of failed
/// attempts. The caller is detached from the interpreter.
///
/// The wait ends by the clock, because a thread that is parked in the kernel cannot be handed to a forked child.
pub fn pause_after(attempts: u32) {
    const SPINS: u32 = 64;
    const YIELDS: u32 = 64;
    const NAP: Duration = Duration::from_micros(50);
    if attempts < SPINS {
        std::hint::spin_loop();
    } else if attempts < SPINS + YIELDS {
        std::thread::yield_now();
    } else {
        std::thread::sleep(NAP);
    }
}
