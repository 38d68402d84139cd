//! What is allocated while a block of a program runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use interlock::accelerator::Device as CoreDevice;
use interlock::accelerator::memory::{MemoryTracker, TrackerStats};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::accelerator::device;
use crate::autograd::decorated;
use crate::detach::detach;
use crate::errors::IntoPyResult;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Scope>()
}

/// Counts what is allocated on a device while it is open, by all threads: a context manager and a decorator.
///
/// `current` is what was allocated in the block and is still in use, `peak` the most that was so at one time, `total`
/// all that was allocated, in bytes as they were rounded; `allocations` is in how many pieces. They can be read while
/// the block runs, and stay when it is left. Blocks nest; each enter of one object counts anew, and the numbers are
/// those of the last. A decorated generator or coroutine enters it for each of its steps. No device, or one without
/// an index, is the current one when it is entered. Without an accelerator all is 0.
///
/// Raises `DeviceError` for what is no device of the accelerator.
#[pyclass(frozen, weakref, module = "interlock.accelerator.memory", name = "scope")]
struct Scope {
    device: Option<CoreDevice>,
    /// Locked by threads that are attached alone, and for a few steps.
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// What is open, with the thread that entered it; the innermost is the last.
    open: Vec<(ThreadId, Arc<MemoryTracker>)>,
    last: TrackerStats,
}

impl Scope {
    fn with<T>(&self, act: impl FnOnce(&mut Counts) -> T) -> T {
        act(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn counted(&self, py: Python<'_>) -> PyResult<TrackerStats> {
        match self.with(|counts| counts.open.last().map(|(_, open)| open.clone()).ok_or(counts.last)) {
            Ok(open) => detach(py, || open.statistics()).into_py_result(py),
            Err(last) => Ok(last),
        }
    }
}

#[pymethods]
impl Scope {
    #[new]
    #[pyo3(signature = (device=None))]
    fn new(device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Scope { device: device::asked_about(device)?, counts: Mutex::default() })
    }

    /// Bytes that were allocated in the block and are still in use.
    #[getter]
    fn current(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.counted(py)?.current)
    }

    /// The most that `current` was.
    #[getter]
    fn peak(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.counted(py)?.peak)
    }

    /// All bytes that were allocated in the block.
    #[getter]
    fn total(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.counted(py)?.total)
    }

    /// In how many pieces they were.
    #[getter]
    fn allocations(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.counted(py)?.allocations)
    }

    fn __call__<'py>(slf: Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        decorated(slf.as_any(), function)
    }

    fn __enter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let (py, scope) = (slf.py(), slf.get());
        let opened = detach(py, || MemoryTracker::open(scope.device)).into_py_result(py)?;
        scope.with(|counts| counts.open.push((thread::current().id(), Arc::new(opened))));
        Ok(slf)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        let this = thread::current().id();
        let left = self.with(|counts| {
            // A decorated function may run on several threads at once.
            let own = counts.open.iter().rposition(|(thread, _)| *thread == this);
            let place = own.or(counts.open.len().checked_sub(1))?;
            Some(counts.open.remove(place).1)
        });
        let Some(left) = left else { return };
        // A forked child does not know what its parent has counted.
        let counted = detach(py, || left.statistics().unwrap_or_default());
        self.with(|counts| counts.last = counted);
    }
}
