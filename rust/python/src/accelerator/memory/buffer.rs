//! Bytes on devices.

use std::sync::{Mutex, PoisonError};

use interlock::accelerator::Error;
use interlock::accelerator::memory::DeviceBuffer;
use interlock::accelerator::{Device as CoreDevice, Stream as CoreStream};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple};

use super::copies;
use crate::accelerator::device::{self, Device};
use crate::accelerator::integer::{self, integer};
use crate::accelerator::stream::{self, Stream};
use crate::detach::detach;
use crate::errors::{IntoPyResult, exception, new_exception};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Buffer>()
}

/// `nbytes` bytes on a device, not initialised; no device, or one without an index, is the current one.
///
/// They are allocated for `stream`, or for the current stream of the device: its work may use them at once, and once
/// they are free they are handed out for that stream alone. Work of other streams that `copy_from`, `copy_to` and
/// `fill_` queue is known to use them; of other work `record_stream` tells. They are free when the last reference,
/// slice and export has gone, or by `close`, also as a context manager.
///
/// Where the processor reaches the memory of the device, as that of the host driver, a buffer shows its bytes to
/// `memoryview`, NumPy and whatever takes DLPack: that first waits until all streams that use them have done what is
/// queued. On NVIDIA's devices it has `__cuda_array_interface__`, and DLPack in the order of the streams.
///
/// Raises `OutOfMemoryError` where the device has no room, `ArgumentError` for a negative number, `DeviceError` for a
/// stream of another device, `NoAcceleratorError` without an accelerator. A buffer that was closed raises
/// `BufferClosedError` whatever it is used for.
#[pyclass(frozen, weakref, module = "interlock.accelerator.memory", name = "Buffer")]
pub(super) struct Buffer {
    /// Locked by threads that are attached alone, and for a few steps.
    state: Mutex<State>,
}

struct State {
    /// `None` once it was closed.
    memory: Option<DeviceBuffer>,
    /// How many views of its bytes there are.
    views: usize,
}

/// A view of the bytes of a buffer, which can't be closed meanwhile.
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

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The bytes. Fails for a buffer that was closed.
    pub(super) fn memory(&self, py: Python<'_>) -> PyResult<DeviceBuffer> {
        let memory = self.with(|state| state.memory.clone());
        memory.ok_or_else(|| new_exception(py, "BufferClosedError", "the Buffer was closed".to_owned()))
    }

    /// The same, with a view that keeps the buffer open.
    pub(super) fn viewed(&self, py: Python<'_>) -> PyResult<(View<'_>, DeviceBuffer)> {
        self.with(|state| state.views += 1);
        let view = View(self);
        self.memory(py).map(|memory| (view, memory))
    }

    /// A view that was handed out is over.
    pub(super) fn end_view(&self) {
        drop(View(self));
    }
}

/// A stream must be of the device that it is given with.
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
                name: "accelerator.memory.Buffer".to_owned(),
                given: format!("a stream of {own}"),
                allowed: format!("a stream of the buffer's device, {device}"),
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
        let nbytes = integer(nbytes, "nbytes of a Buffer", "0 or more")?;
        let (device, stream) = (device::optional(device)?, stream::optional(stream)?);
        stream.as_ref().map_or(Ok(()), |stream| check_device(py, stream, device))?;
        let memory = detach(py, || match &stream {
            Some(stream) => DeviceBuffer::on(stream, nbytes),
            None => DeviceBuffer::new(device, nbytes),
        });
        memory.into_py_result(py).map(Buffer::of)
    }

    /// How many bytes there are.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.memory(py)?.bytes())
    }

    /// Where they are.
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<Device> {
        Ok(Device::of(self.memory(py)?.device()))
    }

    /// The stream that they were allocated for; None once that has gone.
    #[getter]
    fn stream(&self, py: Python<'_>) -> PyResult<Option<Stream>> {
        Ok(self.memory(py)?.stream().into_py_result(py)?.map(Stream::of))
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.with(|state| state.memory.is_none())
    }

    /// The address of the first byte, in the device's own counting; 0 where there are none.
    fn data_ptr(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.memory(py)?.address().0)
    }

    /// Copies all bytes of `source`, which has as many, to this buffer, as `copy_` does; returns the buffer.
    #[pyo3(signature = (source, *, non_blocking=false, stream=None))]
    fn copy_from<'py>(
        slf: Bound<'py, Self>,
        source: &Bound<'py, PyAny>,
        non_blocking: bool,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        copies::copy_(slf.as_any(), source, non_blocking, stream)?;
        Ok(slf)
    }

    /// Copies all bytes to `destination`, which has as many, as `copy_` does; returns this buffer.
    #[pyo3(signature = (destination, *, non_blocking=false, stream=None))]
    fn copy_to<'py>(
        slf: Bound<'py, Self>,
        destination: &Bound<'py, PyAny>,
        non_blocking: bool,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        copies::copy_(destination, slf.as_any(), non_blocking, stream)?;
        Ok(slf)
    }

    /// Sets every byte to `value`, as the function `fill_` does; returns the buffer.
    #[pyo3(signature = (value, *, stream=None))]
    fn fill_<'py>(
        slf: Bound<'py, Self>,
        value: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        copies::fill_(slf.py(), &slf, value, stream)?;
        Ok(slf)
    }

    /// The bytes from `start` up to `stop`, or to the end, as a buffer of the same memory, which it keeps. Raises
    /// `ArgumentError` for what does not lie within; `buffer[start:stop]` takes what does, as slices of Python do.
    #[pyo3(signature = (start, stop=None))]
    fn slice(&self, start: &Bound<'_, PyAny>, stop: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = start.py();
        let memory = self.memory(py)?;
        let allowed = "0 or more";
        let start = integer(start, "start of a slice of a Buffer", allowed)?;
        let stop = integer::optional(stop, "stop of a slice of a Buffer", allowed)?;
        memory.slice(start..stop.unwrap_or(memory.bytes())).into_py_result(py).map(Buffer::of)
    }

    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = key.py();
        let Ok(slice) = key.cast::<PySlice>() else {
            let class = key.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a Buffer takes a slice, got a value of type {class}")));
        };
        let memory = self.memory(py)?;
        let within = slice.indices(isize::try_from(memory.bytes()).unwrap_or(isize::MAX))?;
        if within.step != 1 {
            let error = Error::Argument {
                name: "a slice of a Buffer",
                given: format!("a step of {}", within.step),
                allowed: "a step of 1".to_owned(),
            };
            return Err(exception(py, &error));
        }
        let start = within.start.unsigned_abs();
        memory.slice(start..start + within.slicelength).into_py_result(py).map(Buffer::of)
    }

    /// Says that work on `stream` uses the bytes, which interlock did not queue there: once they are free, nobody
    /// gets them before what is queued there by then has been done.
    fn record_stream(&self, stream: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = stream.py();
        let (memory, stream) = (self.memory(py)?, stream::taken(stream)?);
        detach(py, || memory.record_stream(&stream)).into_py_result(py)
    }

    /// Gives the bytes back now, also while others refer to this buffer; with a stream, nobody gets them before what
    /// is queued there by now has been done. Slices and what was exported by DLPack keep the memory. Does nothing
    /// where it was closed before. Raises BufferError as long as there is a memoryview of it.
    #[pyo3(signature = (stream=None))]
    fn close(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let stream = stream::optional(stream)?;
        let Some(memory) = self.with(|state| state.memory.clone()) else { return Ok(()) };
        if let Some(stream) = stream {
            detach(py, || memory.record_stream(&stream)).into_py_result(py)?;
        }
        let taken = self.with(|state| match state.views {
            0 => Ok(state.memory.take()),
            views => Err(views),
        });
        let taken = taken.map_err(|views| {
            PyBufferError::new_err(format!(
                "the Buffer can't be closed while {views} of its views (memoryview, numpy.frombuffer) are in use"
            ))
        })?;
        // It may wait for the driver.
        detach(py, || drop((memory, taken)));
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().memory(slf.py())?;
        Ok(slf)
    }

    #[pyo3(signature = (*error))]
    fn __exit__(&self, py: Python<'_>, error: &Bound<'_, PyTuple>) -> PyResult<()> {
        let fails_already = error.get_item(0).is_ok_and(|class| !class.is_none());
        match self.close(py, None) {
            // What the program raised says more than that somebody still looks at the bytes.
            Err(closing) if fails_already && closing.is_instance_of::<PyBufferError>(py) => Ok(()),
            closed => closed,
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.nbytes(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a Buffer can't leave its process; copy its bytes"))
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
