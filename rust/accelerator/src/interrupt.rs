//! Waits that a host may end.

use once_cell::race::OnceBox;

use crate::{Error, Result};

static ASKED: OnceBox<fn() -> bool> = OnceBox::new();

/// Has `interrupted` called again and again while a thread waits for a stream, an event, a device or memory, on that
/// thread and without any lock. Once it returns true the wait ends with [`Error::Interrupted`]. The first call counts.
pub fn ask_while_waiting(interrupted: fn() -> bool) {
    // A second host in one process shares the interpreter with the first.
    let _ = ASKED.set(Box::new(interrupted));
}

/// Returns [`Error::Interrupted`] where the host wants long work of this thread to end, as after Ctrl-C. The host's
/// function runs, which may call a signal handler, so the caller holds no lock that such a handler could need.
pub fn check_interrupts() -> Result<()> {
    if ASKED.get().is_some_and(|interrupted| interrupted()) { Err(Error::Interrupted) } else { Ok(()) }
}
