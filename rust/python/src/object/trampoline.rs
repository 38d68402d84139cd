//! The border that neither a panic nor a Rust error may cross.

use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;

/// Runs what needs no more than the C interface, and costs no more than that; a panic becomes the
/// Python error that is set, and null.
#[inline]
pub(crate) fn hot(action: impl FnOnce() -> *mut ffi::PyObject) -> *mut ffi::PyObject {
    match catch_unwind(AssertUnwindSafe(action)) {
        Ok(object) => object,
        Err(panic) => or_null(|_| Err(bug(panic))),
    }
}

/// Runs `action`; an error or a panic becomes the Python error that is set, and null.
pub(crate) fn or_null(action: impl FnOnce(Python<'_>) -> PyResult<*mut ffi::PyObject>) -> *mut ffi::PyObject {
    run(action).unwrap_or(std::ptr::null_mut())
}

/// The same for functions that answer 0, or -1 with an error set.
pub(crate) fn or_minus_one(action: impl FnOnce(Python<'_>) -> PyResult<()>) -> c_int {
    match run(action) {
        Some(()) => 0,
        None => -1,
    }
}

/// Runs `action`, which needs no more than the C interface and answers whether it did the work; where it did not,
/// runs `otherwise` as [`or_minus_one`] does.
#[inline]
pub(crate) fn hot_or_minus_one(
    action: impl FnOnce() -> bool,
    otherwise: impl FnOnce(Python<'_>) -> PyResult<()>,
) -> c_int {
    match catch_unwind(AssertUnwindSafe(action)) {
        Ok(true) => 0,
        Ok(false) => or_minus_one(otherwise),
        Err(panic) => or_minus_one(|_| Err(bug(panic))),
    }
}

fn run<R>(action: impl FnOnce(Python<'_>) -> PyResult<R>) -> Option<R> {
    let mut action = Some(action);
    // No state is left half changed by a panic: what panics is a bug, and it is reported.
    let mut guarded = |py: Python<'_>| {
        let action = action.take()?;
        let result = catch_unwind(AssertUnwindSafe(|| action(py)));
        result.unwrap_or_else(|panic| Err(bug(panic))).map_err(|error| error.restore(py)).ok()
    };
    // PyO3 counts who is attached. While the interpreter ends it refuses to count further, though
    // destructors of Python objects still call in here.
    match Python::try_attach(&mut guarded) {
        Some(result) => result,
        // SAFETY: the interpreter called this function, so this thread is attached to it.
        None => guarded(unsafe { Python::assume_attached() }),
    }
}

#[cold]
fn bug(panic: Box<dyn Any + Send>) -> PyErr {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    PyRuntimeError::new_err(format!("a bug in interlock: {text}"))
}
