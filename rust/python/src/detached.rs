//! Letting other threads run Python while this one works or waits, up to the very end of the interpreter.
//!
//! An interpreter that ends stops every daemon thread as soon as it wants to be attached again, by unwinding its
//! stack. Rust takes that for a fault and ends the process. So who comes back from Rust while handlers of `atexit`
//! run first waits a moment to see whether the interpreter ends, and if it does is parked until the process has gone.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use interlock::Environment;
use interlock::accelerator::Wait;
use interlock::accelerator::memory::with_stack;
use interlock::base::fork;
use libloading::os::unix::Library;
use once_cell::race::OnceBox;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::IntoPyResult;
use crate::{accelerator, released, stack};

/// How many threads are between the end of their work and being attached again, with the fork generation in the
/// upper half: a child lacks the threads that its parent counted.
static RETURNING: AtomicU64 = AtomicU64::new(0);

/// Whether handlers of `atexit` run: the interpreter ends soon, or they were only called.
static ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// On the thread that ends the interpreter, which is attached to the last.
    static ENDS_IT: Cell<bool> = const { Cell::new(false) };

    /// Whether this thread has waited for the end of the interpreter before.
    static HAS_WAITED: Cell<bool> = const { Cell::new(false) };
}

/// Has the interpreter say when it is about to end.
pub(crate) fn watch_the_end(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    // A program may end an interpreter and begin another.
    ENDING.store(false, Ordering::SeqCst);
    ENDS_IT.set(false);
    accelerator::open_functions(py);
    let end = wrap_pyfunction!(begin_the_end, module)?;
    py.import("atexit")?.call_method1("register", (end,))?;
    Ok(())
}

/// Lets functions of Python go, and waits until no thread is about to be attached.
#[pyfunction]
fn begin_the_end(py: Python<'_>) {
    ENDS_IT.set(true);
    ENDING.store(true, Ordering::SeqCst);
    accelerator::forget_functions(py);
    accelerator::forget_callbacks(py);
    released::let_go(py);
    py.detach(|| {
        // They only wait for this thread to let them be attached. More than a moment is a fault elsewhere.
        const LONGEST: Duration = Duration::from_secs(1);
        let began = Instant::now();
        while Returning::count() != 0 && began.elapsed() < LONGEST {
            std::thread::sleep(Duration::from_micros(100));
        }
    });
}

/// A thread that is about to be attached again.
struct Returning;

impl Returning {
    const ONE: u64 = 1;

    fn of_this_process() -> u64 {
        u64::from(fork::generation()) << 32
    }

    fn count() -> u64 {
        let counted = RETURNING.load(Ordering::SeqCst);
        if counted & !u64::from(u32::MAX) == Self::of_this_process() {
            counted & u64::from(u32::MAX)
        } else {
            0
        }
    }

    /// Changes the count, which begins anew in a forked child.
    fn change(change: impl Fn(u64) -> u64) {
        let changed = |counted: u64| {
            let here = Self::of_this_process();
            let of_parent = counted & !u64::from(u32::MAX) != here;
            Some(change(if of_parent { here } else { counted }))
        };
        // The closure always gives a value.
        let _ = RETURNING.fetch_update(Ordering::SeqCst, Ordering::SeqCst, changed);
    }

    /// Does not return where the interpreter ends.
    fn announced() -> Self {
        Self::change(|counted| counted + Self::ONE);
        let returning = Returning;
        // Without our handler of `atexit`, which a program may have removed, only the interpreter can be asked.
        if !ENDS_IT.get() && (ENDING.load(Ordering::SeqCst) || is_finalizing() == Some(true)) {
            drop(returning);
            wait_for_the_end();
            Self::change(|counted| counted + Self::ONE);
            return Returning;
        }
        returning
    }
}

impl Drop for Returning {
    fn drop(&mut self) {
        let here = Self::of_this_process();
        Self::change(|counted| if counted > here { counted - Self::ONE } else { counted });
    }
}

/// Returns only if the interpreter does not end within a moment, because handlers of `atexit` go on, which may
/// wait for this thread, or because somebody only called them.
fn wait_for_the_end() {
    /// Handlers that were registered before ours mostly take less, also on a busy machine.
    const FIRST_MOMENT: Duration = Duration::from_millis(500);
    /// A handler may wait for a thread that returns often.
    const LATER_MOMENT: Duration = Duration::from_millis(50);
    let moment = if HAS_WAITED.replace(true) { LATER_MOMENT } else { FIRST_MOMENT };
    let began = Instant::now();
    while began.elapsed() < moment {
        // Where it cannot be asked, a thread that comes back now is better parked.
        if is_finalizing().unwrap_or(true) {
            loop {
                std::thread::park();
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Parks this thread until the process has exited, unless it finalizes the interpreter itself. Returns if the
/// interpreter does not end within a moment.
pub(crate) fn stop_if_ending(py: Python<'_>) {
    if !ENDS_IT.get() {
        detached(py, wait_for_the_end);
    }
}

/// Whether the interpreter has begun to stop threads; `None` where it has no function for that. It may be asked without
/// being attached.
fn is_finalizing() -> Option<bool> {
    type Ask = unsafe extern "C" fn() -> std::ffi::c_int;
    // Not a blocking cell: a fork while another thread fills it would leave the child waiting.
    static ASK: OnceBox<Option<Ask>> = OnceBox::new();
    let ask = ASK.get_or_init(|| {
        // The stable ABI has no such function; every CPython has it, since 3.13 under a public name.
        let names: [&[u8]; 2] = [b"Py_IsFinalizing", b"_Py_IsFinalizing"];
        // SAFETY: both have had this signature since they exist.
        let found = names.into_iter().find_map(|name| unsafe { Library::this().get::<Ask>(name) }.ok());
        Box::new(found.map(|found| *found))
    });
    // SAFETY: the function only reads a variable of the runtime.
    ask.map(|ask| unsafe { ask() } != 0)
}

/// Closes the queues of Python functions if this thread finalizes the interpreter. Then no other thread runs Python
/// any more, so that a wait for a function would never end.
pub(crate) fn close_if_finalizing(py: Python<'_>) {
    if is_finalizing() == Some(true) {
        // This thread is attached, and while the interpreter is finalized only one thread can be. It need not be the
        // thread that called the handlers of `atexit`.
        ENDS_IT.set(true);
        accelerator::close_functions(py);
    }
}

/// Calls `work` while other threads run Python.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> T {
    close_if_finalizing(py);
    let stack = stack::if_recorded(py);
    let (result, _returning) = py.detach(|| {
        let result = with_stack(stack, work);
        (result, Returning::announced())
    });
    released::let_go(py);
    result
}

/// The same for work that reads the environment, which another thread may change meanwhile: it reads a copy.
pub(crate) fn detached_with_environment<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> T {
    let environment = Environment::copy();
    detached(py, || environment.during(work))
}

/// Calls `work` attached, in the middle of what this thread does [detached]. An interpreter that ends waits a moment
/// for it. What runs code of a program [is called](call) with care, because it may take longer. `None` where there is
/// no interpreter any more.
pub(crate) fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    let _returning = Returning::announced();
    Python::try_attach(work)
}

/// Calls a function of Python that may still run when the interpreter ends. That stops the thread, before Python 3.14
/// by unwinding its stack, which parks it here instead.
pub(crate) fn call<'py>(
    function: &Bound<'py, PyAny>,
    argument: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    unsafe extern "C-unwind" {
        // PyO3 declares it as one that never unwinds.
        fn PyObject_CallObject(
            function: *mut ffi::PyObject,
            arguments: *mut ffi::PyObject,
        ) -> *mut ffi::PyObject;
    }
    /// Dropped only where the stack is unwound.
    struct Stopped;
    impl Drop for Stopped {
        fn drop(&mut self) {
            loop {
                std::thread::park();
            }
        }
    }
    let arguments = PyTuple::new(function.py(), [argument])?;
    let stopped = Stopped;
    // SAFETY: both are alive, and this thread is attached. Where it unwinds, `stopped` is dropped first and ends that.
    let result = unsafe { PyObject_CallObject(function.as_ptr(), arguments.as_ptr()) };
    std::mem::forget(stopped);
    // SAFETY: it is a new reference, or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), result) }
}

/// Waits while other threads run Python and signals are handled. `begin` says what for.
pub(crate) fn wait(
    py: Python<'_>,
    begin: impl Send + FnOnce() -> interlock::accelerator::Result<Option<Wait>>,
) -> PyResult<()> {
    /// A signal is handled after this time at the latest.
    const SLICE: Duration = Duration::from_millis(20);
    let Some(waiting) = detached(py, begin).into_py_result(py)? else { return Ok(()) };
    while !detached(py, || waiting.wait_timeout(SLICE)).into_py_result(py)? {
        py.check_signals()?;
    }
    Ok(())
}
