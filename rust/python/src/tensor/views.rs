//! Views, and conversions of dtype and device.

use interlock_tensor::{DType as CoreDType, Placement, Result, Tensor as CoreTensor, TensorOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple};

use super::args::{
    checked_sizes, extract_int, extract_int_or_ints, extract_ints_or_named, extract_tensor, placement,
};
use super::dtype::{DType, NAMES};
use super::{Tensor, reduce, run_op, work_size};
use crate::accelerator::parse;
use crate::context::sync;
use crate::errors::{IntoPyResult, new_exception};
use crate::switches;

type OptionalArg<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

#[pymethods]
impl Tensor {
    /// Return a view with another shape.
    ///
    /// Args:
    ///     args: The sizes, as separate ints or as one tuple or list. One size may be -1, and is inferred.
    ///     size: The sizes as a tuple or list, by name instead of `args`.
    ///
    /// Raises:
    ///     ShapeError: The number of elements differs, or a copy would be needed; see `reshape`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.arange(6).view(2, -1)
    ///     tensor([[0, 1, 2],
    ///             [3, 4, 5]])
    #[pyo3(signature = (*args, size = None))]
    fn view(&self, args: &Bound<'_, PyTuple>, size: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        let shape = extract_ints_or_named("view: shape", args, size)?;
        view_of(args.py(), || self.0.view(&shape))
    }

    /// Return the elements in another shape: a view if possible, else a copy.
    ///
    /// Args:
    ///     args: The sizes, as separate ints or as one tuple or list. One size may be -1, and is inferred.
    ///     shape: The sizes as a tuple or list, by name instead of `args`.
    ///
    /// Raises:
    ///     ShapeError: The number of elements differs.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.arange(4).view(2, 2).t().reshape(-1)
    ///     tensor([0, 2, 1, 3])
    #[pyo3(signature = (*args, shape = None))]
    fn reshape(&self, args: &Bound<'_, PyTuple>, shape: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        let sizes = extract_ints_or_named("reshape: shape", args, shape)?;
        run_op(args.py(), "reshape", work_size(&self.0), || self.0.reshape(&sizes))
    }

    /// Return a view with two dimensions exchanged.
    ///
    /// Args:
    ///     dim0: The first dimension. Negative dimensions count from the last.
    ///     dim1: The second dimension.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have one of the dimensions.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2, 3, 4).transpose(0, -1).shape
    ///     (4, 3, 2)
    fn transpose(&self, dim0: &Bound<'_, PyAny>, dim1: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let (first, second) = (extract_int("transpose: dim0", dim0)?, extract_int("transpose: dim1", dim1)?);
        view_of(dim0.py(), || self.0.transpose(first, second))
    }

    /// Return a view with permuted dimensions.
    ///
    /// Args:
    ///     args: The dimensions of this tensor in their new order, as separate ints or as one tuple or list.
    ///     dims: The dimensions as a tuple or list, by name instead of `args`.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have one of the dimensions.
    ///     ArgumentError: A dimension is missing or named twice.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2, 3, 4).permute(2, 0, 1).shape
    ///     (4, 2, 3)
    #[pyo3(signature = (*args, dims = None))]
    fn permute(&self, args: &Bound<'_, PyTuple>, dims: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        let given = extract_ints_or_named("permute: dims", args, dims)?;
        view_of(args.py(), || self.0.permute(&given))
    }

    /// Return the transpose of a matrix, as a view. A tensor with fewer dimensions is unchanged.
    ///
    /// Raises:
    ///     ShapeError: The tensor has more than two dimensions.
    fn t(&self, py: Python<'_>) -> PyResult<Tensor> {
        view_of(py, || self.0.t())
    }

    /// A view with the dimensions in reverse order.
    #[getter(T)]
    fn reversed(&self, py: Python<'_>) -> PyResult<Tensor> {
        let mut order: Vec<i64> = (0i64..).take(self.0.ndim()).collect();
        order.reverse();
        view_of(py, || self.0.permute(&order))
    }

    /// Return a view with a new dimension of size 1.
    ///
    /// Args:
    ///     dim: The position of the new dimension, from -ndim - 1 to ndim.
    ///
    /// Raises:
    ///     IndexError: `dim` is out of range.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2, 3).unsqueeze(1).shape
    ///     (2, 1, 3)
    fn unsqueeze(&self, dim: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let index = extract_int("unsqueeze: dim", dim)?;
        view_of(dim.py(), || self.0.unsqueeze(index))
    }

    /// Return a view without dimensions of size 1.
    ///
    /// Args:
    ///     dim: The dimension or dimensions to remove; those of other sizes stay. None means all of size 1.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have one of the dimensions.
    ///     ArgumentError: A dimension is named twice.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(1, 2, 1).squeeze().shape
    ///     (2,)
    #[pyo3(signature = (dim = None))]
    fn squeeze(&self, py: Python<'_>, dim: Option<&Bound<'_, PyAny>>) -> PyResult<Tensor> {
        let dims = reduce::dims("squeeze: dim", dim)?;
        view_of(py, || squeezed(&self.0, dims.as_deref()))
    }

    /// Return a view in which dimensions of size 1 are repeated without a copy.
    ///
    /// Args:
    ///     args: The new sizes, as separate ints or as one tuple or list. -1 keeps a size; new dimensions come first.
    ///     size: The sizes as a tuple or list, by name instead of `args`.
    ///
    /// Raises:
    ///     ShapeError: A size other than 1 would change.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1], [2]]).expand(-1, 3)
    ///     tensor([[1, 1, 1],
    ///             [2, 2, 2]])
    #[pyo3(signature = (*args, size = None))]
    fn expand(&self, args: &Bound<'_, PyTuple>, size: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        let given = extract_ints_or_named("expand: sizes", args, size)?;
        view_of(args.py(), || self.0.expand(&given))
    }

    /// Return a view at one index of a dimension, without that dimension.
    ///
    /// Args:
    ///     dim: The dimension.
    ///     index: The index. Negative indices count from the end.
    ///
    /// Raises:
    ///     IndexError: `dim` or `index` is out of range, or the tensor has no dimensions.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1, 2], [3, 4]]).select(1, -1)
    ///     tensor([2, 4])
    fn select(&self, dim: &Bound<'_, PyAny>, index: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let (first, second) = (extract_int("select: dim", dim)?, extract_int("select: index", index)?);
        view_of(dim.py(), || self.0.select(first, second))
    }

    /// Return a view of the storage with any sizes and strides.
    ///
    /// Args:
    ///     size: The sizes, as an int or as a tuple or list.
    ///     stride: The stride of each dimension in elements, not negative.
    ///     storage_offset: The offset of the first element in the storage, in elements. None means that of this tensor.
    ///
    /// Raises:
    ///     ShapeError: The view exceeds the storage.
    ///     ArgumentError: A number is negative, or there are not as many strides as sizes.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.arange(4).as_strided((3, 2), (1, 1))
    ///     tensor([[0, 1],
    ///             [1, 2],
    ///             [2, 3]])
    #[pyo3(signature = (size, stride, storage_offset = None))]
    fn as_strided(
        &self,
        size: &Bound<'_, PyAny>,
        stride: &Bound<'_, PyAny>,
        storage_offset: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        strided(size.py(), &self.0, size, stride, storage_offset)
    }

    /// Convert the tensor to another dtype or device.
    ///
    /// A copy from or to a device is synchronous unless `non_blocking` is True. Then it is queued on the current
    /// stream, and a copy from a device is placed in pinned memory, whose contents are valid once the stream has
    /// completed it.
    ///
    /// Args:
    ///     args: A dtype, a device or both, or another tensor for its dtype and device; then `non_blocking` and `copy`.
    ///     dtype: The element type; None means no change.
    ///     device: The device; None means no change.
    ///     non_blocking: Whether a copy between a device and pinned memory is queued without waiting for it.
    ///     copy: Whether the tensor is copied if nothing changes.
    ///
    /// Returns:
    ///     The tensor itself if nothing changes and `copy` is False, else a new tensor.
    ///
    /// Raises:
    ///     NoAcceleratorError: The device needs an accelerator, and none is available.
    ///     DeviceError: A value does not name a device.
    ///     TypeError: Too many arguments were passed.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1.5, 2.5]).to(interlock.int64)
    ///     tensor([1, 2])
    #[pyo3(signature = (*args, dtype = None, device = None, non_blocking = false, copy = false))]
    fn to<'py>(
        slf: Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        dtype: Option<&Bound<'py, PyAny>>,
        device: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = switches::to::non_blocking)] non_blocking: bool,
        #[pyo3(from_py_with = switches::to::copy)] copy: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let (py, mut options) = (slf.py(), slf.get().0.options());
        let switches = args.iter().rev().take_while(|argument| argument.is_instance_of::<PyBool>()).count();
        let (names, switches) = (args.len() - switches, switches);
        if names > 2 || switches > 2 {
            return Err(PyTypeError::new_err(format!(
                "to: arguments must be a dtype, a device, both or a tensor, then non_blocking and copy, got {} arguments",
                args.len()
            )));
        }
        for argument in args.iter().take(names) {
            if let Ok(other) = argument.cast::<Tensor>() {
                options = other.get().0.options();
            } else if let Ok(dtype) = argument.cast::<DType>() {
                options.dtype = dtype.get().0;
            } else if !argument.is_none() {
                check_not_dtype(&argument)?;
                options.placement = placement(py, "to", Some(&argument), false, options.placement)?;
            }
        }
        let switch = |at: usize, named: bool| match args.get_item(names + at) {
            Ok(given) if at < switches => given.extract(),
            _ => Ok(named),
        };
        let (non_blocking, copy) = (switch(0, non_blocking)?, switch(1, copy)?);
        options.placement = placement(py, "to", device, false, options.placement)?;
        options.dtype = super::args::extract_dtype("to", dtype)?.unwrap_or(options.dtype);
        to_options("to", slf, options, non_blocking, copy)
    }

    /// Convert the tensor to the dtype and device of another one.
    ///
    /// Args:
    ///     other: The tensor whose dtype and device are used.
    ///
    /// Returns:
    ///     The tensor itself if nothing changes, else a new tensor.
    ///
    /// Raises:
    ///     TypeError: `other` is not a tensor.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1.5, 2.5]).type_as(interlock.tensor(0))
    ///     tensor([1, 2])
    fn type_as<'py>(slf: Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let options = extract_tensor("type_as: other", other)?.options();
        to_options("type_as", slf, options, false, false)
    }

    /// Return the tensor on the CPU, or the tensor itself if it is there.
    fn cpu(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let dtype = slf.get().0.dtype();
        to_options("cpu", slf, dtype.into(), false, false)
    }

    /// Return the tensor in pinned (page-locked) CPU memory, or the tensor itself if it is pinned.
    ///
    /// Args:
    ///     device: Ignored, except that it must name a device.
    ///
    /// Raises:
    ///     NoAcceleratorError: No accelerator is available.
    ///     RuntimeError: The tensor is on a device.
    ///     DeviceError: `device` does not name a device.
    #[pyo3(signature = (device = None))]
    fn pin_memory<'py>(
        slf: Bound<'py, Self>,
        device: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        device.map(|device| parse(device, "pin_memory", "device")).transpose()?;
        run_or_self("pin_memory", slf, super::DETACH_THRESHOLD, &|tensor| tensor.pin_memory())
    }

    /// Convert to float16. Returns the tensor itself if it is a float16 tensor.
    fn half(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to("half", slf, CoreDType::Float16)
    }

    /// Convert to bfloat16. Returns the tensor itself if it is a bfloat16 tensor.
    fn bfloat16(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to("bfloat16", slf, CoreDType::BFloat16)
    }

    /// Convert to float32. Returns the tensor itself if it is a float32 tensor.
    fn float(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to("float", slf, CoreDType::Float32)
    }

    /// Convert to float64. Returns the tensor itself if it is a float64 tensor.
    fn double(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to("double", slf, CoreDType::Float64)
    }

    /// Convert to int64, by truncation. Returns the tensor itself if it is an int64 tensor.
    fn long(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to("long", slf, CoreDType::Int64)
    }

    /// Convert to int32: fractions are truncated, and numbers beyond its range wrap. Returns the tensor itself if it is
    /// an int32 tensor.
    fn int(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to("int", slf, CoreDType::Int32)
    }

    /// Convert to int16: fractions are truncated, and numbers beyond its range wrap. Returns the tensor itself if it is
    /// an int16 tensor.
    fn short(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to("short", slf, CoreDType::Int16)
    }

    /// Convert to int8: fractions are truncated, and numbers beyond its range wrap. Returns the tensor itself if it is
    /// an int8 tensor.
    fn char(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to("char", slf, CoreDType::Int8)
    }

    /// Convert to uint8: fractions are truncated, and numbers beyond its range wrap. Returns the tensor itself if it is
    /// a uint8 tensor.
    fn byte(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to("byte", slf, CoreDType::UInt8)
    }

    /// Convert to bool: False for 0. Returns the tensor itself if it is a bool tensor.
    fn bool(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        cast_to("bool", slf, CoreDType::Bool)
    }
}

/// Names of dtypes of PyTorch and NumPy that are not those of dtypes here.
const MISSING_DTYPES: &[&str] = &[
    "half",
    "fp16",
    "bf16",
    "float",
    "fp32",
    "double",
    "fp64",
    "short",
    "int",
    "long",
    "complex64",
    "complex128",
];

/// Returns an error for the name of a dtype where a device is expected.
fn check_not_dtype(given: &Bound<'_, PyAny>) -> PyResult<()> {
    let Ok(name) = given.cast::<PyString>() else { return Ok(()) };
    let name = name.to_string_lossy();
    if CoreDType::ALL.iter().any(|dtype| dtype.name() == name) {
        let message = format!("to: {name:?} is a dtype: use to(interlock.{name})");
        return Err(new_exception(given.py(), "DeviceError", message));
    }
    if MISSING_DTYPES.contains(&&*name) {
        let message =
            format!("to: dtype must be interlock.{NAMES}, got {name:?}, for example to(interlock.float32)");
        return Err(new_exception(given.py(), "DeviceError", message));
    }
    Ok(())
}

fn cast_to<'py>(
    op: &'static str,
    tensor: Bound<'py, Tensor>,
    dtype: CoreDType,
) -> PyResult<Bound<'py, Tensor>> {
    run_or_self(op, tensor, 0, &|tensor| tensor.cast(dtype))
}

fn to_options<'py>(
    op: &'static str,
    tensor: Bound<'py, Tensor>,
    options: TensorOptions,
    non_blocking: bool,
    copy: bool,
) -> PyResult<Bound<'py, Tensor>> {
    let least = if matches!(options.placement, Placement::Cpu) { 0 } else { super::DETACH_THRESHOLD };
    run_or_self(op, tensor, least, &|tensor| {
        let moved = tensor.to(options, non_blocking)?;
        if copy && moved.is(tensor) { tensor.copy() } else { Ok(moved) }
    })
}

/// Returns a view. What it records depends on the modes, so the current context is looked at first.
fn view_of(py: Python<'_>, make: impl FnOnce() -> Result<CoreTensor>) -> PyResult<Tensor> {
    sync(py);
    make().map(Tensor).into_py_result(py)
}

/// Removes one dimension, several or all of those of size 1.
pub(super) fn squeezed(tensor: &CoreTensor, dims: Option<&[i64]>) -> Result<CoreTensor> {
    match dims {
        None => tensor.squeeze(None),
        Some(&[dim]) => tensor.squeeze(Some(dim)),
        Some(dims) => tensor.squeeze_dims(dims),
    }
}

/// Returns a view with any sizes and strides.
pub(super) fn strided(
    py: Python<'_>,
    tensor: &CoreTensor,
    size: &Bound<'_, PyAny>,
    stride: &Bound<'_, PyAny>,
    storage_offset: Option<&Bound<'_, PyAny>>,
) -> PyResult<Tensor> {
    let numbers = |what: &str, given: &Bound<'_, PyAny>| {
        checked_sizes(given.py(), what, &extract_int_or_ints(what, given)?)
    };
    let (sizes, strides) = (numbers("as_strided: size", size)?, numbers("as_strided: stride", stride)?);
    let what = "as_strided: storage_offset";
    let offset = storage_offset.map(|offset| extract_int(what, offset)).transpose()?;
    let offset = offset.map(|offset| checked_sizes(py, what, &[offset])).transpose()?;
    let offset = offset.and_then(|offset| offset.first().copied());
    view_of(py, || tensor.as_strided(&sizes, &strides, offset))
}

/// Runs an operation and returns the same Python object if it returns the same tensor.
pub(super) fn run_or_self<'py>(
    op: &'static str,
    tensor: Bound<'py, Tensor>,
    least: usize,
    operation: &(dyn Fn(&CoreTensor) -> Result<CoreTensor> + Sync),
) -> PyResult<Bound<'py, Tensor>> {
    let source = &tensor.get().0;
    let result = run_op(tensor.py(), op, work_size(source).max(least), || operation(source))?;
    if result.0.is(source) { Ok(tensor) } else { Bound::new(tensor.py(), result) }
}
