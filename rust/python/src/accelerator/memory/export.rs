//! Bytes of devices for other libraries.

use std::ffi::c_int;
use std::ptr::NonNull;

use interlock::accelerator::memory::{self, CopyOperand, DeviceBuffer};
use interlock::accelerator::{DeviceType, Stream as CoreStream, current_stream};
use interlock::accelerator::{Error, Result};
use pyo3::exceptions::{PyAttributeError, PyBufferError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::buffer::Buffer;
use super::dlpack;
use crate::accelerator::integer;
use crate::detached::{detached, wait};
use crate::errors::IntoPyResult;

/// The numbers of DLPack for the memory of the processor and of NVIDIA's devices.
const CPU: i32 = 1;
const CUDA: i32 = 2;

/// Of NVIDIA's default stream, which is 0 to its driver, among libraries for its devices.
const DEFAULT_STREAM: u64 = 1;

/// Waits until all that is queued and uses the bytes has been done.
fn wait_for_streams(py: Python<'_>, memory: &DeviceBuffer) -> PyResult<()> {
    for waiting in detached(py, || memory.begin_wait()).into_py_result(py)? {
        wait(py, || Ok(Some(waiting)))?;
    }
    Ok(())
}

/// What is queued on `stream` from now on comes after all that is queued now and uses the bytes.
fn hold_back(stream: &CoreStream, memory: &DeviceBuffer) -> Result<()> {
    memory.streams()?.iter().filter(|other| *other != stream).try_for_each(|other| stream.wait_stream(other))
}

/// What DLPack calls the device of the bytes.
fn dlpack_device(memory: &DeviceBuffer) -> PyResult<(i32, i32)> {
    let device = memory.device();
    if memory.is_host_accessible() {
        Ok((CPU, 0))
    } else if device.kind() == DeviceType::Cuda {
        Ok((CUDA, device.index().unwrap_or(0).into()))
    } else {
        Err(PyBufferError::new_err(format!("DLPack does not know memory of {device}; copy it")))
    }
}

/// The bytes once more.
fn copied(py: Python<'_>, original: &DeviceBuffer) -> PyResult<DeviceBuffer> {
    wait_for_streams(py, original)?;
    let copy = || {
        let made = DeviceBuffer::new(Some(original.device()), original.bytes())?;
        memory::copy(
            &CopyOperand::Device(made.clone()),
            &CopyOperand::Device(original.clone()),
            None,
            false,
        )?;
        Ok::<_, Error>(made)
    };
    detached(py, copy).into_py_result(py)
}

/// Sees to it that whoever takes the bytes comes after what is queued: the processor waits, another stream is held
/// back.
fn put_in_order(py: Python<'_>, memory: &DeviceBuffer, stream: Option<i64>) -> PyResult<()> {
    const NAME: &str = "stream of Buffer.__dlpack__";
    let refused = |stream: i64, allowed: &str| Error::Argument {
        name: NAME,
        given: stream.to_string(),
        allowed: allowed.to_owned(),
    };
    if stream == Some(-1) {
        return Ok(());
    }
    if memory.is_host_accessible() {
        return match stream {
            None => wait_for_streams(py, memory),
            Some(other) => {
                Err(refused(other, "None, or -1 for no wait, for memory of the processor")).into_py_result(py)
            }
        };
    }
    let handle = match stream {
        None => DEFAULT_STREAM,
        Some(given) => u64::try_from(given)
            .ok()
            .filter(|handle| *handle != 0)
            .ok_or_else(|| refused(given, "None, -1, 1, 2 or the handle of a stream"))
            .into_py_result(py)?,
    };
    let wait = || {
        // SAFETY: DLPack has the consumer pass a stream of its own on this device, which it keeps during the call. The
        // driver refuses a number that cannot be a stream of the device.
        let stream = unsafe { CoreStream::external(Some(memory.device()), handle, None)? };
        hold_back(&stream, memory)
    };
    detached(py, hold_back).into_py_result(py)
}

#[pymethods]
impl Buffer {
    /// Shows the bytes where the processor reaches them, once nothing that is queued uses them.
    ///
    /// # Safety
    /// `view` is what the interpreter passes.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let py = slf.py();
        if view.is_null() {
            return Err(PyBufferError::new_err("a view was to be made nowhere"));
        }
        // SAFETY: the interpreter passes a place for a view, which has no owner where this fails.
        unsafe { (*view).obj = std::ptr::null_mut() };
        let (kept_open, memory) = slf.get().viewed(py)?;
        if !memory.is_host_accessible() {
            let message = format!("the processor does not reach the memory of {}; copy it", memory.device());
            return Err(PyBufferError::new_err(message));
        }
        wait_for_streams(py, &memory)?;
        let pointer = memory.pointer().unwrap_or(NonNull::dangling());
        let bytes = isize::try_from(memory.bytes())?;
        // SAFETY: the buffer is not closed as long as the view lives, which owns it, so the bytes stay. That nothing
        // that is queued meanwhile uses them is the program's duty.
        let made =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), pointer.as_ptr().cast(), bytes, 0, flags) };
        if made != 0 {
            return Err(PyErr::fetch(py));
        }
        // It ends with the view.
        std::mem::forget(kept_open);
        Ok(())
    }

    /// A view is over.
    ///
    /// # Safety
    /// `_view` is what the interpreter passes.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.end_view();
    }

    /// What DLPack calls the device: that of the processor where it reaches the bytes. Raises BufferError for devices
    /// that DLPack does not know.
    fn __dlpack_device__(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        dlpack_device(&self.memory(py)?)
    }

    /// The bytes as a capsule of DLPack, versioned where `max_version` allows, which shares the memory unless `copy`
    /// is True. `stream` is the consumer's, by its handle, which comes after all that is queued now; -1 leaves the
    /// order to the consumer. For memory of the processor it is None, and this waits. Raises BufferError for a
    /// `dl_device` on which the bytes are not.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stream = integer::optional(stream, "stream of Buffer.__dlpack__", "the handle of a stream")?;
        let memory = self.memory(py)?;
        let device = dlpack_device(&memory)?;
        if let Some(wanted) = dl_device.filter(|wanted| *wanted != device) {
            let message =
                format!("the bytes are on the DLPack device {device:?}, not on {wanted:?}; copy them");
            return Err(PyBufferError::new_err(message));
        }
        let is_copy = copy == Some(true);
        let memory = if is_copy { copied(py, &memory)? } else { memory };
        put_in_order(py, &memory, stream)?;
        dlpack::capsule(py, memory, device, max_version, is_copy)
    }

    /// The bytes of a device of NVIDIA's for other libraries, which have to wait for the stream that it tells. Other
    /// devices don't have this attribute.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let memory = self.memory(py)?;
        if memory.device().kind() != DeviceType::Cuda {
            let message = format!("a Buffer on {} has no __cuda_array_interface__", memory.device());
            return Err(PyAttributeError::new_err(message));
        }
        let in_order = || {
            let stream = current_stream(Some(memory.device()))?;
            hold_back(&stream, &memory)?;
            stream.handle()
        };
        let handle = detached(py, in_order).into_py_result(py)?.raw;
        let told = PyDict::new(py);
        told.set_item("shape", (memory.bytes(),))?;
        told.set_item("typestr", "|u1")?;
        told.set_item("data", (memory.address().0, false))?;
        told.set_item("strides", py.None())?;
        told.set_item("stream", if handle == 0 { DEFAULT_STREAM } else { handle })?;
        told.set_item("version", 3)?;
        Ok(told)
    }
}
