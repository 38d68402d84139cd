//! NumPy in and out, without a copy where that is possible.
//!
//! NumPy and tensors that share memory do so as two NumPy arrays would: it is up to the program not to
//! write on one thread what another reads.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use interlock::accelerator::Device;
use interlock::accelerator::memory::Block;
use interlock::autograd::is_grad_enabled;
use interlock_tensor::{DType as CoreDType, Error, Storage, Tensor as CoreTensor};
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

use super::arguments::type_name;
use super::errors::OrRaise;
use super::{Tensor, run, weight};

/// What keeps foreign memory alive. It may be dropped on a thread that Python does not know, or after
/// the interpreter is gone: then the object leaks.
struct Keeper(Option<Py<PyAny>>);

impl Drop for Keeper {
    fn drop(&mut self) {
        if Python::try_attach(|_| drop(self.0.take())).is_none() {
            std::mem::forget(self.0.take());
        }
    }
}

fn element_type(array: &Bound<'_, PyAny>, text: &str) -> PyResult<CoreDType> {
    let native = if cfg!(target_endian = "little") { '<' } else { '>' };
    let known = match text.strip_prefix([native, '|']) {
        Some("f4") => Some(CoreDType::Float32),
        Some("f8") => Some(CoreDType::Float64),
        Some("i8") => Some(CoreDType::Int64),
        Some("b1") => Some(CoreDType::Bool),
        _ => None,
    };
    let supported = "float32, float64, int64 and bool of this machine's byte order";
    let given = array.getattr("dtype").map_or_else(|_| text.to_owned(), |dtype| dtype.to_string());
    known.ok_or_else(|| {
        PyTypeError::new_err(format!("arrays of type {given} are not supported, only {supported}"))
    })
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
pub(super) fn share(array: &Bound<'_, PyAny>) -> PyResult<CoreTensor> {
    if !is_array(array)? {
        return Err(PyTypeError::new_err(format!("expected a numpy.ndarray, got {}", type_name(array))));
    }
    let interface = array.getattr("__array_interface__")?;
    let dtype = element_type(array, &interface.get_item("typestr")?.extract::<String>()?)?;
    let (address, read_only): (usize, bool) = interface.get_item("data")?.extract()?;
    if read_only || !address.is_multiple_of(dtype.size()) {
        let copy = array.call_method0("copy")?;
        return share(&copy);
    }
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let strides: Vec<isize> = array.getattr("strides")?.extract()?;
    let size = dtype.size();
    let is_empty = shape.contains(&0);
    let in_elements = |(&count, &stride): (&usize, &isize)| match usize::try_from(stride) {
        Ok(stride) if stride.is_multiple_of(size) => Ok(stride / size),
        // Nobody goes along a dimension without a second element.
        _ if is_empty || count == 1 => Ok(1),
        _ => Err(PyValueError::new_err(format!(
            "strides of {strides:?} bytes are not supported: they must be multiples of {size} and not negative; \
             copy() the array"
        ))),
    };
    let strides = shape.iter().zip(&strides).map(in_elements).collect::<PyResult<Vec<_>>>()?;
    let last =
        shape.iter().zip(&strides).map(|(&size, &stride)| size.saturating_sub(1).saturating_mul(stride));
    let count = last.fold(1, usize::saturating_add);
    let bytes = if is_empty { 0 } else { count.saturating_mul(size) };
    let pointer = NonNull::new(address as *mut u8).unwrap_or(NonNull::<u64>::dangling().cast());
    let keeper = Box::new(Keeper(Some(array.clone().unbind())));
    // SAFETY: NumPy says that an array of this shape and these strides starts at the address, so its
    // last element ends `bytes` further on; the keeper holds the array, which owns the memory or holds
    // what does. That nobody writes while an operation runs is up to the program, as among arrays.
    let storage = unsafe { Storage::foreign(Block::foreign(pointer, bytes, Device::CPU, keeper)) };
    CoreTensor::from_storage(storage, dtype, &shape, &strides, 0).or_raise(array.py())
}

/// What a buffer points to and the tensor must outlive.
struct Exported {
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
fn no_memory_here(tensor: &CoreTensor) -> String {
    let what = "memory that others can share";
    Error::OnDevice { what, device: tensor.device() }.to_string()
}

/// Whether operations on the tensor are recorded, which others that share its memory would not do.
fn records(tensor: &CoreTensor) -> bool {
    is_grad_enabled() && tensor.requires_grad()
}

fn signed(values: &[usize], factor: usize) -> Vec<isize> {
    values.iter().map(|value| isize::try_from(value.saturating_mul(factor)).unwrap_or(isize::MAX)).collect()
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
            Bound::new(py, run(py, weight(tensor), || tensor.detach().to(tensor.dtype(), false))?)?
        } else if tensor.is_on_device() {
            return Err(PyTypeError::new_err(no_memory_here(tensor)));
        } else if records(tensor) {
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
        if records(&tensor) {
            return Err(PyBufferError::new_err(
                "a tensor that requires grad gives no buffer; detach() it first",
            ));
        }
        if tensor.is_on_device() {
            return Err(PyBufferError::new_err(no_memory_here(&tensor)));
        }
        let asks = |wanted: c_int| flags & wanted == wanted;
        let transposed = tensor.ndim() == 2 && tensor.t().is_ok_and(|turned| turned.is_contiguous());
        let column_major = tensor.ndim() <= 1 && tensor.is_contiguous() || transposed;
        let fits = if asks(ffi::PyBUF_ANY_CONTIGUOUS) {
            tensor.is_contiguous() || column_major
        } else if asks(ffi::PyBUF_F_CONTIGUOUS) {
            column_major
        } else if asks(ffi::PyBUF_C_CONTIGUOUS) || !asks(ffi::PyBUF_STRIDES) {
            tensor.is_contiguous()
        } else {
            true
        };
        if !fits {
            return Err(PyBufferError::new_err(
                "the tensor's strides are not those asked for; contiguous() copies it",
            ));
        }
        let size = tensor.dtype().size();
        let mut exported = Box::new(Exported {
            shape: signed(tensor.shape(), 1),
            strides: signed(tensor.strides(), size),
            _tensor: tensor.clone(),
        });
        view.buf = tensor.data_ptr().cast::<c_void>();
        view.len = isize::try_from(tensor.numel().saturating_mul(size)).unwrap_or(isize::MAX);
        view.readonly = 0;
        view.itemsize = isize::try_from(size).unwrap_or(1);
        let format =
            if asks(ffi::PyBUF_FORMAT) { format_of(tensor.dtype()).as_ptr() } else { std::ptr::null() };
        view.format = format.cast_mut();
        view.ndim = c_int::try_from(tensor.ndim()).unwrap_or(0);
        view.shape = if asks(ffi::PyBUF_ND) { exported.shape.as_mut_ptr() } else { std::ptr::null_mut() };
        view.strides =
            if asks(ffi::PyBUF_STRIDES) { exported.strides.as_mut_ptr() } else { std::ptr::null_mut() };
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
                drop(Box::from_raw(view.internal.cast::<Exported>()));
            }
        }
    }
}
