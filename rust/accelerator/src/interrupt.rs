//! Interruption of waits by the embedding program.

use once_cell::race::OnceBox;

use crate::{Error, Result};

static INTERRUPT_CHECK: OnceBox<fn() -> bool> = OnceBox::new();

/// Sets the function that is called repeatedly while a thread waits for a stream, an event, a device or memory, like
/// CPython's `PyErr_CheckSignals`. It runs on the waiting thread, without any lock; once it returns true the wait ends
/// with [`Error::Interrupted`]. Only the first call has an effect.
pub fn set_interrupt_check(interrupted: fn() -> bool) {
    // A second embedder in one process shares the interpreter with the first.
    let _ = INTERRUPT_CHECK.set(Box::new(interrupted));
}

/// Returns [`Error::Interrupted`] if the embedding program wants long work of this thread to end, as after Ctrl-C. Its
/// function may call a signal handler, so the caller must hold no lock that a handler could need.
pub fn check_interrupts() -> Result<()> {
    if INTERRUPT_CHECK.get().is_some_and(|interrupted| interrupted()) {
        Err(Error::Interrupted)
    } else {
        Ok(())
    }
}
