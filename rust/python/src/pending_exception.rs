//! Exceptions that Python functions raise inside a call of the crates below, stored until the call returns.

use std::cell::Cell;

use interlock::accelerator::Error;
use pyo3::prelude::*;

use crate::deferred_drop::DeferredDrop;

/// An exception, and the error that the call returns instead.
struct PendingException {
    error: Error,
    exception: DeferredDrop,
}

thread_local! {
    static PENDING: Cell<Option<PendingException>> = const { Cell::new(None) };
}

/// Stores an exception for this thread. The call in progress is about to return `error` instead.
pub(crate) fn stash(py: Python<'_>, error: Error, exception: PyErr) {
    let exception = DeferredDrop::new(exception.into_value(py).into_bound(py));
    // Ignored on a thread that is ending: it raises nothing any more.
    let _ = PENDING.try_with(|pending| pending.set(Some(PendingException { error, exception })));
}

/// Takes the pending exception if it was stashed for `error`. Discards an exception that was stashed for another error:
/// the call recovered from that error.
pub(crate) fn take(py: Python<'_>, error: &Error) -> Option<PyErr> {
    take_if(py, |pending| pending == error)
}

/// Like [`take`], for an error that crossed the C interface as its text.
pub(crate) fn take_for_text(py: Python<'_>, text: &str) -> Option<PyErr> {
    take_if(py, |pending| pending.to_string() == text)
}

fn take_if(py: Python<'_>, is_cause: impl FnOnce(&Error) -> bool) -> Option<PyErr> {
    let pending = PENDING.try_with(Cell::take).ok().flatten().filter(|pending| is_cause(&pending.error))?;
    Some(PyErr::from_value(pending.exception.bind(py).clone()))
}
