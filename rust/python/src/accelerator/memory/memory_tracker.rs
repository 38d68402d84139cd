//! Counters of allocations during a block of a program.

use std::sync::Arc;
use std::thread::{self, ThreadId};

use interlock::accelerator::Device as CoreDevice;
use interlock::accelerator::memory::{MemoryTracker, TrackerStats};
use interlock_core::base::mutex::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::accelerator::device;
use crate::autograd::decorated;
use crate::detach::detach;
use crate::errors::IntoPyResult;
use crate::scope_debug;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Tracker>()
}

/// Context manager and decorator that counts the allocations of all threads on a device during a block.
///
/// The counts can be read during and after the block. Sizes are in bytes after rounding. Blocks can be nested; each
/// entry starts new counts, and the properties return those of the last one. A decorated generator or coroutine enters
/// the block for each of its steps. Without an accelerator all counts are 0.
///
/// Args:
///     device: The device. None, or a device without an index, means the current device when the block is entered.
///
/// Raises:
///     DeviceError: The accelerator does not have the device.
///
/// Example:
///     >>> from interlock import accelerator
///     >>> accelerator.use("host")
///     >>> with accelerator.memory.MemoryTracker() as tracker:
///     ...     buffer = accelerator.memory.Buffer(1000)
///     >>> tracker.allocations, tracker.current
///     (1, 1024)
#[pyclass(frozen, weakref, module = "interlock.accelerator.memory", name = "MemoryTracker")]
struct Tracker {
    device: Option<CoreDevice>,
    /// Locked only by attached threads, and briefly.
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// The open core trackers with the threads that entered them, innermost last.
    open: Vec<(ThreadId, Arc<MemoryTracker>)>,
    last: TrackerStats,
}

impl Tracker {
    fn with<T>(&self, action: impl FnOnce(&mut Counts) -> T) -> T {
        action(&mut self.counts.lock())
    }

    fn counted(&self, py: Python<'_>) -> PyResult<TrackerStats> {
        match self.with(|counts| counts.open.last().map(|(_, open)| open.clone()).ok_or(counts.last)) {
            Ok(open) => detach(py, || open.statistics()).into_py_result(py),
            Err(last) => Ok(last),
        }
    }
}

#[pymethods]
impl Tracker {
    #[new]
    #[pyo3(signature = (device=None))]
    fn new(device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Tracker {
            device: device::for_memory_query(device, "accelerator.memory.MemoryTracker")?,
            counts: Mutex::default(),
        })
    }

    /// The bytes that were allocated in the block and are still in use.
    #[getter]
    fn current(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.counted(py)?.current)
    }

    /// The peak of `current` in the block, in bytes.
    #[getter]
    fn peak(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.counted(py)?.peak)
    }

    /// All bytes that were allocated in the block.
    #[getter]
    fn total(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.counted(py)?.total)
    }

    /// The number of allocations in the block.
    #[getter]
    fn allocations(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.counted(py)?.allocations)
    }

    fn __call__<'py>(slf: Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        decorated(slf.as_any(), function)
    }

    fn __repr__(&self) -> String {
        let device = self.device.map_or_else(|| "None".to_owned(), |device| format!("'{device}'"));
        format!("interlock.accelerator.memory.MemoryTracker({device})")
    }

    fn __enter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let (py, tracker) = (slf.py(), slf.get());
        let opened = detach(py, || MemoryTracker::open(tracker.device)).into_py_result(py)?;
        tracker.with(|counts| counts.open.push((thread::current().id(), Arc::new(opened))));
        Ok(slf)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        let this = thread::current().id();
        let exited = self.with(|counts| {
            // A decorated function may run on several threads at once.
            let own = counts.open.iter().rposition(|(thread, _)| *thread == this);
            let index = own.or(counts.open.len().checked_sub(1))?;
            Some(counts.open.remove(index).1)
        });
        let Some(exited) = exited else { return scope_debug::warn_not_open(py, "MemoryTracker") };
        // In a forked child the counts of the parent are not available.
        let counted = detach(py, || exited.statistics().unwrap_or_default());
        self.with(|counts| counts.last = counted);
        Ok(())
    }
}
