//! Threads at the end of the interpreter.
//!
//! While the interpreter finalizes, it stops every daemon thread that attaches, before Python 3.14 by unwinding the
//! thread's stack. Unwinding through Rust frames aborts the process. A thread that returns from Rust while handlers of
//! `atexit` run therefore waits a moment for finalization to begin, and if it begins parks until the process exits.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libloading::os::unix::Library;
use once_cell::race::OnceBox;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::thread_count::ThreadCount;
use crate::{context, deferred_drop, registrations};

/// The number of threads that are about to attach.
static REATTACHING: ThreadCount = ThreadCount::new();

/// Whether handlers of `atexit` run. The program may have called them itself, so finalization need not follow.
static EXITING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread finalizes the interpreter; it stays attached until the end.
    static IS_FINALIZING_THREAD: Cell<bool> = const { Cell::new(false) };

    /// Whether this thread has waited for finalization before.
    static HAS_WAITED: Cell<bool> = const { Cell::new(false) };
}

/// What a module that stores Python functions does at the end of the interpreter.
pub(crate) struct StoredFunctions {
    /// Accepts functions, also after an interpreter has ended.
    pub open: fn(Python<'_>),
    /// Ends the waits for functions, which no thread can run any more.
    pub close: fn(Python<'_>),
    /// Releases the functions.
    pub forget: fn(Python<'_>),
}

static STORED: OnceBox<StoredFunctions> = OnceBox::new();

/// Registers [`on_finalize`] with `atexit`.
#[expect(clippy::disallowed_methods, reason = "the first attachment, with its guard")]
pub(crate) fn register_atexit(
    py: Python<'_>,
    module: &Bound<'_, PyModule>,
    stored: StoredFunctions,
) -> PyResult<()> {
    // A program may finalize an interpreter and initialize another.
    EXITING.store(false, Ordering::SeqCst);
    IS_FINALIZING_THREAD.set(false);
    // The first attachment by PyO3 asserts that there is an interpreter. While one ends, that is untrue, and raising an error,
    // which attaches, would panic.
    let _guard = py.detach(|| {
        let guard = ReattachGuard::new();
        Python::attach(|_| ());
        guard
    });
    (STORED.get_or_init(|| Box::new(stored)).open)(py);
    let handler = wrap_pyfunction!(on_finalize, module)?;
    py.import("atexit")?.call_method1("register", (handler,))?;
    Ok(())
}

/// Release the Python functions that the extension stores, and wait until no thread is about to attach.
#[pyfunction]
#[expect(clippy::disallowed_methods, reason = "the thread that finalizes the interpreter")]
fn on_finalize(py: Python<'_>) {
    IS_FINALIZING_THREAD.set(true);
    EXITING.store(true, Ordering::SeqCst);
    context::unwatch(py);
    registrations::forget();
    if let Some(stored) = STORED.get() {
        (stored.forget)(py);
    }
    deferred_drop::drain(py);
    py.detach(|| {
        // The threads need only this thread's attachment, so a longer wait means that another component hangs.
        const TIMEOUT: Duration = Duration::from_secs(1);
        let start = Instant::now();
        while REATTACHING.get() != 0 && start.elapsed() < TIMEOUT {
            std::thread::sleep(Duration::from_micros(100));
        }
    });
}

/// Counts a thread that is about to attach.
pub(crate) struct ReattachGuard;

impl ReattachGuard {
    /// Counts this thread. Does not return if the interpreter finalizes.
    pub(crate) fn new() -> Self {
        Self::unless_finalizing().unwrap_or_else(|| park())
    }

    /// Counts this thread, unless the interpreter finalizes or has ended.
    pub(crate) fn unless_finalizing() -> Option<Self> {
        REATTACHING.increment();
        let guard = ReattachGuard;
        // A program may have unregistered `on_finalize`, so the interpreter is queried as well.
        if !IS_FINALIZING_THREAD.get() && (EXITING.load(Ordering::SeqCst) || is_finalizing() == Some(true)) {
            drop(guard);
            if has_no_interpreter() || finalizes_soon() {
                return None;
            }
            REATTACHING.increment();
            return Some(ReattachGuard);
        }
        Some(guard)
    }
}

impl Drop for ReattachGuard {
    fn drop(&mut self) {
        REATTACHING.decrement();
    }
}

/// Returns whether there is no interpreter, or its finalization has begun.
fn has_no_interpreter() -> bool {
    // SAFETY: the function only reads a variable of the runtime.
    unsafe { ffi::Py_IsInitialized() == 0 }
}

/// Waits a moment for finalization. Returns false if it does not begin, because a handler of `atexit` is still running and
/// may wait for this thread, or because the program called the handlers itself.
fn finalizes_soon() -> bool {
    /// Handlers that were registered before `on_finalize` usually take less, even on a busy machine.
    const FIRST_TIMEOUT: Duration = Duration::from_millis(500);
    /// Shorter, because a handler may wait for a thread that attaches often.
    const LATER_TIMEOUT: Duration = Duration::from_millis(50);
    let timeout = if HAS_WAITED.replace(true) { LATER_TIMEOUT } else { FIRST_TIMEOUT };
    let start = Instant::now();
    while start.elapsed() < timeout {
        // If the interpreter can't be queried, it is safe not to attach.
        if is_finalizing().unwrap_or(true) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// Parks this thread if finalization begins within a moment.
pub(crate) fn park_if_finalizing() {
    if finalizes_soon() {
        park();
    }
}

/// Parks this thread, which may not attach any more, until the process exits.
pub(crate) fn park() -> ! {
    loop {
        std::thread::park();
    }
}

/// Returns whether this thread finalizes the interpreter.
pub(crate) fn is_finalizing_thread() -> bool {
    IS_FINALIZING_THREAD.get()
}

/// Returns whether the interpreter finalizes; `None` if it has no function for that. The thread need not be attached.
pub(crate) fn is_finalizing() -> Option<bool> {
    type IsFinalizing = unsafe extern "C" fn() -> std::ffi::c_int;
    // Not a blocking cell: a child forked while another thread initializes it would wait forever.
    static FUNCTION: OnceBox<Option<IsFinalizing>> = OnceBox::new();
    let function = FUNCTION.get_or_init(|| {
        // The stable ABI lacks the function. CPython exports it, since 3.13 under the public name.
        let names: [&[u8]; 2] = [b"Py_IsFinalizing", b"_Py_IsFinalizing"];
        // SAFETY: both functions have this signature in every version of CPython.
        let found =
            names.into_iter().find_map(|name| unsafe { Library::this().get::<IsFinalizing>(name) }.ok());
        Box::new(found.map(|found| *found))
    });
    // SAFETY: the function only reads a variable of the runtime.
    function.map(|function| unsafe { function() } != 0)
}

/// Closes the queues of Python functions if this thread finalizes the interpreter: no other thread can run Python then,
/// so a wait for a queued function would never end.
pub(crate) fn close_if_finalizing(py: Python<'_>) {
    if mark_if_finalizing(py)
        && let Some(stored) = STORED.get()
    {
        (stored.close)(py);
    }
}

/// Returns whether this thread finalizes the interpreter, and remembers it.
pub(crate) fn mark_if_finalizing(_py: Python<'_>) -> bool {
    let is_finalizing = is_finalizing() == Some(true);
    if is_finalizing {
        // Only the finalizing thread can be attached now. It may differ from the thread that ran the `atexit` handlers.
        IS_FINALIZING_THREAD.set(true);
    }
    is_finalizing
}
