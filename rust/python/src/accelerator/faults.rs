//! Faults of the host driver, for tests.

use std::sync::Mutex;

use interlock::accelerator::host::{self, LiveObjects};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::device;
use crate::detach::detach;
use crate::errors::IntoPyResult;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<FaultInjector>()?;
    module.add_class::<PausedCopies>()
}

/// Makes devices of the host driver misbehave, to test how a program takes it: `accelerator.use("host",
/// faults=faults)`. One object for each driver.
///
/// Methods raise `NoAcceleratorError` where no host driver was made with it in this process. A forked child's driver
/// is another one, which is made when a device is used there and begins without faults.
#[pyclass(frozen, module = "interlock.testing", name = "FaultInjector")]
pub(super) struct FaultInjector(pub(super) host::FaultInjector);

#[pymethods]
impl FaultInjector {
    #[new]
    fn new() -> Self {
        FaultInjector(host::FaultInjector::new())
    }

    /// The `number`th time from now on that the driver is asked for memory it has none; 1 is the next. What is kept
    /// is given back then, and the driver asked once more. None takes that back.
    #[pyo3(signature = (number))]
    fn fail_allocation(&self, py: Python<'_>, number: Option<u64>) -> PyResult<()> {
        self.0.fail_allocation(number).into_py_result(py)
    }

    /// As `fail_allocation`, for pinned memory. What is kept of it is given back, and the driver asked again, before
    /// anybody is told.
    #[pyo3(signature = (number))]
    fn fail_pinned_allocation(&self, py: Python<'_>, number: Option<u64>) -> PyResult<()> {
        self.0.fail_pinned_allocation(number).into_py_result(py)
    }

    /// The next function that is launched does not run, and fails late for this reason. Called twice, the next two
    /// do. What a graph records counts when it is replayed.
    #[pyo3(signature = (reason))]
    fn fail_next_launch(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        self.0.fail_next_launch(reason).into_py_result(py)
    }

    /// As `fail_next_launch`, for copies.
    #[pyo3(signature = (reason))]
    fn fail_next_copy(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        self.0.fail_next_copy(reason).into_py_result(py)
    }

    /// As `fail_next_launch`, for fills.
    #[pyo3(signature = (reason))]
    fn fail_next_fill(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        self.0.fail_next_fill(reason).into_py_result(py)
    }

    /// A device is gone for good: every call that reaches it raises `DeviceLostError`, and so does waiting for
    /// what is queued on it.
    #[pyo3(signature = (device, reason))]
    fn lose_device(&self, device: &Bound<'_, PyAny>, reason: &str) -> PyResult<()> {
        let py = device.py();
        let index = device::with_index(device, "FaultInjector.lose_device")?.index().unwrap_or(0);
        detach(py, || self.0.lose_device(index, reason)).into_py_result(py)
    }

    /// No copy begins until the object that this returns is released, or the `with` block is left.
    fn pause_copies(&self, py: Python<'_>) -> PyResult<PausedCopies> {
        self.0.pause_copies().into_py_result(py).map(|hold| PausedCopies(Mutex::new(Some(hold))))
    }

    /// How many objects of the driver there are, by what they are: for tests of leaks.
    fn live_objects<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let LiveObjects {
            streams,
            events,
            graphs,
            executables,
            replay_streams,
            captures,
            threads,
            commands,
            bytes,
            pinned_bytes,
        } = self.0.live_objects().into_py_result(py)?;
        let counts = PyDict::new(py);
        for (name, count) in [
            ("streams", streams),
            ("events", events),
            ("graphs", graphs),
            ("executables", executables),
            ("replay_streams", replay_streams),
            ("captures", captures),
            ("threads", threads),
        ] {
            counts.set_item(name, count)?;
        }
        for (name, count) in [("commands", commands), ("bytes", bytes), ("pinned_bytes", pinned_bytes)] {
            counts.set_item(name, count)?;
        }
        Ok(counts)
    }
}

/// Copies that have not begun do not begin until it is released.
#[pyclass(frozen, module = "interlock.testing", name = "PausedCopies")]
struct PausedCopies(Mutex<Option<host::PausedCopies>>);

impl PausedCopies {
    /// What is done with the hold takes no time, and never waits for Python.
    fn with<R>(&self, action: impl FnOnce(&mut Option<host::PausedCopies>) -> R) -> R {
        action(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

#[pymethods]
impl PausedCopies {
    /// Lets one copy begin, of those that wait for nothing else; False where there is none. What a copy waits for
    /// may not have been done yet: synchronize an event that was recorded before it first.
    fn step(&self, py: Python<'_>) -> bool {
        detach(py, || self.with(|hold| hold.as_ref().is_some_and(host::PausedCopies::step)))
    }

    /// Lets copies begin again, unless something else holds them.
    fn release(&self, py: Python<'_>) {
        detach(py, || drop(self.with(Option::take)));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        self.release(py);
    }
}
