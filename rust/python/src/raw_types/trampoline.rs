//! Trampolines for functions that the interpreter calls: they turn panics and Rust errors into Python exceptions.

use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;

/// Runs `action` without the cost of a `Python` token. Returns null with an exception set if it panics.
#[inline]
pub(crate) fn catch_panic(action: impl FnOnce() -> *mut ffi::PyObject) -> *mut ffi::PyObject {
    match catch_unwind(AssertUnwindSafe(action)) {
        Ok(object) => object,
        Err(panic) => ffi_ptr(|_| Err(bug(panic))),
    }
}

/// Runs `action` and returns its object. Returns null with an exception set if it fails or panics.
#[inline]
pub(crate) fn ffi_ptr(action: impl FnOnce(Python<'_>) -> PyResult<*mut ffi::PyObject>) -> *mut ffi::PyObject {
    let (mut action, mut object) = (Some(action), std::ptr::null_mut());
    run(&mut |py| {
        object = action.take().map_or(Ok(object), |action| action(py))?;
        Ok(())
    });
    object
}

/// Runs `action` and returns 0. Returns -1 with an exception set if it fails or panics.
#[inline]
pub(crate) fn ffi_status(action: impl FnOnce(Python<'_>) -> PyResult<()>) -> c_int {
    let mut action = Some(action);
    if run(&mut |py| action.take().map_or(Ok(()), |action| action(py))) { 0 } else { -1 }
}

/// Runs `action` without the cost of a `Python` token and returns 0 if it returns true. Otherwise runs `fallback` with
/// [`ffi_status`].
#[inline]
pub(crate) fn catch_panic_status(
    action: impl FnOnce() -> bool,
    fallback: impl FnOnce(Python<'_>) -> PyResult<()>,
) -> c_int {
    match catch_unwind(AssertUnwindSafe(action)) {
        Ok(true) => 0,
        Ok(false) => ffi_status(fallback),
        Err(panic) => ffi_status(|_| Err(bug(panic))),
    }
}

/// Calls `action` once and returns true. Returns false with an exception set if it fails or panics.
#[expect(clippy::disallowed_methods, reason = "the interpreter has attached the thread")]
fn run(action: &mut dyn FnMut(Python<'_>) -> PyResult<()>) -> bool {
    // `AssertUnwindSafe`: a panic is a bug that is reported, and no state is used that it could leave inconsistent.
    let mut guarded = |py: Python<'_>| {
        let result = catch_unwind(AssertUnwindSafe(|| action(py)));
        result.unwrap_or_else(|panic| Err(bug(panic))).map_err(|error| error.restore(py)).is_ok()
    };
    // While the interpreter finalizes, PyO3 refuses to attach, although destructors of Python objects still call this
    // function on the attached thread.
    match Python::try_attach(&mut guarded) {
        Some(is_ok) => is_ok,
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
