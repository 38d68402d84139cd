//! Events.

use interlock::accelerator::{self, Device as CoreDevice, Event as CoreEvent, EventOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::device::{self, Device};
use super::stream;
use crate::detached::{detached, wait};
use crate::errors::IntoPyResult;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Event>()
}

/// A mark in a stream: other streams and threads wait until it is passed, and two of them tell the time between.
///
/// Without a device, or without its index, it belongs to the device of the stream that records it first. With
/// `enable_timing` it notes when it is passed. With `blocking` a thread in `synchronize` sleeps until it is woken,
/// else it asks again and again, which answers sooner and takes a processor. With `interprocess` other
/// processes can open it. Raises `NoAcceleratorError` without an accelerator, `DeviceError` for a device that it
/// does not have.
#[pyclass(frozen, subclass, weakref, module = "interlock", name = "Event")]
pub(crate) struct Event(pub(super) CoreEvent);

impl Event {
    /// An event of a device, for nothing in particular.
    pub(super) fn on(py: Python<'_>, device: CoreDevice) -> PyResult<Self> {
        CoreEvent::new(Some(device), EventOptions::default()).into_py_result(py).map(Event)
    }
}

#[pymethods]
impl Event {
    #[new]
    #[pyo3(signature = (device=None, *, enable_timing=false, blocking=false, interprocess=false))]
    fn new(
        py: Python<'_>,
        device: Option<&Bound<'_, PyAny>>,
        enable_timing: bool,
        blocking: bool,
        interprocess: bool,
    ) -> PyResult<Self> {
        let device = device::optional(device)?;
        let options = EventOptions { timing: enable_timing, blocking, interprocess };
        detached(py, || CoreEvent::new(device, options)).into_py_result(py).map(Event)
    }

    /// An event that another process made with `interprocess=True`, from what its `ipc_handle` returned. Raises
    /// `UnsupportedError` where devices have no such events.
    #[staticmethod]
    #[pyo3(signature = (device, handle))]
    fn from_ipc_handle(device: &Bound<'_, PyAny>, handle: &[u8]) -> PyResult<Self> {
        let py = device.py();
        let device = device::optional(Some(device))?;
        detached(py, || CoreEvent::import(device, handle)).into_py_result(py).map(Event)
    }

    /// What another process opens it with. Raises `UnsupportedError` where devices have no such events.
    fn ipc_handle<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let handle = detached(py, || self.0.export()).into_py_result(py)?;
        Ok(PyBytes::new(py, &handle))
    }

    /// Its device; without an index where it has none yet.
    #[getter]
    fn device(&self) -> Device {
        Device::of(self.0.device())
    }

    /// What other libraries for these devices call it, as a number: on NVIDIA's a `cudaEvent_t`; 0 before it is
    /// recorded.
    #[getter]
    fn event_id(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.0.handle().into_py_result(py)?.map_or(0, |handle| handle.raw))
    }

    /// Whether it notes when it is passed.
    #[getter]
    fn enable_timing(&self) -> bool {
        self.0.options().timing
    }

    /// Whether a thread that waits for it sleeps.
    #[getter]
    fn blocking(&self) -> bool {
        self.0.options().blocking
    }

    /// Whether other processes can open it.
    #[getter]
    fn interprocess(&self) -> bool {
        self.0.options().interprocess
    }

    /// Marks the place after all that is queued on `stream`, or on the current stream of the event's device, in
    /// place of what it marked before. The stream must be of that device.
    #[pyo3(signature = (stream=None))]
    fn record(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let stream = stream::optional(stream)?;
        detached(py, || match stream {
            Some(stream) => self.0.record(&stream),
            None => self.0.record(&accelerator::current_stream(Some(self.0.device()))?),
        })
        .into_py_result(py)
    }

    /// What is queued on `stream` from now on, or on the current stream, waits for what the event marks now; for
    /// nothing if it was never recorded.
    #[pyo3(signature = (stream=None))]
    fn wait(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let stream = stream::optional(stream)?;
        detached(py, || match stream {
            Some(stream) => self.0.block(&stream),
            None => self.0.block(&accelerator::current_stream(None)?),
        })
        .into_py_result(py)
    }

    /// Whether all before the mark has been done; True if it was never recorded. Raises what failed there, if that
    /// was not raised before.
    fn query(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || self.0.query()).into_py_result(py)
    }

    /// Waits until all before the mark has been done. Raises what failed there, if that was not raised before.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        wait(py, || self.0.begin_wait())
    }

    /// Return the milliseconds from this event to `end_event`. Raises `ArgumentError`, a ValueError, unless both were made
    /// with `enable_timing` and recorded; `AcceleratorError` before both have been passed.
    #[pyo3(signature = (end_event))]
    fn elapsed_time(&self, py: Python<'_>, end_event: &Event) -> PyResult<f64> {
        detached(py, || self.0.elapsed(&end_event.0)).into_py_result(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "an Event can't leave its process; other processes open one by its ipc_handle",
        ))
    }

    fn __repr__(&self) -> String {
        let EventOptions { timing, blocking, interprocess } = self.0.options();
        let made_for = [(timing, "enable_timing"), (blocking, "blocking"), (interprocess, "interprocess")];
        let made_for: String =
            made_for.into_iter().filter(|(on, _)| *on).map(|(_, name)| format!(", {name}=True")).collect();
        format!("interlock.Event(device='{}'{made_for})", self.0.device())
    }
}
