//! Exceptions that functions of Python raise while the core is at work, kept until it has returned.

use std::cell::Cell;

use interlock::accelerator::Error;
use pyo3::prelude::*;

use crate::released::Released;

/// An exception, and the error by which the core returns for its sake.
struct Kept {
    error: Error,
    exception: Released,
}

thread_local! {
    static KEPT: Cell<Option<Kept>> = const { Cell::new(None) };
}

/// The core is going to return `error` on this thread, which means the exception.
pub(crate) fn keep(py: Python<'_>, error: Error, exception: PyErr) {
    let exception = Released::new(exception.into_value(py).into_bound(py));
    // A thread that is about to be over has nobody to raise it.
    let _ = KEPT.try_with(|kept| kept.set(Some(Kept { error, exception })));
}

/// The exception that `error` means, if one was kept. What was kept for another error is forgotten: that was
/// overcome.
pub(crate) fn take(py: Python<'_>, error: &Error) -> Option<PyErr> {
    let kept = KEPT.try_with(Cell::take).ok().flatten().filter(|kept| kept.error == *error)?;
    Some(PyErr::from_value(kept.exception.bind(py).clone()))
}
