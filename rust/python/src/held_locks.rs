//! Locks that are held in a block of Python.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::detach::{attach_unsynced, call_method};
use crate::switches::extract_as;

/// A context manager that acquires `threading.RLock` objects, in their order. Its target is whether it could acquire
/// all in time.
///
/// CPython looks for no signal between `__enter__` of a native class and the block of `with`, so that an interrupt leaves no
/// lock acquired. Where it does (3.14), the locks are released with the object.
#[pyclass(module = "interlock._core.state")]
pub(crate) struct HeldLocks {
    locks: Vec<Py<PyAny>>,
    seconds: f64,
    /// The number of locks that are acquired.
    held: usize,
}

#[pymethods]
impl HeldLocks {
    #[new]
    fn new(locks: &Bound<'_, PyAny>, seconds: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(HeldLocks {
            locks: extract_as("HeldLocks: locks", "a sequence of locks", locks)?,
            seconds: extract_as("HeldLocks: seconds", "a number", seconds)?,
            held: 0,
        })
    }

    fn __enter__(&mut self, py: Python<'_>) -> PyResult<bool> {
        let entered = self.acquire(py);
        if entered.is_err() {
            self.release(py);
        }
        entered
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&mut self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        self.release(py);
    }
}

impl HeldLocks {
    fn acquire(&mut self, py: Python<'_>) -> PyResult<bool> {
        let acquire = intern!(py, "acquire");
        for lock in &self.locks {
            let lock = lock.bind(py);
            let is_free = lock.call_method1(acquire, (false,))?.is_truthy()?;
            if !is_free
                && (self.seconds <= 0.0 || !call_method(lock, acquire, (true, self.seconds))?.is_truthy()?)
            {
                return Ok(false);
            }
            self.held += 1;
        }
        Ok(true)
    }

    fn release(&mut self, py: Python<'_>) {
        while let Some(index) = self.held.checked_sub(1) {
            self.held = index;
            let Some(lock) = self.locks.get(index) else { continue };
            if let Err(error) = lock.call_method0(py, intern!(py, "release")) {
                error.write_unraisable(py, Some(lock.bind(py)));
            }
        }
    }
}

impl Drop for HeldLocks {
    fn drop(&mut self) {
        if self.held > 0 {
            attach_unsynced(|py| {
                // The exception that ended the block.
                let pending = PyErr::take(py);
                self.release(py);
                if let Some(error) = pending {
                    error.restore(py);
                }
            });
        }
    }
}
