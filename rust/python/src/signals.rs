//! Signals that interrupt waits inside the crates below.

use std::cell::Cell;
use std::time::{Duration, Instant};

use interlock::accelerator::{self, Error};

use crate::detach::attach;
use crate::pending_exception;

/// Installs a check that interrupts waits when a Python signal handler raises an exception, as it does for Ctrl-C.
pub(crate) fn install_signal_check() {
    accelerator::set_interrupt_check(check_signals);
}

/// Runs pending signal handlers and returns whether one raised an exception, which is stashed. CPython runs signal
/// handlers only on the main thread.
fn check_signals() -> bool {
    /// The longest time until a signal is handled.
    const SLICE: Duration = Duration::from_millis(20);
    thread_local! {
        static LAST: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    // Checked once per slice, because attaching may wait for other threads that run Python.
    let now = Instant::now();
    if LAST.get().is_some_and(|last| now.duration_since(last) < SLICE) {
        return false;
    }
    LAST.set(Some(now));
    let has_raised = attach(|py| {
        let Err(exception) = py.check_signals() else { return false };
        pending_exception::stash(py, Error::Interrupted, exception);
        true
    });
    has_raised.unwrap_or(false)
}
