//! Export of buffers to other libraries: the buffer protocol, DLPack and `__cuda_array_interface__`.

use std::ffi::c_int;
use std::ptr::NonNull;

use interlock::accelerator::is_in_host_fn;
use interlock::accelerator::memory::{self, CopyOperand, DeviceBuffer};
use interlock::accelerator::{DeviceType, Stream as CoreStream, current_stream};
use interlock::accelerator::{Error, Result};
use interlock::sys::{INTERLOCK_TENSOR_CUDA, InterlockDType, InterlockTensorDevice};
use pyo3::exceptions::{PyAttributeError, PyBufferError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::buffer::Buffer;
use crate::args::extract_optional_int;
use crate::detach::{detach, wait};
use crate::dlpack::{self, Export};
use crate::errors::IntoPyResult;
use crate::py_stack::observe_read;
use crate::switches;

/// The number of CUDA's default stream in DLPack and `__cuda_array_interface__`; its raw handle is 0.
const DEFAULT_STREAM: u64 = 1;

const DLPACK: &str = "Buffer.__dlpack__";
/// Any use of the buffer protocol.
const VIEW: &str = "a view of a Buffer (memoryview, numpy.frombuffer)";

/// Waits for all queued work that uses the bytes, for `operation` of the program. A launched function waits for nothing:
/// the work before it on its stream is complete, and other streams may wait for it.
fn wait_for_streams(py: Python<'_>, operation: &'static str, memory: &DeviceBuffer) -> PyResult<()> {
    if is_in_host_fn() {
        return Ok(());
    }
    let begun = detach(py, || memory.begin_wait()).map_err(|error| error.during(operation));
    for target in begun.into_py_result(py)? {
        wait(py, || Ok(Some(target)))?;
    }
    Ok(())
}

/// Makes later work of `stream` wait for all queued work that uses the bytes.
fn wait_on_stream(stream: &CoreStream, memory: &DeviceBuffer) -> Result<()> {
    memory.streams()?.iter().filter(|other| *other != stream).try_for_each(|other| stream.wait_stream(other))
}

/// Returns DLPack's device of the bytes: the CPU if it can access them.
pub(crate) fn dlpack_device(memory: &DeviceBuffer) -> PyResult<InterlockTensorDevice> {
    let device = memory.device();
    if memory.is_host_accessible() {
        Ok(InterlockTensorDevice::CPU)
    } else if device.kind() == DeviceType::Cuda {
        Ok(InterlockTensorDevice {
            device_type: INTERLOCK_TENSOR_CUDA,
            device_id: device.index().unwrap_or(0).into(),
        })
    } else {
        Err(PyBufferError::new_err(format!(
            "DLPack has no device type for {device}; copy the memory to the CPU"
        )))
    }
}

/// Copies the bytes.
fn copy(py: Python<'_>, original: &DeviceBuffer) -> PyResult<DeviceBuffer> {
    wait_for_streams(py, DLPACK, original)?;
    let copy = || {
        let new = DeviceBuffer::new(Some(original.device()), original.bytes())?;
        memory::copy(&CopyOperand::Device(new.clone()), &CopyOperand::Device(original.clone()), None, false)?;
        Ok::<_, Error>(new)
    };
    detach(py, copy).into_py_result(py)
}

/// Returns an error for a stream of a consumer of memory that the CPU can access.
pub(crate) fn check_host_stream(argument: &'static str, stream: Option<i64>) -> Result<()> {
    match stream {
        None | Some(-1) => Ok(()),
        Some(other) => {
            Err(Error::argument(argument, other.to_string(), "None, or -1 for no wait, for CPU memory"))
        }
    }
}

/// Orders the consumer of the bytes after the queued work that uses them: this thread waits if the CPU accesses them,
/// otherwise the consumer's stream waits.
/// `operation` and `argument` name the function and its argument in errors.
pub(crate) fn synchronize_consumer(
    py: Python<'_>,
    operation: &'static str,
    argument: &'static str,
    memory: &DeviceBuffer,
    stream: Option<i64>,
) -> PyResult<()> {
    let refused = |stream: i64, allowed: &str| Error::argument(argument, stream.to_string(), allowed);
    if stream == Some(-1) {
        return Ok(());
    }
    if memory.is_host_accessible() {
        check_host_stream(argument, stream).into_py_result(py)?;
        return wait_for_streams(py, operation, memory);
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
        // SAFETY: by DLPack's protocol, the consumer passes its stream on this device, which is valid during the call.
        // The driver rejects a number that cannot be a stream of the device.
        let stream = unsafe { CoreStream::external(Some(memory.device()), handle, None)? };
        wait_on_stream(&stream, memory)
    };
    detach(py, wait).into_py_result(py)
}

#[pymethods]
impl Buffer {
    /// Exports the bytes if the CPU can access them, after the queued work that uses them.
    ///
    /// # Safety
    /// The interpreter passes `view`.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let py = slf.py();
        if view.is_null() {
            return Err(PyBufferError::new_err("the buffer view is NULL"));
        }
        // SAFETY: the interpreter passes a valid view, which has no owner if this fails.
        unsafe { (*view).obj = std::ptr::null_mut() };
        let (guard, memory) = slf.get().open_view(py)?;
        if !memory.is_host_accessible() {
            let message =
                format!("the CPU cannot access the memory of {}; copy it with copy_to", memory.device());
            return Err(PyBufferError::new_err(message));
        }
        wait_for_streams(py, VIEW, &memory)?;
        let pointer = memory.pointer().unwrap_or(NonNull::dangling());
        let bytes = isize::try_from(memory.bytes())?;
        observe_read(py, pointer.as_ptr(), memory.bytes());
        // SAFETY: the view owns the buffer and prevents `close`, so the bytes remain valid. The program must not queue
        // work that uses them meanwhile.
        let status =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), pointer.as_ptr().cast(), bytes, 0, flags) };
        if status != 0 {
            return Err(PyErr::fetch(py));
        }
        // Ended by `__releasebuffer__`.
        std::mem::forget(guard);
        Ok(())
    }

    /// Ends a view.
    ///
    /// # Safety
    /// The interpreter passes `_view`.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.end_view();
    }

    /// Return DLPack's device type and index, for the CPU if it can access the bytes.
    ///
    /// Raises:
    ///     BufferError: DLPack has no type for the device.
    fn __dlpack_device__(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        let InterlockTensorDevice { device_type, device_id } =
            dlpack_device(&self.memory(py, "Buffer.__dlpack_device__")?)?;
        Ok((device_type, device_id))
    }

    /// Return a DLPack capsule of the bytes.
    ///
    /// Args:
    ///     stream: The raw handle of the consumer's stream, which waits for the queued work; -1 for no synchronization.
    ///         For memory that the CPU can access it must be None or -1, and None waits for the work.
    ///     max_version: The newest DLPack version that the consumer supports.
    ///     dl_device: The requested device.
    ///     copy: Whether to copy the bytes. Otherwise the capsule shares the memory.
    ///
    /// Raises:
    ///     BufferError: The bytes are on another device than `dl_device`.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = switches::buffer_dlpack::copy)] copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let max_version = dlpack::extract_pair(max_version, "Buffer.__dlpack__: max_version")?;
        let dl_device: Option<(i32, i32)> = dlpack::extract_pair(dl_device, "Buffer.__dlpack__: dl_device")?;
        let argument = "Buffer.__dlpack__: stream";
        let stream = extract_optional_int(stream, argument, "the handle of a stream")?;
        let memory = self.memory(py, DLPACK)?;
        let device = dlpack_device(&memory)?;
        let own = (device.device_type, device.device_id);
        if let Some(wanted) = dl_device.filter(|wanted| *wanted != own) {
            let message = format!("the bytes are on the DLPack device {own:?}, not on {wanted:?}; copy them");
            return Err(PyBufferError::new_err(message));
        }
        let is_copy = copy == Some(true);
        let memory = if is_copy { self::copy(py, &memory)? } else { memory };
        synchronize_consumer(py, DLPACK, argument, &memory, stream)?;
        let export = Export {
            address: memory.address().0,
            device,
            dtype: InterlockDType::uint(8),
            shape: vec![i64::try_from(memory.bytes())?],
            strides: vec![1],
            is_copy,
            owner: Box::new(memory),
        };
        dlpack::capsule(py, export, max_version)
    }

    /// The CUDA array interface, whose consumers synchronize with its stream. Only on CUDA devices.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let memory = self.memory(py, "Buffer.__cuda_array_interface__")?;
        if memory.device().kind() != DeviceType::Cuda {
            let message = format!("a Buffer on {} has no __cuda_array_interface__", memory.device());
            return Err(PyAttributeError::new_err(message));
        }
        let in_order = || {
            let stream = current_stream(Some(memory.device()))?;
            wait_on_stream(&stream, &memory)?;
            stream.handle()
        };
        let handle = detach(py, in_order).into_py_result(py)?.raw;
        let dict = PyDict::new(py);
        dict.set_item("shape", (memory.bytes(),))?;
        dict.set_item("typestr", "|u1")?;
        dict.set_item("data", (memory.address().0, false))?;
        dict.set_item("strides", py.None())?;
        dict.set_item("stream", if handle == 0 { DEFAULT_STREAM } else { handle })?;
        dict.set_item("version", 3)?;
        Ok(dict)
    }
}
