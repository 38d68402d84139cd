//! Streams.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use interlock::accelerator::{
    Device as CoreDevice, DeviceType, DeviceScope, Stream as CoreStream, StreamKind,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::device::{self, Device};
use super::event::Event;
use super::integer;
use crate::detached::{detached, wait};
use crate::errors::IntoPyResult;
use crate::released::Released;
use crate::trace;
use crate::whole;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Stream>()
}

/// A queue of work for one device: what is put into one runs in order, apart from what is in others.
///
/// `with stream:` makes it the current stream of its device on this thread, and that device the current one.
/// `Stream(device)` hands out the 32 streams that a device has for each priority in turn, so another part of the
/// program may get the same one; with `exclusive=True` it is a stream of its own. `priority` is 0 or less, and a
/// smaller number goes first (`accelerator.stream_priority_range`); numbers below the range count as its end.
/// `Stream(stream_id=..., device_index=..., device_type=...)` is a stream that is alive, by its numbers.
///
/// Raises `NoAcceleratorError` without an accelerator, `DeviceError` for a device that it does not have,
/// `ArgumentError` for a priority above 0 or numbers of no stream.
#[pyclass(frozen, subclass, weakref, module = "interlock", name = "Stream")]
pub(crate) struct Stream {
    pub(super) core: CoreStream,
    scope: DeviceScope,
}

impl Stream {
    pub(super) fn of(core: CoreStream) -> Self {
        Stream { scope: DeviceScope::of_stream(&core), core }
    }
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (device=None, *, priority=0, exclusive=false, stream_id=None, device_index=None, device_type=None))]
    fn new(
        py: Python<'_>,
        device: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = priority_of)] priority: i32,
        exclusive: bool,
        stream_id: Option<&Bound<'_, PyAny>>,
        device_index: Option<&Bound<'_, PyAny>>,
        device_type: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        const ALIVE: &str = "a number of a stream that is alive";
        let stream_id = integer::optional(stream_id, "stream_id of a Stream", ALIVE)?;
        let device_index = integer::optional(device_index, "device_index of a Stream", ALIVE)?;
        let device_type = integer::optional(device_type, "device_type of a Stream", ALIVE)?;
        match (stream_id, device_index, device_type) {
            (None, None, None) => {
                let device = device::optional(device)?;
                let made = detached(py, || match exclusive {
                    true => CoreStream::dedicated(device, priority),
                    false => CoreStream::new(device, priority),
                });
                Ok(Stream::of(made.into_py_result(py)?))
            }
            (Some(id), Some(index), Some(kind)) if device.is_none() => by_numbers(py, id, index, kind),
            _ => Err(PyTypeError::new_err(
                "a Stream takes a device, or stream_id, device_index and device_type together",
            )),
        }
    }

    /// The device whose work it orders.
    #[getter]
    fn device(&self) -> Device {
        Device::of(self.core.device())
    }

    /// The index of that device.
    #[getter]
    fn device_index(&self) -> u8 {
        self.core.device_index()
    }

    /// The number of the type of that device.
    #[getter]
    fn device_type(&self) -> u32 {
        self.core.device().kind().number()
    }

    /// A number that no other stream of the device has while this one lives; 0 for the default stream.
    #[getter]
    fn stream_id(&self) -> i64 {
        self.core.id()
    }

    /// The priority that the device gives it: 0 or less, and a smaller number goes first.
    #[getter]
    fn priority(&self) -> i32 {
        self.core.priority()
    }

    /// Whether it was made for whoever asked. Otherwise others may get the same stream, as it is a default stream
    /// or one that is handed out in turn, or it belongs to another library.
    #[getter]
    fn exclusive(&self) -> bool {
        self.core.kind() == StreamKind::Dedicated
    }

    /// What other libraries for these devices call it, as a number: on NVIDIA's a `cudaStream_t`.
    #[getter]
    fn native_handle(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.core.handle().into_py_result(py)?.raw)
    }

    /// The protocol by which libraries for NVIDIA's devices take each other's streams: version 0, and the handle.
    fn __cuda_stream__(&self, py: Python<'_>) -> PyResult<(u32, u64)> {
        Ok((0, self.native_handle(py)?))
    }

    /// Whether all that was queued has been done. Raises what failed there, if that was not raised before.
    fn query(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || self.core.query()).into_py_result(py)
    }

    /// Waits until all that was queued has been done. Raises what failed there, if that was not raised before.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        wait(py, || self.core.begin_wait().map(Some))
    }

    /// Marks the place after all that is queued with `event`, or with a new one, and returns the event.
    #[pyo3(signature = (event=None))]
    fn record_event<'py>(
        &self,
        py: Python<'py>,
        event: Option<Bound<'py, Event>>,
    ) -> PyResult<Bound<'py, Event>> {
        let event = match event {
            Some(event) => event,
            None => Bound::new(py, Event::on(py, self.core.device())?)?,
        };
        let core = &event.get().0;
        detached(py, || self.core.record_event(core)).into_py_result(py)?;
        Ok(event)
    }

    /// What is queued from now on waits for what the event marks now.
    #[pyo3(signature = (event))]
    fn wait_event(&self, py: Python<'_>, event: &Event) -> PyResult<()> {
        detached(py, || self.core.wait_event(&event.0)).into_py_result(py)
    }

    /// What is queued from now on waits for all that is queued on another stream now.
    #[pyo3(signature = (stream))]
    fn wait_stream(&self, stream: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = stream.py();
        let other = taken(stream)?;
        detached(py, || self.core.wait_stream(&other)).into_py_result(py)
    }

    /// Whether what is queued is recorded into a graph.
    fn is_capturing(&self, py: Python<'_>) -> PyResult<bool> {
        self.core.is_capturing().into_py_result(py)
    }

    fn __enter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let stream = slf.get();
        stream.core.handle().into_py_result(slf.py())?;
        trace::enter(slf.py(), stream.scope.scope(), || stream.scope.enter())?;
        Ok(slf)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        trace::leave(py, self.scope.scope())
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
        Err(PyTypeError::new_err("a Stream can't leave its process: it is a queue of work that is going on"))
    }

    fn __repr__(&self) -> String {
        let kind = match self.core.kind() {
            StreamKind::Default => "default",
            StreamKind::Pooled => "pooled",
            StreamKind::Dedicated => "exclusive",
            StreamKind::External => "external",
        };
        let (device, index) = (self.core.device().kind(), self.core.device_index());
        let (id, priority) = (self.core.id(), self.core.priority());
        format!(
            "interlock.Stream(device_type={device}, device_index={index}, stream_id={id}, \
             priority={priority}, {kind})"
        )
    }
}

fn priority_of(given: &Bound<'_, PyAny>) -> PyResult<i32> {
    integer::integer(given, "priority of a Stream", "0 or less")
}

fn by_numbers(py: Python<'_>, id: i64, index: u8, kind: u32) -> PyResult<Stream> {
    let unknown = || interlock::accelerator::Error::Argument {
        name: "Stream",
        given: format!("stream_id={id}, device_index={index}, device_type={kind}"),
        allowed: "the numbers of a stream that is alive".to_owned(),
    };
    let device = DeviceType::of_number(kind).ok_or_else(unknown).into_py_result(py)?;
    let device = CoreDevice::new(device, Some(index.into())).into_py_result(py)?;
    let found = detached(py, || CoreStream::of_id(Some(device), id)).into_py_result(py)?;
    Ok(Stream::of(found.ok_or_else(unknown).into_py_result(py)?))
}

/// A stream as an argument: one of ours, or an object of another library that has `__cuda_stream__`, for the
/// current device.
pub(super) fn taken(given: &Bound<'_, PyAny>) -> PyResult<CoreStream> {
    let py = given.py();
    if let Ok(stream) = given.cast::<Stream>() {
        return Ok(stream.get().core.clone());
    }
    let Some(protocol) = given.getattr_opt("__cuda_stream__")? else {
        let message = format!(
            "a stream is a Stream or has __cuda_stream__, got a value of type {}",
            given.get_type().name()?
        );
        return Err(PyTypeError::new_err(message));
    };
    // A few libraries made it an attribute before the protocol was settled.
    let answer = if protocol.is_callable() { protocol.call0()? } else { protocol };
    let Some(handle) = handle_of(&answer)? else {
        let message = format!("__cuda_stream__ tells version 0 and a handle, got {}", answer.repr()?);
        return Err(PyTypeError::new_err(message));
    };
    let owner = Arc::new(Released::new(given.clone()));
    // SAFETY: an object with `__cuda_stream__` promises by that protocol that the handle is its stream, which is valid
    // as long as the object is. The driver refuses a number that cannot be a stream of the current device.
    detached(py, || unsafe { CoreStream::external(None, handle, Some(owner)) }).into_py_result(py)
}

/// The handle of a pair of version 0 and a handle.
fn handle_of(pair: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let Ok((version, handle)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
        return Ok(None);
    };
    let version = whole::index(&version)?.and_then(|version| whole::int64(&version));
    let handle = whole::index(&handle)?.and_then(|handle| whole::uint64(&handle));
    Ok(handle.filter(|_| version == Some(0)))
}

/// The same where none may be given.
pub(super) fn optional(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<CoreStream>> {
    given.map(taken).transpose()
}
