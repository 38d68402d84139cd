//! Signals that end waits in the middle of what the core does.

use std::cell::Cell;
use std::time::{Duration, Instant};

use interlock::accelerator::{self, Error};

use crate::detached::attached;
use crate::kept;

/// Has waits of the core end where a handler of a signal raises something, as that of Ctrl-C does.
pub(crate) fn end_waits_on_signals() {
    accelerator::set_interrupt_check(interrupted);
}

/// Whether a handler of a signal has raised something, which is kept. Handlers run on the main thread alone.
fn interrupted() -> bool {
    /// A signal is handled after this time at the latest.
    const SLICE: Duration = Duration::from_millis(20);
    thread_local! {
        static LAST: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    // To be attached may take as long as other threads run Python.
    let now = Instant::now();
    if LAST.get().is_some_and(|last| now.duration_since(last) < SLICE) {
        return false;
    }
    LAST.set(Some(now));
    let raised = attached(|py| {
        let Err(raised) = py.check_signals() else { return false };
        kept::keep(py, Error::Interrupted, raised);
        true
    });
    raised.unwrap_or(false)
}
