//! Letting other threads run Python while this one works or waits, up to the very end of the interpreter.
//!
//! An interpreter that ends stops every daemon thread as soon as it wants to be attached again, by unwinding its
//! stack. Rust takes that for a fault and ends the process. So such a thread never asks: once the interpreter
//! is about to end, who comes back from Rust is parked until the process has gone.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::IntoPython;

/// Threads between the end of their work and being attached again.
static RETURNING: AtomicU64 = AtomicU64::new(0);
/// Whether the interpreter is about to end.
static ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// On the thread that ends the interpreter, which is attached to the last.
    static ENDS_IT: Cell<bool> = const { Cell::new(false) };
}

/// Has the interpreter say when it is about to end, after `atexit` handlers that are registered later.
pub(crate) fn watch_the_end(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    let end = wrap_pyfunction!(begin_the_end, module)?;
    py.import("atexit")?.call_method1("register", (end,))?;
    let forget = wrap_pyfunction!(forget_other_threads, module)?;
    let arguments = pyo3::types::PyDict::new(py);
    arguments.set_item("after_in_child", forget)?;
    py.import("os")?.call_method("register_at_fork", (), Some(&arguments))?;
    Ok(())
}

/// From now on no other thread comes back to Python from Rust.
#[pyfunction]
fn begin_the_end(py: Python<'_>) {
    ENDS_IT.set(true);
    ENDING.store(true, Ordering::SeqCst);
    crate::accelerator::forget_functions(py);
    py.detach(|| {
        // They only wait for this thread to let them be attached. More than a moment is a fault elsewhere.
        const LONGEST: Duration = Duration::from_secs(1);
        let began = Instant::now();
        while RETURNING.load(Ordering::SeqCst) != 0 && began.elapsed() < LONGEST {
            std::thread::sleep(Duration::from_micros(100));
        }
    });
}

/// In a forked child, which lacks the threads that were counted.
#[pyfunction]
fn forget_other_threads() {
    RETURNING.store(0, Ordering::SeqCst);
}

/// A thread that is about to be attached again.
struct Returning;

impl Returning {
    /// Does not return where the interpreter is about to end.
    fn announced() -> Self {
        RETURNING.fetch_add(1, Ordering::SeqCst);
        let returning = Returning;
        if ENDING.load(Ordering::SeqCst) && !ENDS_IT.get() {
            drop(returning);
            loop {
                std::thread::park();
            }
        }
        returning
    }
}

impl Drop for Returning {
    fn drop(&mut self) {
        // A forked child has begun to count anew.
        let _ = RETURNING.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1));
    }
}

/// Calls `work` while other threads run Python.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> T {
    let (result, _returning) = py.detach(|| {
        let result = work();
        (result, Returning::announced())
    });
    result
}

/// Waits while other threads run Python, and signals are handled: `wait` waits for as long as it is told at most
/// and returns whether what it waits for has come.
pub(crate) fn wait(
    py: Python<'_>,
    wait: impl Sync + Fn(Duration) -> interlock::Result<bool>,
) -> PyResult<()> {
    /// A signal is handled after this time at the latest.
    const SLICE: Duration = Duration::from_millis(20);
    while !detached(py, || wait(SLICE)).into_python(py)? {
        py.check_signals()?;
    }
    Ok(())
}
