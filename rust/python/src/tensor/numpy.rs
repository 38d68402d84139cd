//! NumPy in and out, without a copy where that is possible.
//!
//! NumPy and tensors that share memory do so as two NumPy arrays would: it is up to the program not to
//! write on one thread what another reads.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use interlock::accelerator::Device;
use interlock::accelerator::memory::RawBuffer;
use interlock::autograd::is_grad_enabled;
use interlock_tensor::{DType as CoreDType, Error, Storage, Tensor as CoreTensor};
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

use super::args::type_name;
use super::{Tensor, run_op, work_size};
use crate::errors::IntoPyResult;
use crate::py_buffer::PyBuffer;

/// The type of the elements of a buffer, if tensors have it.
fn element_type(buffer: &PyBuffer) -> Option<CoreDType> {
    let native = if cfg!(target_endian = "little") { b'<' } else { b'>' };
    let code = match buffer.format() {
        [code] => *code,
        [order, code] if [b'@', b'=', native].contains(order) => *code,
        _ => return None,
    };
    let dtype = match code {
        b'f' => CoreDType::Float32,
        b'd' => CoreDType::Float64,
        b'l' | b'q' => CoreDType::Int64,
        b'?' => CoreDType::Bool,
        _ => return None,
    };
    // `l` has 4 bytes on some platforms.
    (buffer.itemsize() == dtype.size()).then_some(dtype)
}

/// The error of an array whose elements tensors don't have. The text of the type is the array's own and is only shown.
fn err_unsupported_dtype(array: &Bound<'_, PyAny>) -> PyErr {
    let supported = "float32, float64, int64 and bool of this machine's byte order";
    let given = match array.getattr("dtype").and_then(|dtype| dtype.str()) {
        Ok(dtype) => dtype.to_string(),
        Err(raised) => return raised,
    };
    PyTypeError::new_err(format!("arrays of type {given} are not supported, only {supported}"))
}

/// Whether an object is a `numpy.ndarray`. NumPy is imported only if something else has done so.
pub(super) fn is_array(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    let modules = given.py().import("sys")?.getattr("modules")?;
    match modules.get_item("numpy") {
        Ok(numpy) if !numpy.is_none() => given.is_instance(&numpy.getattr("ndarray")?),
        _ => Ok(false),
    }
}

/// A tensor that shares the memory of an array; read-only and unaligned arrays are copied.
///
/// Everything is read from the buffer that the array exports: a subclass of `numpy.ndarray` may override `shape`,
/// `strides`, `__array_interface__` and `copy`, and what those return need not describe its memory.
pub(super) fn tensor_from_array(array: &Bound<'_, PyAny>) -> PyResult<CoreTensor> {
    let py = array.py();
    if !is_array(array)? {
        return Err(PyTypeError::new_err(format!("expected a numpy.ndarray, got {}", type_name(array))));
    }
    let buffer = PyBuffer::of(array).map_err(|error| {
        // NumPy exports no buffer of dates and the like.
        let has_no_format =
            error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyBufferError>(py);
        if has_no_format { err_unsupported_dtype(array) } else { error }
    })?;
    let dtype = element_type(&buffer)
        .filter(|_| !buffer.is_indirect())
        .ok_or_else(|| err_unsupported_dtype(array))?;
    let (size, shape) = (dtype.size(), buffer.shape());
    let pointer = buffer.pointer().unwrap_or(NonNull::<u64>::dangling().cast());
    if buffer.is_readonly() || !pointer.addr().get().is_multiple_of(size) {
        return copy_buffer(py, &buffer, dtype, &shape);
    }
    let is_empty = shape.contains(&0);
    let in_elements = |(&count, &stride): (&usize, &isize)| match usize::try_from(stride) {
        Ok(stride) if stride.is_multiple_of(size) => Ok(stride / size),
        // No position depends on the stride of a dimension without a second element.
        _ if is_empty || count == 1 => Ok(1),
        _ => Err(PyValueError::new_err(format!(
            "strides of {:?} bytes are not supported: they must be multiples of {size} and not negative; \
             copy() the array",
            buffer.strides()
        ))),
    };
    let strides = shape.iter().zip(buffer.strides()).map(in_elements).collect::<PyResult<Vec<_>>>()?;
    let last =
        shape.iter().zip(&strides).map(|(&size, &stride)| size.saturating_sub(1).saturating_mul(stride));
    let count = last.fold(1, usize::saturating_add);
    let bytes = if is_empty { 0 } else { count.saturating_mul(size) };
    // SAFETY: the exporter guarantees that elements of this shape and these strides start at the address, so the
    // last element ends `bytes` further on; the buffer keeps the memory valid. That no thread writes while an
    // operation runs is the program's duty, as among arrays.
    let storage =
        unsafe { Storage::foreign(RawBuffer::foreign(pointer, bytes, Device::CPU, Box::new(buffer))) };
    CoreTensor::from_storage(storage, dtype, &shape, &strides, 0).into_py_result(py)
}

/// A contiguous tensor with the elements of a buffer.
fn copy_buffer(py: Python<'_>, buffer: &PyBuffer, dtype: CoreDType, shape: &[usize]) -> PyResult<CoreTensor> {
    let tensor = CoreTensor::zeros(shape, dtype).into_py_result(py)?;
    if tensor.numel().checked_mul(dtype.size()) != Some(buffer.bytes()) {
        return Err(PyBufferError::new_err(
            "the array exports a buffer whose length is not that of its shape",
        ));
    }
    // SAFETY: the tensor is new and contiguous and has that many bytes.
    unsafe { buffer.copy_to(py, tensor.data_ptr())? };
    Ok(tensor)
}

/// What a buffer points to and the tensor must outlive.
struct BufferExport {
    shape: Vec<isize>,
    strides: Vec<isize>,
    _tensor: CoreTensor,
}

fn format_of(dtype: CoreDType) -> &'static std::ffi::CStr {
    match dtype {
        CoreDType::Bool => c"?",
        CoreDType::Int64 => c"q",
        CoreDType::Float32 => c"f",
        CoreDType::Float64 => c"d",
    }
}

/// Why nobody can share the memory of a device.
fn device_memory_message(tensor: &CoreTensor) -> String {
    let what = "memory that others can share";
    Error::OnDevice { what, device: tensor.device() }.to_string()
}

/// Whether operations on the tensor are recorded, which others that share its memory would not do.
fn is_recorded(tensor: &CoreTensor) -> bool {
    is_grad_enabled() && tensor.requires_grad()
}

fn signed(values: &[usize], factor: usize) -> Vec<isize> {
    values.iter().map(|value| isize::try_from(value.saturating_mul(factor)).unwrap_or(isize::MAX)).collect()
}

/// Whether the elements lie in column-major order without gaps.
fn is_column_major(tensor: &CoreTensor) -> bool {
    let order: Vec<i64> = (0i64..).take(tensor.ndim()).collect();
    tensor.detach().permute(&order.into_iter().rev().collect::<Vec<_>>()).is_ok_and(|it| it.is_contiguous())
}

#[pymethods]
impl Tensor {
    /// The elements as a `numpy.ndarray` that shares the tensor's memory.
    ///
    /// Raises RuntimeError for a tensor that requires grad while gradients are enabled, because NumPy records
    /// nothing, and TypeError for
    /// one on a device, whose memory NumPy can't share: call `detach()` or `cpu()` first, or pass `force=True`
    /// for both.
    #[pyo3(signature = (*, force = false))]
    fn numpy<'py>(slf: &Bound<'py, Self>, force: bool) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let tensor = &slf.get().0;
        let plain = if force {
            Bound::new(py, run_op(py, work_size(tensor), || tensor.detach().to(tensor.dtype(), false))?)?
        } else if tensor.is_on_device() {
            return Err(PyTypeError::new_err(device_memory_message(tensor)));
        } else if is_recorded(tensor) {
            return Err(PyRuntimeError::new_err(
                "numpy(): NumPy does not record operations on a tensor that requires grad; use tensor.detach().numpy()",
            ));
        } else {
            slf.clone()
        };
        py.import("numpy")?.call_method1("asarray", (plain,))
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = Self::numpy(slf, false)?;
        let array = match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,))?,
            None => array,
        };
        if copy == Some(true) && dtype.is_none() { array.call_method0("copy") } else { Ok(array) }
    }

    /// # Safety
    /// Called by Python with a buffer to fill, or none.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: Python passes null or a buffer that is its own until this returns.
        let Some(view) = (unsafe { view.as_mut() }) else {
            return Err(PyBufferError::new_err("no buffer to fill"));
        };
        view.obj = std::ptr::null_mut();
        let tensor = slf.get().0.clone();
        if is_recorded(&tensor) {
            return Err(PyBufferError::new_err(
                "a tensor that requires grad gives no buffer; detach() it first",
            ));
        }
        if tensor.is_on_device() {
            return Err(PyBufferError::new_err(device_memory_message(&tensor)));
        }
        let requests = |wanted: c_int| flags & wanted == wanted;
        let row_major = tensor.is_contiguous();
        let column_major = row_major && tensor.ndim() <= 1 || is_column_major(&tensor);
        let refused = requests(ffi::PyBUF_C_CONTIGUOUS) && !row_major
            || requests(ffi::PyBUF_F_CONTIGUOUS) && !column_major
            || requests(ffi::PyBUF_ANY_CONTIGUOUS) && !(row_major || column_major)
            || !requests(ffi::PyBUF_STRIDES) && !row_major;
        if refused {
            return Err(PyBufferError::new_err(
                "the tensor's strides are not those asked for; contiguous() copies it",
            ));
        }
        let size = tensor.dtype().size();
        let mut exported = Box::new(BufferExport {
            shape: signed(tensor.shape(), 1),
            strides: signed(tensor.strides(), size),
            _tensor: tensor.clone(),
        });
        view.buf = tensor.data_ptr().cast::<c_void>();
        view.len = isize::try_from(tensor.numel().saturating_mul(size)).unwrap_or(isize::MAX);
        view.readonly = 0;
        // A request without a shape is for bytes. As CPython's own exporters, this describes them as one dimension:
        // `memoryview` reads `ndim` sizes from a shape that such a request leaves null.
        let (ndim, itemsize, format) = if requests(ffi::PyBUF_ND) {
            (tensor.ndim(), size, format_of(tensor.dtype()))
        } else {
            (1, 1, c"B")
        };
        view.itemsize = isize::try_from(itemsize).unwrap_or(1);
        view.format =
            if requests(ffi::PyBUF_FORMAT) { format.as_ptr().cast_mut() } else { std::ptr::null_mut() };
        view.ndim = c_int::try_from(ndim).unwrap_or(0);
        // The protocol has no arrays for a tensor without dimensions.
        let has_sizes = tensor.ndim() > 0;
        let array = |wanted: c_int, values: &mut Vec<isize>| {
            if has_sizes && requests(wanted) { values.as_mut_ptr() } else { std::ptr::null_mut() }
        };
        view.shape = array(ffi::PyBUF_ND, &mut exported.shape);
        view.strides = array(ffi::PyBUF_STRIDES, &mut exported.strides);
        view.suboffsets = std::ptr::null_mut();
        view.internal = Box::into_raw(exported).cast();
        view.obj = slf.into_any().into_ptr();
        Ok(())
    }

    /// # Safety
    /// Called by Python once for each buffer that was filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: `internal` is the box that `__getbuffer__` left there, and this is its only release.
        unsafe {
            if let Some(view) = view.as_mut() {
                drop(Box::from_raw(view.internal.cast::<BufferExport>()));
            }
        }
    }
}
