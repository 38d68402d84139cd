//! Exceptions of functions of the program that the code in between cannot return, raised when Python code runs next.

use std::cell::Cell;
use std::ffi::c_long;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyStopIteration;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::deferred_drop::DeferredDrop;

thread_local! {
    /// The exception that was raised last; while exceptions are collected, the first one.
    static LATER: Cell<Option<DeferredDrop>> = const { Cell::new(None) };
    /// Whether [`collected`] runs.
    static IS_COLLECTING: Cell<bool> = const { Cell::new(false) };
}

/// Whether an exception of any thread was ever raised later, so that scopes do not look for one before.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Lets the interpreter raise an exception of this class on this thread at the next call or jump of Python code, unless
/// [`take`] returns the exception itself before.
pub(crate) fn raise_later(py: Python<'_>, exception: PyErr) {
    IS_USED.store(true, Ordering::Relaxed);
    set_async(exception.get_type(py).as_ptr());
    let exception = DeferredDrop::new(exception.into_value(py).into_bound(py));
    // Ignored on a thread that is ending.
    let _ = LATER.try_with(|later| {
        let first = later.take().filter(|_| IS_COLLECTING.get());
        later.set(Some(first.unwrap_or(exception)));
    });
}

/// Forgets an exception that the interpreter raises, or has raised, unless exceptions are collected.
#[inline]
pub(crate) fn forget() {
    if is_used() && !IS_COLLECTING.get() {
        drop(LATER.try_with(Cell::take));
    }
}

/// Calls a function that may call several functions of the program, and returns the first exception that one raised later.
pub(crate) fn collected<R>(py: Python<'_>, function: impl FnOnce() -> PyResult<R>) -> PyResult<R> {
    forget();
    let outer = IS_COLLECTING.replace(true);
    let result = function();
    IS_COLLECTING.set(outer);
    take(py).map_or(result, Err)
}

/// Returns false if no exception was ever raised later.
#[inline]
pub(crate) fn is_used() -> bool {
    IS_USED.load(Ordering::Relaxed)
}

/// Returns the exception of [`raise_later`] since [`forget`], which the interpreter then does not raise.
pub(crate) fn take(py: Python<'_>) -> Option<PyErr> {
    let exception = LATER.try_with(Cell::take).ok().flatten()?;
    set_async(ptr::null_mut());
    if py.version_info() < (3, 12) {
        end_search(py);
    }
    Some(PyErr::from_value(exception.bind(py).clone()))
}

/// Lets the interpreter raise an exception, which is dropped. CPython 3.11 looks for a removed one until it raises one: at each
/// check for signals, and without an end in a function that is traced.
fn end_search(py: Python<'_>) {
    // A collection would raise it in a callback of `gc.callbacks`.
    // SAFETY: this thread is attached to the interpreter.
    let collects = unsafe { ffi::PyGC_Disable() } != 0;
    set_async(py.get_type::<PyStopIteration>().as_ptr());
    let ended = py.eval(c"None", None, None);
    if collects {
        // SAFETY: this thread is attached to the interpreter.
        unsafe { ffi::PyGC_Enable() };
    }
    if let Err(raised) = ended
        && !raised.is_instance_of::<PyStopIteration>(py)
    {
        // A signal handler has raised it.
        raise_later(py, raised);
    }
}

fn set_async(class: *mut ffi::PyObject) {
    // SAFETY: the callers are attached; the class is valid or null, which removes the one that was set. The function takes
    // the bits of the number as signed.
    unsafe { ffi::PyThreadState_SetAsyncExc(ffi::PyThread_get_thread_ident() as c_long, class) };
}
