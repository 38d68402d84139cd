//! Detaching from the interpreter: releases the GIL, so that other threads run Python while this one works or waits.

use std::time::Duration;

use interlock::accelerator::Wait;
use interlock::accelerator::memory::with_stack;
use interlock_core::base::blocking::{self, Interpreter};
use interlock_core::base::env::EnvSnapshot;
use interlock_core::base::once_call::OnceCall;
use interlock_core::base::sync::RelaxedU64;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use pyo3::{BoundObject, IntoPyObjectExt, ffi};

use crate::attached::is_attached;
use crate::context::{self, sync};
use crate::errors::IntoPyResult;
use crate::shutdown::{ReattachGuard, close_if_finalizing, mark_if_finalizing, park};
use crate::traverse::{CollectionBarrier, is_traversing};
use crate::{deferred_drop, py_stack};

/// The number of times that a thread has detached, for tests.
static DETACHES: RelaxedU64 = RelaxedU64::new(0);

/// Return how often threads have detached from the interpreter.
#[pyfunction]
pub(crate) fn _detach_count() -> u64 {
    DETACHES.get()
}

/// Makes each wait of the crates below detach.
pub(crate) fn install_wait_hooks() {
    // A collector must not detach. The locks that it waits for are held for a few loads and stores.
    let must_detach = || !is_traversing() && is_attached();
    // SAFETY: the function calls its argument once, on its thread.
    unsafe { blocking::set_interpreter(Interpreter { must_detach, detach: wait_for_lock }) };
}

/// Calls `work`, which waits for other threads, detached. This thread is attached. Unlike [`detach`] it runs no Python
/// code afterwards, because the thread may hold locks.
#[expect(clippy::disallowed_methods, reason = "one of three places that detach")]
fn wait_for_lock(work: &mut dyn FnMut()) {
    struct OnThisThread<'a>(&'a mut dyn FnMut());
    // SAFETY: `Python::detach` calls its argument on the same thread. It requires `Send` of functions that use no Python
    // object, as the contract of `blocking::detached` says.
    unsafe impl Send for OnThisThread<'_> {}
    impl OnThisThread<'_> {
        fn call(self) {
            (self.0)();
        }
    }
    // SAFETY: this thread is attached.
    let py = unsafe { Python::assume_attached() };
    mark_if_finalizing(py);
    DETACHES.add(1);
    let _held = CollectionBarrier::new();
    let work = OnThisThread(work);
    let _guard = py.detach(|| {
        work.call();
        ReattachGuard::new()
    });
}

/// Calls `work` detached from the interpreter.
#[inline]
pub(crate) fn detach<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> T {
    let mut call = OnceCall::new(work);
    run_detached(py, &mut || call.run());
    call.into_result()
}

/// Calls `work` once, as [`detach`] does.
#[expect(clippy::disallowed_methods, reason = "one of three places that detach")]
pub(crate) fn run_detached(py: Python<'_>, work: &mut (dyn FnMut() + Send)) {
    close_if_finalizing(py);
    // `work` reads the state of the context as of now.
    sync(py);
    let stack = py_stack::capture_if_enabled(py);
    DETACHES.add(1);
    let _held = CollectionBarrier::new();
    let _guard = py.detach(|| {
        with_stack(stack, work);
        ReattachGuard::new()
    });
    deferred_drop::drain(py);
}

/// Calls `wait` detached. Unlike [`detach`] it does not keep a garbage collector from visiting objects, because threads
/// of a program may wait all the time. `wait` clones no tensor and nothing else that [`traverse`](crate::traverse) visits: an object that
/// is only released meanwhile is visited in fewer traversals, or in later ones, and so appears to be reachable.
#[inline]
pub(crate) fn detach_to_wait<T: Send>(py: Python<'_>, wait: impl Send + FnOnce() -> T) -> T {
    let mut call = OnceCall::new(wait);
    wait_detached(py, &mut || call.run());
    call.into_result()
}

/// Calls `wait` once, as [`detach_to_wait`] does.
#[expect(clippy::disallowed_methods, reason = "one of three places that detach")]
fn wait_detached(py: Python<'_>, wait: &mut (dyn FnMut() + Send)) {
    close_if_finalizing(py);
    DETACHES.add(1);
    let _guard = py.detach(|| {
        wait();
        ReattachGuard::new()
    });
    deferred_drop::drain(py);
}

/// Calls `work` detached, with a copy of the environment variables: another thread may change them meanwhile.
pub(crate) fn detach_with_env<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> T {
    let environment = EnvSnapshot::copy();
    detach(py, || environment.scope(work))
}

/// Calls `work` attached; returns `None` if there is no interpreter any more. If this attaches the thread, the end of the
/// interpreter waits a moment for `work`. Code of the program may take longer, so `work` runs it with [`call`].
#[inline]
pub(crate) fn attach<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    let (mut work, mut result) = (Some(work), None);
    run_synced(&mut |py| result = work.take().map(|work| work(py)));
    result
}

/// Calls `work` once, as [`attach`] does, unless there is no interpreter any more.
fn run_synced(work: &mut dyn FnMut(Python<'_>)) {
    run_attached(&mut |py| {
        sync(py);
        work(py);
    });
}

/// Calls `work` as [`attach`] does, without a look at the state of the context: for code that runs while the values of a
/// context replace those of another, when hooks must not be called yet.
#[inline]
pub(crate) fn attach_unsynced<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    let (mut work, mut result) = (Some(work), None);
    run_attached(&mut |py| result = work.take().map(|work| work(py)));
    result
}

/// Calls `work` once, as [`attach_unsynced`] does, unless there is no interpreter any more.
#[expect(clippy::disallowed_methods, reason = "the one place that attaches")]
fn run_attached(work: &mut dyn FnMut(Python<'_>)) {
    if is_attached() {
        // `None`: there is no interpreter.
        let _ = Python::try_attach(work);
        return;
    }
    blocking::assert_may_wait();
    // Not parked without one: a thread of the program may work after the end of the interpreter.
    let Some(_guard) = ReattachGuard::unless_finalizing() else { return };
    let _ = Python::try_attach(work);
    context::leave_if_foreign();
}

/// Calls a Python function that may still run when the interpreter finalizes. The interpreter then stops the thread,
/// before Python 3.14 by unwinding its stack; the thread parks here instead.
pub(crate) fn call<'py>(
    function: &Bound<'py, PyAny>,
    argument: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    call_with(function, (argument,))
}

/// Like [`call`], with any number of arguments.
pub(crate) fn call_with<'py>(
    function: &Bound<'py, PyAny>,
    arguments: impl IntoPyObject<'py, Target = PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let arguments = arguments.into_pyobject_or_pyerr(function.py())?.into_bound();
    call_with_keywords(function, &arguments, None)
}

/// Calls a method as [`call`] does.
pub(crate) fn call_method<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    arguments: impl IntoPyObject<'py, Target = PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    call_with(&object.getattr(name)?, arguments)
}

/// Like [`call_with`], with keyword arguments.
pub(crate) fn call_with_keywords<'py>(
    function: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    type Call = unsafe extern "C-unwind" fn(
        *mut ffi::PyObject,
        *mut ffi::PyObject,
        *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
    /// Dropped only while the stack is unwound.
    struct ParkOnUnwind;
    impl Drop for ParkOnUnwind {
        fn drop(&mut self) {
            park();
        }
    }
    let guard = ParkOnUnwind;
    let keywords = keywords.map_or(std::ptr::null_mut(), Bound::as_ptr);
    // PyO3 declares a function that never unwinds. The optimizer, which would drop `guard` for such a call, must not see
    // which function the pointer is of.
    let call = std::hint::black_box(ffi::PyObject_Call as *const ());
    // SAFETY: C calls functions of both ABIs in the same way.
    let call = unsafe { std::mem::transmute::<*const (), Call>(call) };
    // SAFETY: the objects are alive, or the keywords null, and this thread is attached. If the call unwinds, `guard` parks
    // the thread.
    let result = unsafe { call(function.as_ptr(), arguments.as_ptr(), keywords) };
    std::mem::forget(guard);
    // SAFETY: the result is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), result) }
}

/// Waits detached and handles signals meanwhile. `begin` returns the wait, or `None` if there is nothing to wait for.
pub(crate) fn wait(
    py: Python<'_>,
    begin: impl Send + FnOnce() -> interlock::accelerator::Result<Option<Wait>>,
) -> PyResult<()> {
    /// The longest time until a signal is handled.
    const SLICE: Duration = Duration::from_millis(20);
    let Some(waiting) = detach(py, begin).into_py_result(py)? else { return Ok(()) };
    while !detach_to_wait(py, || waiting.wait_timeout(SLICE)).into_py_result(py)? {
        py.check_signals()?;
    }
    Ok(())
}
