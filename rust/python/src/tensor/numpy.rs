//! Conversion from and to NumPy arrays, without a copy if possible.
//!
//! NumPy arrays and tensors that share memory behave like two NumPy arrays: the program must not write on one thread
//! while another thread reads.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use interlock::autograd::Mode;
use interlock_tensor::{DType as CoreDType, Error, Tensor as CoreTensor};
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

use super::call::{run_op, work_size};
use super::dtype::NAMES;
use super::foreign_memory::tensor_over;
use super::{ReadTensor, Tensor};
use crate::context::sync;
use crate::errors::{IntoPyResult, new_type_error};
use crate::py_buffer::PyBuffer;
use crate::py_stack::observe_read;
use crate::switches;

/// Returns the dtype of the elements of a buffer, or `None` if it is not supported. The buffer protocol has no format
/// of bfloat16.
fn element_type(buffer: &PyBuffer) -> Option<CoreDType> {
    let native = if cfg!(target_endian = "little") { b'<' } else { b'>' };
    let code = match buffer.format() {
        [code] => *code,
        [order, code] if [b'@', b'=', native].contains(order) => *code,
        _ => return None,
    };
    let has_code = |dtype: &CoreDType| format_of(*dtype).is_some_and(|format| format.to_bytes() == [code]);
    let dtype = match code {
        // It has 4 bytes on some platforms.
        b'l' if buffer.itemsize() == CoreDType::Int32.size() => CoreDType::Int32,
        b'l' => CoreDType::Int64,
        _ => CoreDType::ALL.into_iter().find(has_code)?,
    };
    (buffer.itemsize() == dtype.size()).then_some(dtype)
}

/// Returns the exception for an array with an unsupported dtype. The name of the dtype is the array's own text.
fn err_unsupported_dtype(op: &str, array: &Bound<'_, PyAny>) -> PyErr {
    let given = match array.getattr("dtype").and_then(|dtype| dtype.str()) {
        Ok(dtype) => dtype.to_string(),
        Err(raised) => return raised,
    };
    let message =
        format!("{op}: the dtype of the array must be {NAMES} in this machine's byte order, got {given}");
    let foreign = if cfg!(target_endian = "little") { '>' } else { '<' };
    match given.starts_with(foreign) {
        true => PyValueError::new_err(message),
        false => PyTypeError::new_err(message),
    }
}

/// Returns whether an object is a `numpy.ndarray`. NumPy is not imported for this.
pub(super) fn is_array(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    is_instance(given, "ndarray")
}

/// Returns whether an object is a scalar of NumPy, `numpy.generic`. Its type determines its dtype.
pub(super) fn is_scalar(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    is_instance(given, "generic")
}

fn is_instance(given: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    let modules = given.py().import("sys")?.getattr("modules")?;
    match modules.get_item("numpy") {
        Ok(numpy) if !numpy.is_none() => given.is_instance(&numpy.getattr(name)?),
        _ => Ok(false),
    }
}

/// Returns the type `ml_dtypes.bfloat16`: NumPy itself has no bfloat16.
fn import_bfloat16(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let module = py.import("ml_dtypes").map_err(|_| {
        PyTypeError::new_err(
            "numpy: the dtype must be one that NumPy has, got bfloat16; install ml_dtypes, or use float().numpy()",
        )
    })?;
    module.getattr("bfloat16")
}

/// Returns an array of `ml_dtypes.bfloat16` as a float16 array over the same memory, or `None` for other arrays.
fn bfloat16_bits<'py>(array: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = array.py();
    // An array of this dtype exists only if the module was imported.
    let modules = py.import("sys")?.getattr("modules")?;
    let Some(ml_dtypes) = modules.get_item("ml_dtypes").ok().filter(|module| !module.is_none()) else {
        return Ok(None);
    };
    let numpy = py.import("numpy")?;
    // A subclass may override `view` and `dtype`.
    let array_type = numpy.getattr("ndarray")?;
    let dtype = array_type.getattr("dtype")?.call_method1("__get__", (array,))?;
    if !dtype.getattr("type")?.is(&ml_dtypes.getattr("bfloat16")?) {
        return Ok(None);
    }
    array_type.call_method1("view", (array, "float16")).map(Some)
}

/// Returns a tensor that shares the memory of an array, an argument of `op`. Read-only and unaligned arrays are copied.
///
/// Shape and strides are read from the buffer that the array exports: a subclass of `numpy.ndarray` may override
/// `shape`, `strides`, `__array_interface__` and `copy` with values that do not describe its memory.
pub(super) fn tensor_from_array(op: &str, array: &Bound<'_, PyAny>) -> PyResult<CoreTensor> {
    let py = array.py();
    let (array, is_bfloat16) = match bfloat16_bits(array)? {
        Some(bits) => (&bits.clone(), true),
        None => (array, false),
    };
    let buffer = PyBuffer::of(array).map_err(|error| {
        // NumPy exports no buffer of dates and similar types.
        let has_no_format =
            error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyBufferError>(py);
        if has_no_format { err_unsupported_dtype(op, array) } else { error }
    })?;
    let dtype = element_type(&buffer)
        .filter(|_| !buffer.is_indirect())
        .ok_or_else(|| err_unsupported_dtype(op, array))?;
    let dtype = if is_bfloat16 { CoreDType::BFloat16 } else { dtype };
    let (size, shape) = (dtype.size(), buffer.shape());
    let pointer = buffer.pointer().unwrap_or(NonNull::<u64>::dangling().cast());
    if buffer.is_readonly() || !pointer.addr().get().is_multiple_of(size) {
        return copy_buffer(py, op, &buffer, dtype, &shape);
    }
    let is_empty = shape.contains(&0);
    let in_elements = |(&count, &stride): (&usize, &isize)| match usize::try_from(stride) {
        Ok(stride) if stride.is_multiple_of(size) => Ok(stride / size),
        // The stride of a dimension with less than two elements is not used.
        _ if is_empty || count == 1 => Ok(1),
        _ => Err(PyValueError::new_err(format!(
            "{op}: the strides of the array must be non-negative multiples of {size} bytes, got {stride}; copy() the array"
        ))),
    };
    let strides = shape.iter().zip(buffer.strides()).map(in_elements).collect::<PyResult<Vec<_>>>()?;
    // SAFETY: the exporter guarantees that elements of this shape and these strides start at the address, and the buffer
    // keeps the memory valid.
    let tensor = unsafe { tensor_over(pointer, dtype, (&shape, &strides), Box::new(buffer)) };
    tensor.into_py_result(py)
}

/// Returns a contiguous tensor with the elements of a buffer.
fn copy_buffer(
    py: Python<'_>,
    op: &str,
    buffer: &PyBuffer,
    dtype: CoreDType,
    shape: &[usize],
) -> PyResult<CoreTensor> {
    sync(py);
    let tensor = CoreTensor::zeros(shape, dtype).into_py_result(py)?;
    if tensor.numel().checked_mul(dtype.size()) != Some(buffer.bytes()) {
        return Err(PyBufferError::new_err(format!(
            "{op}: the array must export a buffer whose length matches its shape"
        )));
    }
    // SAFETY: the tensor is new and contiguous and has that many bytes.
    unsafe { buffer.copy_to(py, tensor.data_ptr())? };
    Ok(tensor)
}

/// Returns the `numpy.dtype` for the argument `dtype` of `__array__`.
fn array_dtype<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    given.py().import("numpy")?.getattr("dtype")?.call1((given,)).map_err(|error| {
        match error.is_instance_of::<PyTypeError>(given.py()) {
            // NumPy's text repeats all of a str.
            true => new_type_error("__array__: dtype", "a dtype of NumPy", given),
            false => error,
        }
    })
}

/// The data of an exported buffer: the shape and strides that it points to, and the tensor that it refers to.
struct BufferExport {
    shape: Vec<isize>,
    strides: Vec<isize>,
    _tensor: CoreTensor,
}

/// Returns the format code of a dtype in the buffer protocol, which has none of bfloat16.
fn format_of(dtype: CoreDType) -> Option<&'static std::ffi::CStr> {
    match dtype {
        CoreDType::Bool => Some(c"?"),
        CoreDType::UInt8 => Some(c"B"),
        CoreDType::Int8 => Some(c"b"),
        CoreDType::Int16 => Some(c"h"),
        CoreDType::Int32 => Some(c"i"),
        CoreDType::Int64 => Some(c"q"),
        CoreDType::Float16 => Some(c"e"),
        CoreDType::BFloat16 => None,
        CoreDType::Float32 => Some(c"f"),
        CoreDType::Float64 => Some(c"d"),
    }
}

/// Returns the message for access to device memory.
fn device_memory_message(op: &'static str, tensor: &CoreTensor) -> String {
    Error::on_device(op, tensor.device()).to_string()
}

/// Returns whether operations on the tensor are recorded. Other libraries that share its memory would not record
/// theirs.
pub(super) fn is_recorded(py: Python<'_>, tensor: &CoreTensor) -> bool {
    sync(py).is_on(Mode::Grad) && tensor.requires_grad()
}

/// Converts values to `isize`, multiplied by a factor.
fn signed(values: &[usize], factor: usize) -> Vec<isize> {
    values.iter().map(|value| isize::try_from(value.saturating_mul(factor)).unwrap_or(isize::MAX)).collect()
}

/// Returns whether the elements are stored in column-major order without gaps.
fn is_column_major(tensor: &CoreTensor) -> bool {
    let order: Vec<i64> = (0i64..).take(tensor.ndim()).collect();
    tensor.detach().permute(&order.into_iter().rev().collect::<Vec<_>>()).is_ok_and(|it| it.is_contiguous())
}

#[pymethods]
impl Tensor {
    /// Return a `numpy.ndarray` that shares the tensor's memory.
    ///
    /// Args:
    ///     force: Whether a tensor that requires grad is detached and a device tensor is copied to the CPU.
    ///
    /// Raises:
    ///     RuntimeError: The tensor requires grad while gradients are enabled, because NumPy records nothing.
    ///     TypeError: The tensor is on a device, whose memory NumPy cannot share.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1.0, 2.0]).numpy()
    ///     array([1., 2.], dtype=float32)
    #[pyo3(signature = (*, force = false))]
    fn numpy<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = switches::numpy::force)] force: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let tensor = &*slf.core();
        let plain = if force {
            Bound::new(
                py,
                run_op(py, "numpy", work_size(tensor), || tensor.detach().to(tensor.dtype(), false))?,
            )?
        } else if tensor.is_on_device() {
            return Err(PyTypeError::new_err(device_memory_message("numpy", tensor)));
        } else if is_recorded(py, tensor) {
            return Err(PyRuntimeError::new_err(
                "numpy: the tensor must not require grad, because NumPy records no operations; use detach().numpy()",
            ));
        } else {
            slf.clone()
        };
        let plain_tensor = plain.core().detach();
        if plain_tensor.dtype() != CoreDType::BFloat16 {
            return py.import("numpy")?.call_method1("asarray", (plain,));
        }
        let bfloat16 = import_bfloat16(py)?;
        // float16 has elements of the same size and is a dtype of NumPy.
        let (shape, strides) = (plain_tensor.shape(), plain_tensor.strides());
        let (storage, offset) = (plain_tensor.storage(), plain_tensor.storage_offset());
        let bits = CoreTensor::from_storage(storage, CoreDType::Float16, shape, strides, offset);
        let bits = Bound::new(py, Tensor::from(bits.into_py_result(py)?))?;
        py.import("numpy")?.call_method1("asarray", (bits,))?.call_method1("view", (bfloat16,))
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = switches::__array__::copy)] copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = Self::numpy(slf, false)?;
        let array = match dtype {
            Some(dtype) => {
                let dtype = array_dtype(dtype)?;
                array.call_method1("astype", (dtype,))?
            }
            None => array,
        };
        if copy == Some(true) && dtype.is_none() { array.call_method0("copy") } else { Ok(array) }
    }

    /// # Safety
    /// Python calls it with a buffer to fill, or null.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: Python passes null or a buffer that no other code uses until this function returns.
        let Some(view) = (unsafe { view.as_mut() }) else {
            return Err(PyBufferError::new_err("no buffer to fill"));
        };
        view.obj = std::ptr::null_mut();
        let tensor = slf.core().clone();
        if is_recorded(slf.py(), &tensor) {
            return Err(PyBufferError::new_err(
                "__buffer__: the tensor must not require grad; detach() it first",
            ));
        }
        if tensor.is_on_device() {
            return Err(PyBufferError::new_err(device_memory_message("__buffer__", &tensor)));
        }
        // The layout of an alias does not change, also if another thread resizes the tensor.
        let tensor = tensor.detach();
        let requests = |wanted: c_int| flags & wanted == wanted;
        let row_major = tensor.is_contiguous();
        let column_major = row_major && tensor.ndim() <= 1 || is_column_major(&tensor);
        let refused = requests(ffi::PyBUF_C_CONTIGUOUS) && !row_major
            || requests(ffi::PyBUF_F_CONTIGUOUS) && !column_major
            || requests(ffi::PyBUF_ANY_CONTIGUOUS) && !(row_major || column_major)
            || !requests(ffi::PyBUF_STRIDES) && !row_major;
        if refused {
            return Err(PyBufferError::new_err(
                "__buffer__: the tensor must have the requested memory order; contiguous() copies it",
            ));
        }
        // A request without a shape is for bytes. As CPython's own exporters do, this describes them as one
        // dimension: `memoryview` reads `ndim` sizes from a shape that such a request leaves null.
        let (ndim, itemsize, format) = if requests(ffi::PyBUF_ND) {
            let format = format_of(tensor.dtype()).ok_or_else(|| {
                PyBufferError::new_err("__buffer__: the dtype must have a format in the buffer protocol, got bfloat16; use float() or numpy()")
            })?;
            (tensor.ndim(), tensor.dtype().size(), format)
        } else {
            (1, 1, c"B")
        };
        let size = tensor.dtype().size();
        let mut exported = Box::new(BufferExport {
            shape: signed(tensor.shape(), 1),
            strides: signed(tensor.strides(), size),
            _tensor: tensor.clone(),
        });
        // The consumer would not see the memory that the storage moves to.
        tensor.storage().disable_resizing();
        view.buf = tensor.data_ptr().cast::<c_void>();
        view.len = isize::try_from(tensor.numel().saturating_mul(size)).unwrap_or(isize::MAX);
        observe_read(slf.py(), tensor.data_ptr(), tensor.numel().saturating_mul(size));
        view.readonly = 0;
        view.itemsize = isize::try_from(itemsize).unwrap_or(1);
        view.format =
            if requests(ffi::PyBUF_FORMAT) { format.as_ptr().cast_mut() } else { std::ptr::null_mut() };
        view.ndim = c_int::try_from(ndim).unwrap_or(0);
        // The buffer protocol has no shape and strides for a 0-d tensor.
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
    /// Python calls it once for each buffer that was filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: `internal` is the box that `__getbuffer__` stored, and this is its only release.
        unsafe {
            if let Some(view) = view.as_mut() {
                drop(Box::from_raw(view.internal.cast::<BufferExport>()));
            }
        }
    }
}
