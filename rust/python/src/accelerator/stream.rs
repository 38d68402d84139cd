//! The stream class, and the extraction of stream arguments.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use interlock::accelerator::{
    Device as CoreDevice, DeviceScope, DeviceType, Stream as CoreStream, StreamKind,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

use super::event::{self, Event};
use crate::args;
use crate::context::traverse_scope;
use crate::deferred_drop::DeferredDrop;
use crate::detach::{call_with, detach, wait};
use crate::device::{self, Device};
use crate::errors::{IntoPyResult, new_type_error, shown};
use crate::py_int;
use crate::scope_debug;
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Stream>()
}

/// A queue of work for one device. The work of one stream runs in order, independently of other streams.
///
/// `with stream:` makes it the current stream of its device in this context, and that device the current one.
/// `Stream(stream_id=..., device_index=..., device_type=...)` returns an existing stream.
///
/// Args:
///     device: The device. None, or a device without an index, means the current device.
///     priority: 0 or less. Streams with smaller numbers run first; numbers below the range of the device
///         (`accelerator.stream_priority_range`) mean its greatest priority.
///     dedicated: Whether to create a new stream. Otherwise the 32 pooled streams of the device and priority are
///         returned in turn, so another part of the program may use the same stream.
///     stream_id: The id of an existing stream, with `device_index` and `device_type`.
///     device_index: The index of its device.
///     device_type: The number of its device type.
///
/// Raises:
///     NoAcceleratorError: No accelerator is available.
///     DeviceError: The accelerator does not have the device.
///     ArgumentError: The priority is above 0, or no stream has these numbers.
///     TypeError: A device was passed together with numbers, or only some of the numbers.
///
/// Example:
///     >>> import interlock
///     >>> from interlock import accelerator
///     >>> accelerator.use("host")
///     >>> stream = interlock.Stream(priority=-1)
///     >>> with stream:
///     ...     accelerator.current_stream() == stream
///     True
#[pyclass(frozen, subclass, weakref, module = "interlock", name = "Stream")]
pub(crate) struct Stream {
    pub(super) core: CoreStream,
    scope: DeviceScope,
}

impl Stream {
    pub(super) fn of(core: CoreStream) -> Self {
        Stream { scope: DeviceScope::from_stream(&core), core }
    }
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (device=None, *, priority=0, dedicated=false, stream_id=None, device_index=None, device_type=None))]
    fn new(
        py: Python<'_>,
        device: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = extract_priority)] priority: i32,
        #[pyo3(from_py_with = switches::stream::dedicated)] dedicated: bool,
        stream_id: Option<&Bound<'_, PyAny>>,
        device_index: Option<&Bound<'_, PyAny>>,
        device_type: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        const ALIVE: &str = "the number of a live stream";
        let stream_id = args::extract_optional_int(stream_id, "Stream: stream_id", ALIVE)?;
        let device_index = args::extract_optional_int(device_index, "Stream: device_index", ALIVE)?;
        let device_type = args::extract_optional_int(device_type, "Stream: device_type", ALIVE)?;
        match (stream_id, device_index, device_type) {
            (None, None, None) => {
                let device = device::optional(device, "Stream")?;
                let stream = detach(py, || match dedicated {
                    true => CoreStream::dedicated(device, priority),
                    false => CoreStream::new(device, priority),
                });
                Ok(Stream::of(stream.into_py_result(py)?))
            }
            (Some(id), Some(index), Some(kind)) if device.is_none() && priority == 0 && !dedicated => {
                of_id(py, id, index, kind)
            }
            _ => Err(PyTypeError::new_err(
                "Stream: pass a device, priority and dedicated, or stream_id, device_index and device_type together",
            )),
        }
    }

    /// The device of the stream.
    #[getter]
    fn device(&self) -> Device {
        Device::of(self.core.device())
    }

    /// The index of the device.
    #[getter]
    fn device_index(&self) -> u8 {
        self.core.device_index()
    }

    /// The number of the device type.
    #[getter]
    fn device_type(&self) -> u32 {
        self.core.device().kind().number()
    }

    /// The id, which is unique on the device while the stream is alive; 0 for the default stream.
    #[getter]
    fn stream_id(&self) -> i64 {
        self.core.id()
    }

    /// The priority, limited to the range of the device. Streams with smaller numbers run first.
    #[getter]
    fn priority(&self) -> i32 {
        self.core.priority()
    }

    /// Whether the stream was created with `dedicated=True`. Otherwise it is a default stream, a pooled stream or a
    /// stream of another library.
    #[getter]
    fn dedicated(&self) -> bool {
        self.core.kind() == StreamKind::Dedicated
    }

    /// The raw handle of the stream as an int, for CUDA a `cudaStream_t`.
    #[getter]
    fn native_handle(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.core.handle().into_py_result(py)?.raw)
    }

    /// Return version 0 and the raw handle: the CUDA stream protocol for other libraries.
    fn __cuda_stream__(&self, py: Python<'_>) -> PyResult<(u32, u64)> {
        Ok((0, self.native_handle(py)?))
    }

    /// Return whether all queued work is done, without blocking.
    ///
    /// Raises:
    ///     AcceleratorError: Queued work has failed, and the error was not reported yet.
    fn query(&self, py: Python<'_>) -> PyResult<bool> {
        detach(py, || self.core.query()).into_py_result(py)
    }

    /// Wait for all queued work. Ctrl-C interrupts the wait.
    ///
    /// Raises:
    ///     AcceleratorError: Queued work has failed, and the error was not reported yet.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        wait(py, || self.core.begin_wait().map(Some))
    }

    /// Record an event after all queued work.
    ///
    /// Args:
    ///     event: An event of the stream's device. None creates one with default options.
    ///
    /// Returns:
    ///     The event.
    ///
    /// Raises:
    ///     AcceleratorError: The event is of another device.
    #[pyo3(signature = (event=None))]
    fn record_event<'py>(
        &self,
        py: Python<'py>,
        event: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Event>> {
        let event = match event {
            Some(event) => event::extract(event, "Stream.record_event: event")?.clone(),
            None => Bound::new(py, Event::on(py, self.core.device())?)?,
        };
        let core = &event.get().0;
        detach(py, || self.core.record_event(core)).into_py_result(py)?;
        Ok(event)
    }

    /// Make later work of this stream wait for the current record of an event. Does not block the calling thread.
    ///
    /// Args:
    ///     event: The event, of any device. An event that was never recorded has no effect.
    #[pyo3(signature = (event))]
    fn wait_event(&self, event: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, event) = (event.py(), event::extract(event, "Stream.wait_event: event")?);
        let event = &event.get().0;
        detach(py, || self.core.wait_event(event)).into_py_result(py)
    }

    /// Make later work of this stream wait for all work that is queued on another stream now. Does not block the
    /// calling thread.
    ///
    /// Args:
    ///     stream: The other stream, on any device: a `Stream`, or an object with `__cuda_stream__`.
    ///
    /// Raises:
    ///     TypeError: `stream` is not a stream.
    #[pyo3(signature = (stream))]
    fn wait_stream(&self, stream: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = stream.py();
        let other = extract(stream, "Stream.wait_stream")?;
        detach(py, || self.core.wait_stream(&other)).into_py_result(py)
    }

    /// Return whether the stream is being captured into a graph.
    fn is_capturing(&self, py: Python<'_>) -> PyResult<bool> {
        self.core.is_capturing().into_py_result(py)
    }

    fn __enter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let stream = slf.get();
        stream.core.handle().into_py_result(slf.py())?;
        scope_debug::enter(slf.py(), stream.scope.scope(), || "Stream".into(), || stream.scope.try_enter())?;
        Ok(slf)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        traverse_scope(self.scope.scope(), &visit)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        scope_debug::exit(py, self.scope.scope(), || "Stream".into())
    }

    fn __eq__(&self, other: &Stream) -> bool {
        other.core == self.core
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.core.hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a Stream cannot be pickled or copied"))
    }

    fn __repr__(&self) -> String {
        let kind = self.core.kind();
        let (device, index) = (self.core.device().kind(), self.core.device_index());
        let (id, priority) = (self.core.id(), self.core.priority());
        format!(
            "interlock.Stream(device_type={device}, device_index={index}, stream_id={id}, \
             priority={priority}, {kind})"
        )
    }
}

fn extract_priority(given: &Bound<'_, PyAny>) -> PyResult<i32> {
    args::extract_int(given, "Stream: priority", "an int of at most 0")
}

fn of_id(py: Python<'_>, id: i64, index: u8, kind: u32) -> PyResult<Stream> {
    let unknown = || {
        let given = format!("{id}, {index} and {kind}");
        let name = "Stream: stream_id, device_index and device_type";
        interlock::accelerator::Error::argument(name, given, "those of a live stream")
    };
    let device = DeviceType::from_number(kind).ok_or_else(unknown).into_py_result(py)?;
    let device = CoreDevice::new(device, Some(index.into())).into_py_result(py)?;
    let found = detach(py, || CoreStream::of_id(Some(device), id)).into_py_result(py)?;
    Ok(Stream::of(found.ok_or_else(unknown).into_py_result(py)?))
}

/// Extracts a stream argument: a `Stream`, or an object of another library with `__cuda_stream__`, for the current
/// device.
pub(crate) fn extract(given: &Bound<'_, PyAny>, operation: &str) -> PyResult<CoreStream> {
    let py = given.py();
    if let Ok(stream) = given.cast::<Stream>() {
        return Ok(stream.get().core.clone());
    }
    let Some(protocol) = given.getattr_opt("__cuda_stream__")? else {
        let name = format!("{operation}: stream");
        return Err(new_type_error(&name, "a Stream or an object with __cuda_stream__", given));
    };
    // A few libraries have it as an attribute, from before the protocol was final.
    let answer = if protocol.is_callable() { call_with(&protocol, ())? } else { protocol };
    let Some(handle) = handle_of(&answer)? else {
        let message = format!(
            "{operation}: __cuda_stream__ must return version 0 and a handle, got {}",
            shown(&answer)?
        );
        return Err(PyTypeError::new_err(message));
    };
    let owner = Arc::new(DeferredDrop::new_for_driver(given.clone()));
    // SAFETY: by the protocol, the handle is a stream that is valid as long as the object lives. The driver rejects a
    // number that cannot be a stream of the current device.
    detach(py, || unsafe { CoreStream::external(None, handle, Some(owner)) }).into_py_result(py)
}

/// Extracts the handle from a pair of version 0 and a handle; returns `None` for other objects.
fn handle_of(pair: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let Ok((version, handle)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
        return Ok(None);
    };
    let version = py_int::index(&version)?.and_then(|version| py_int::int64(&version));
    let handle = py_int::index(&handle)?.and_then(|handle| py_int::uint64(&handle));
    Ok(handle.filter(|_| version == Some(0)))
}

/// Extracts an optional stream argument.
pub(super) fn optional(given: Option<&Bound<'_, PyAny>>, operation: &str) -> PyResult<Option<CoreStream>> {
    given.map(|given| extract(given, operation)).transpose()
}
