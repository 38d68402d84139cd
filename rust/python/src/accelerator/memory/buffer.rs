//! The buffer class.

use interlock::accelerator::Error;
use interlock::accelerator::memory::DeviceBuffer;
use interlock::accelerator::{Device as CoreDevice, Stream as CoreStream};
use interlock_core::base::mutex::Mutex;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple};

use super::copies;
use crate::accelerator::stream::{self, Stream};
use crate::args::{extract_int, extract_optional_int, extract_str};
use crate::detach::{call_with, detach};
use crate::device::{self, Device};
use crate::errors::{IntoPyResult, exception, new_exception, new_type_error};
use crate::switches;

/// The sizes and positions that are accepted, for messages.
const SIZES: &str = "from 0 to 2**64 - 1";

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Buffer>()?;
    module.add_function(wrap_pyfunction!(annotate, module)?)
}

/// Describe memory that is in use, in the history: an event "annotate" with the text and the caller's stack.
///
/// Has no effect while no history is recorded.
///
/// Args:
///     memory: A buffer, or a tensor on a device. A part of memory describes all of its block.
///     annotation: The text. It is the `user_metadata` of the event, which PyTorch's viewer shows.
///
/// Raises:
///     TypeError: `memory` is neither a buffer nor a tensor, or `annotation` is not a str.
///     ArgumentError: `memory` is a tensor of the CPU.
///
/// Example:
///     >>> from interlock import accelerator
///     >>> accelerator.use("host")
///     >>> with accelerator.memory.history():
///     ...     buffer = accelerator.memory.Buffer(1000)
///     ...     accelerator.memory.annotate(buffer, "weights of the encoder")
///     >>> entries = accelerator.memory.snapshot()["device_traces"][0]
///     >>> entries[-1]["user_metadata"]
///     'weights of the encoder'
#[pyfunction]
#[pyo3(signature = (memory, annotation, /))]
fn annotate(memory: &Bound<'_, PyAny>, annotation: &Bound<'_, PyAny>) -> PyResult<()> {
    const OPERATION: &str = "accelerator.memory.annotate";
    let py = memory.py();
    if let Ok(buffer) = memory.cast::<Buffer>() {
        let memory = buffer.get().memory(py, OPERATION)?;
        let annotation = extract_str(annotation, "accelerator.memory.annotate: annotation")?;
        return detach(py, || memory.annotate(&annotation)).into_py_result(py);
    }
    // A tensor knows its memory. Nothing here depends on the tensor runtime, which a build may lack.
    match memory.getattr_opt("_annotate")? {
        Some(annotate) => call_with(&annotate, (annotation,)).map(drop),
        None => Err(new_type_error("accelerator.memory.annotate: memory", "a Buffer or a Tensor", memory)),
    }
}

/// Uninitialized memory on a device.
///
/// The memory is allocated for one stream, whose work may use it at once. Uses by other streams are recorded by
/// `copy_from`, `copy_to` and `fill_`; `record_stream` records other work. The memory is freed with the last reference,
/// slice and export, or by `close`. A buffer is also a context manager that closes it.
///
/// If the CPU can access the memory, as with the host driver, a buffer supports `memoryview`, NumPy and DLPack, which
/// first wait for all streams that use the bytes. On CUDA devices it has `__cuda_array_interface__`, and DLPack in
/// stream order.
///
/// Args:
///     nbytes: The size in bytes.
///     device: The device. None, or a device without an index, means the current device.
///     stream: The stream to allocate for. None means the current stream of the device.
///
/// Raises:
///     OutOfMemoryError: The device has too little memory.
///     ArgumentError: `nbytes` is negative.
///     DeviceError: The stream is on another device.
///     NoAcceleratorError: No accelerator is available.
///     BufferClosedError: A method is called after `close`.
///
/// Example:
///     >>> from interlock import accelerator
///     >>> accelerator.use("host")
///     >>> buffer = accelerator.memory.Buffer(4).fill_(0).copy_from(b"abcd")
///     >>> bytes(memoryview(buffer))
///     b'abcd'
///     >>> bytes(buffer.slice(1, 3))
///     b'bc'
#[pyclass(frozen, weakref, module = "interlock.accelerator.memory", name = "Buffer")]
pub(super) struct Buffer {
    /// Locked only by attached threads, and briefly.
    state: Mutex<State>,
}

struct State {
    /// `None` after `close`.
    memory: Option<DeviceBuffer>,
    /// The number of views of the bytes.
    views: usize,
}

/// A view of the bytes of a buffer, which prevents `close`.
pub(super) struct View<'a>(&'a Buffer);

impl Drop for View<'_> {
    fn drop(&mut self) {
        self.0.with(|state| state.views = state.views.saturating_sub(1));
    }
}

impl Buffer {
    pub(super) fn of(memory: DeviceBuffer) -> Self {
        Buffer { state: Mutex::new(State { memory: Some(memory), views: 0 }) }
    }

    fn with<T>(&self, action: impl FnOnce(&mut State) -> T) -> T {
        action(&mut self.state.lock())
    }

    /// Returns the memory for `function`.
    ///
    /// # Errors
    /// Returns `BufferClosedError` after `close`.
    pub(super) fn memory(&self, py: Python<'_>, function: &str) -> PyResult<DeviceBuffer> {
        let memory = self.with(|state| state.memory.clone());
        memory.ok_or_else(|| {
            new_exception(py, "BufferClosedError", format!("{function}: the buffer is closed"))
        })
    }

    /// Returns the memory with a view that prevents `close`.
    pub(super) fn open_view(&self, py: Python<'_>) -> PyResult<(View<'_>, DeviceBuffer)> {
        self.with(|state| state.views += 1);
        let view = View(self);
        self.memory(py, "memoryview").map(|memory| (view, memory))
    }

    /// Ends a view that was leaked to the interpreter.
    pub(super) fn end_view(&self) {
        drop(View(self));
    }
}

/// Checks that a stream is on the device that was passed with it.
fn check_device(py: Python<'_>, stream: &CoreStream, device: Option<CoreDevice>) -> PyResult<()> {
    let own = stream.device();
    let fits = |device: &CoreDevice| {
        device.kind() == own.kind() && device.index().is_none_or(|index| own.index() == Some(index))
    };
    match device.filter(|device| !fits(device)) {
        None => Ok(()),
        Some(device) => Err(exception(
            py,
            &Error::NoSuchDevice {
                name: "accelerator.memory.Buffer: stream".to_owned(),
                given: format!("a stream of {own}"),
                allowed: format!("on the device of the buffer, {device}"),
            },
        )),
    }
}

#[pymethods]
impl Buffer {
    #[new]
    #[pyo3(signature = (nbytes, device=None, *, stream=None))]
    fn new(
        nbytes: &Bound<'_, PyAny>,
        device: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = nbytes.py();
        let nbytes = extract_int(nbytes, "Buffer: nbytes", SIZES)?;
        let (device, stream) = (device::optional(device, "Buffer")?, stream::optional(stream, "Buffer")?);
        stream.as_ref().map_or(Ok(()), |stream| check_device(py, stream, device))?;
        let memory = detach(py, || match &stream {
            Some(stream) => DeviceBuffer::on(stream, nbytes),
            None => DeviceBuffer::new(device, nbytes),
        });
        let memory = memory.map_err(|error| error.during("accelerator.memory.Buffer"));
        memory.into_py_result(py).map(Buffer::of)
    }

    /// The size in bytes.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.memory(py, "Buffer.nbytes")?.bytes())
    }

    /// The device of the memory.
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<Device> {
        Ok(Device::of(self.memory(py, "Buffer.device")?.device()))
    }

    /// The stream that the memory was allocated for; None if the stream was destroyed. An object with `__cuda_stream__`
    /// is kept alive as long as memory is allocated for its stream.
    #[getter]
    fn stream(&self, py: Python<'_>) -> PyResult<Option<Stream>> {
        Ok(self.memory(py, "Buffer.stream")?.stream().into_py_result(py)?.map(Stream::of))
    }

    /// Whether the buffer was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.with(|state| state.memory.is_none())
    }

    /// Return the device address of the first byte; 0 if there are no bytes.
    fn data_ptr(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.memory(py, "Buffer.data_ptr")?.address().0)
    }

    /// Copy all bytes of `source` to this buffer, like the function `copy_`.
    ///
    /// Args:
    ///     source: A `Buffer`, or an object with the buffer protocol, with the size of this buffer.
    ///     non_blocking: Whether to return before the copy is done, as for `copy_`.
    ///     stream: The stream of the copy. None means the current stream, as for `copy_`.
    ///
    /// Returns:
    ///     This buffer.
    ///
    /// Raises:
    ///     ArgumentError: The sizes differ.
    ///     DeviceError: The stream is on another device.
    ///     TypeError: `source` does not support the buffer protocol, or contains object references.
    ///     BufferError: `source` is not contiguous.
    #[pyo3(signature = (source, *, non_blocking=false, stream=None))]
    fn copy_from<'py>(
        slf: Bound<'py, Self>,
        source: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = switches::buffer_copy_from::non_blocking)] non_blocking: bool,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        copies::copy("Buffer.copy_from", slf.as_any(), source, non_blocking, stream)?;
        Ok(slf)
    }

    /// Copy all bytes of this buffer to `destination`, like the function `copy_`.
    ///
    /// Args:
    ///     destination: A `Buffer`, or a writable object with the buffer protocol, with the size of this buffer.
    ///     non_blocking: Whether to return before the copy is done, as for `copy_`.
    ///     stream: The stream of the copy. None means the current stream, as for `copy_`.
    ///
    /// Returns:
    ///     This buffer.
    ///
    /// Raises:
    ///     ArgumentError: The sizes differ.
    ///     DeviceError: The stream is on another device.
    ///     TypeError: `destination` does not support the buffer protocol, or contains object references.
    ///     BufferError: `destination` is not contiguous, or read-only.
    #[pyo3(signature = (destination, *, non_blocking=false, stream=None))]
    fn copy_to<'py>(
        slf: Bound<'py, Self>,
        destination: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = switches::buffer_copy_to::non_blocking)] non_blocking: bool,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        copies::copy("Buffer.copy_to", destination, slf.as_any(), non_blocking, stream)?;
        Ok(slf)
    }

    /// Queue a fill of every byte with `value`, like the function `fill_`.
    ///
    /// Args:
    ///     value: The byte, from 0 to 255.
    ///     stream: The stream of the fill. None means the current stream of the buffer's device.
    ///
    /// Returns:
    ///     This buffer.
    ///
    /// Raises:
    ///     ArgumentError: `value` is out of range.
    ///     DeviceError: The stream is on another device.
    #[pyo3(signature = (value, *, stream=None))]
    fn fill_<'py>(
        slf: Bound<'py, Self>,
        value: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        copies::fill(&slf, ["Buffer.fill_", "Buffer.fill_: value"], value, stream)?;
        Ok(slf)
    }

    /// Return a part of the bytes as a buffer that shares the memory. `buffer[start:stop]` clips the range instead of
    /// raising, like Python slices.
    ///
    /// Args:
    ///     start: The index of the first byte.
    ///     stop: The index after the last byte. None means the end of the buffer.
    ///
    /// Raises:
    ///     ArgumentError: The range is not within the buffer.
    #[pyo3(signature = (start, stop=None))]
    fn slice(&self, start: &Bound<'_, PyAny>, stop: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = start.py();
        let memory = self.memory(py, "Buffer.slice")?;
        let start = extract_int(start, "Buffer.slice: start", SIZES)?;
        let stop = extract_optional_int(stop, "Buffer.slice: stop", SIZES)?;
        memory.slice(start..stop.unwrap_or(memory.bytes())).into_py_result(py).map(Buffer::of)
    }

    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = key.py();
        let Ok(slice) = key.cast::<PySlice>() else {
            return Err(new_type_error("a Buffer index", "a slice", key));
        };
        let memory = self.memory(py, "Buffer slice")?;
        let range = slice.indices(isize::try_from(memory.bytes()).unwrap_or(isize::MAX))?;
        if range.step != 1 {
            let error = Error::argument("the step of a Buffer slice", range.step.to_string(), "1");
            return Err(exception(py, &error));
        }
        let start = range.start.unsigned_abs();
        memory.slice(start..start + range.slicelength).into_py_result(py).map(Buffer::of)
    }

    /// Record that work of another library on a stream uses the bytes. After they are freed, they are reused only after
    /// the work that is queued on the stream by then.
    ///
    /// Args:
    ///     stream: A `Stream`, or an object with `__cuda_stream__`.
    ///
    /// Raises:
    ///     TypeError: `stream` is not a stream.
    fn record_stream(&self, stream: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = stream.py();
        let (memory, stream) =
            (self.memory(py, "Buffer.record_stream")?, stream::extract(stream, "Buffer.record_stream")?);
        detach(py, || memory.record_stream(&stream)).into_py_result(py)
    }

    /// Free the memory now, even while other references to this buffer exist. Slices and DLPack exports keep the memory
    /// alive. Has no effect on a closed buffer.
    ///
    /// Args:
    ///     stream: A stream whose queued work uses the bytes, as for `record_stream`.
    ///
    /// Raises:
    ///     BufferError: A memoryview of the buffer exists.
    #[pyo3(signature = (stream=None))]
    fn close(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let stream = stream::optional(stream, "Buffer.close")?;
        let Some(memory) = self.with(|state| state.memory.clone()) else { return Ok(()) };
        if let Some(stream) = stream {
            detach(py, || memory.record_stream(&stream)).into_py_result(py)?;
        }
        let removed = self.with(|state| match state.views {
            0 => Ok(state.memory.take()),
            views => Err(views),
        });
        let removed = removed.map_err(|views| {
            PyBufferError::new_err(format!(
                "Buffer.close: {views} of its views (memoryview, numpy.frombuffer) must be released first"
            ))
        })?;
        // Freeing may wait for the driver.
        detach(py, || drop((memory, removed)));
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().memory(slf.py(), "with")?;
        Ok(slf)
    }

    #[pyo3(signature = (*error))]
    fn __exit__(&self, py: Python<'_>, error: &Bound<'_, PyTuple>) -> PyResult<()> {
        let has_exception = error.get_item(0).is_ok_and(|class| !class.is_none());
        match self.close(py, None) {
            // The exception of the block is more important than an existing view.
            Err(closing) if has_exception && closing.is_instance_of::<PyBufferError>(py) => Ok(()),
            closed => closed,
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.nbytes(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a Buffer cannot be pickled or copied; copy its bytes with copy_to"))
    }

    fn __repr__(&self) -> String {
        match self.with(|state| state.memory.clone()) {
            Some(memory) => {
                let (bytes, device) = (memory.bytes(), memory.device());
                format!("interlock.accelerator.memory.Buffer({bytes}, device='{device}')")
            }
            None => "interlock.accelerator.memory.Buffer(closed)".to_owned(),
        }
    }
}
