//! Waits inside of operations: other threads run Python meanwhile, and signals are handled.

use std::cell::RefCell;
use std::time::Duration;

use interlock::accelerator::Waiting;
use interlock_tensor::{Error, Result};
use pyo3::prelude::*;

use crate::detached::attached_again;

thread_local! {
    /// What a handler of a signal raised, until the operation that it interrupted has returned.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Has the runtime wait like this. Operations that may wait are run detached.
pub(super) fn register() {
    interlock_tensor::wait_with(wait);
}

fn wait(waiting: &Waiting) -> Result<()> {
    /// A signal is handled after this time at the latest.
    const SLICE: Duration = Duration::from_millis(20);
    while !waiting.at_most(SLICE)? {
        if let Some(Err(error)) = attached_again(|py| py.check_signals()) {
            RAISED.set(Some(error));
            return Err(Error::Interrupted);
        }
    }
    Ok(())
}

/// What the handler raised that interrupted the operation which has just failed.
pub(super) fn raised() -> Option<PyErr> {
    RAISED.take()
}
