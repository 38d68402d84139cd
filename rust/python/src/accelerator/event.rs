//! The event class.

use interlock::accelerator::{self, Device as CoreDevice, Event as CoreEvent, EventOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::stream;
use crate::detach::{detach, wait};
use crate::device::{self, Device};
use crate::errors::{IntoPyResult, new_type_error};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Event>()
}

/// A mark in a stream, which other streams and threads can wait for. Two events measure the time between them.
///
/// Args:
///     device: The device. None, or a device without an index, means the device of the stream that records it first.
///     enable_timing: Whether the event records the time of its completion.
///     blocking: Whether `synchronize` sleeps until the thread is woken. Otherwise it polls, which has less latency and
///         occupies a CPU core.
///     interprocess: Whether other processes can open the event.
///
/// Raises:
///     NoAcceleratorError: No accelerator is available.
///     DeviceError: The accelerator does not have the device.
///
/// Example:
///     >>> import interlock
///     >>> from interlock import accelerator
///     >>> accelerator.use("host")
///     >>> stream = interlock.Stream()
///     >>> start, end = interlock.Event(enable_timing=True), interlock.Event(enable_timing=True)
///     >>> start.record(stream)
///     >>> end.record(stream)
///     >>> end.synchronize()
///     >>> start.elapsed_time(end) >= 0.0
///     True
#[pyclass(frozen, subclass, weakref, module = "interlock", name = "Event")]
pub(crate) struct Event(pub(super) CoreEvent);

/// Extracts an event as the argument `name`.
pub(super) fn extract<'a, 'py>(given: &'a Bound<'py, PyAny>, name: &str) -> PyResult<&'a Bound<'py, Event>> {
    given.cast::<Event>().map_err(|_| new_type_error(name, "an Event", given))
}

impl Event {
    /// Creates an event of a device with default options.
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
        #[pyo3(from_py_with = switches::event::enable_timing)] enable_timing: bool,
        #[pyo3(from_py_with = switches::event::blocking)] blocking: bool,
        #[pyo3(from_py_with = switches::event::interprocess)] interprocess: bool,
    ) -> PyResult<Self> {
        let device = device::optional(device, "Event")?;
        let options = EventOptions { timing: enable_timing, blocking, interprocess };
        detach(py, || CoreEvent::new(device, options)).into_py_result(py).map(Event)
    }

    /// Open an event that another process created with `interprocess=True`.
    ///
    /// Args:
    ///     device: The device of the event.
    ///     handle: The bytes that `ipc_handle` returned in the other process.
    ///
    /// Raises:
    ///     UnsupportedError: The driver does not support interprocess events.
    ///     TypeError: `handle` is not bytes.
    #[staticmethod]
    #[pyo3(signature = (device, handle))]
    fn from_ipc_handle(device: &Bound<'_, PyAny>, handle: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = device.py();
        let Ok(handle) = handle.cast::<PyBytes>() else {
            return Err(new_type_error("Event.from_ipc_handle: handle", "bytes", handle));
        };
        let handle = handle.as_bytes();
        let device = device::optional(Some(device), "Event.from_ipc_handle")?;
        detach(py, || CoreEvent::import(device, handle)).into_py_result(py).map(Event)
    }

    /// Return the handle as bytes, with which `Event.from_ipc_handle` opens the event in another process.
    ///
    /// Raises:
    ///     AcceleratorError: The event was created without `interprocess=True`.
    ///     UnsupportedError: The driver does not support interprocess events.
    fn ipc_handle<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let handle = detach(py, || self.0.export()).into_py_result(py)?;
        Ok(PyBytes::new(py, &handle))
    }

    /// The device of the event, without an index before the device is known.
    #[getter]
    fn device(&self) -> Device {
        Device::of(self.0.device())
    }

    /// The raw handle of the event as an int, for CUDA a `cudaEvent_t`; 0 before the first record.
    #[getter]
    fn event_id(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.0.handle().into_py_result(py)?.map_or(0, |handle| handle.raw))
    }

    /// Whether the event records the time of its completion.
    #[getter]
    fn enable_timing(&self) -> bool {
        self.0.options().timing
    }

    /// Whether waiting threads sleep instead of polling.
    #[getter]
    fn blocking(&self) -> bool {
        self.0.options().blocking
    }

    /// Whether other processes can open the event.
    #[getter]
    fn interprocess(&self) -> bool {
        self.0.options().interprocess
    }

    /// Record the event after all work that is queued on a stream now. Replaces an earlier record.
    ///
    /// Args:
    ///     stream: A stream of the event's device. None means the current stream of that device.
    ///
    /// Raises:
    ///     AcceleratorError: The stream is of another device.
    ///     TypeError: `stream` is not a stream.
    #[pyo3(signature = (stream=None))]
    fn record(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let stream = stream::optional(stream, "Event.record")?;
        detach(py, || match stream {
            Some(stream) => self.0.record(&stream),
            None => self.0.record(&accelerator::current_stream(Some(self.0.device()))?),
        })
        .into_py_result(py)
    }

    /// Make later work of a stream wait for the current record of the event. Has no effect if it was never recorded.
    ///
    /// Args:
    ///     stream: The stream, of any device. None means the current stream.
    ///
    /// Raises:
    ///     TypeError: `stream` is not a stream.
    #[pyo3(signature = (stream=None))]
    fn wait(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let stream = stream::optional(stream, "Event.wait")?;
        detach(py, || match stream {
            Some(stream) => self.0.block(&stream),
            None => self.0.block(&accelerator::current_stream(None)?),
        })
        .into_py_result(py)
    }

    /// Return whether the event has completed, without blocking; True if it was never recorded.
    ///
    /// Raises:
    ///     AcceleratorError: Queued work has failed, and the error was not reported yet.
    fn query(&self, py: Python<'_>) -> PyResult<bool> {
        detach(py, || self.0.query()).into_py_result(py)
    }

    /// Wait until the event has completed. Returns at once if it was never recorded. Ctrl-C interrupts the wait.
    ///
    /// Raises:
    ///     AcceleratorError: Queued work has failed, and the error was not reported yet.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        wait(py, || self.0.begin_wait())
    }

    /// Return the time from this event to another one in milliseconds.
    ///
    /// Args:
    ///     end_event: The later event, of the same device.
    ///
    /// Raises:
    ///     ArgumentError: An event was created without `enable_timing`, or was never recorded.
    ///     AcceleratorError: An event has not completed, or the events are of different devices.
    #[pyo3(signature = (end_event))]
    fn elapsed_time(&self, end_event: &Bound<'_, PyAny>) -> PyResult<f64> {
        let (py, end) = (end_event.py(), extract(end_event, "Event.elapsed_time: end_event")?);
        let end = &end.get().0;
        detach(py, || self.0.elapsed(end)).into_py_result(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "an Event cannot be pickled or copied; other processes open one by its ipc_handle",
        ))
    }

    fn __repr__(&self) -> String {
        let EventOptions { timing, blocking, interprocess } = self.0.options();
        let options = [(timing, "enable_timing"), (blocking, "blocking"), (interprocess, "interprocess")];
        let options: String =
            options.into_iter().filter(|(on, _)| *on).map(|(_, name)| format!(", {name}=True")).collect();
        format!("interlock.Event(device='{}'{options})", self.0.device())
    }
}
