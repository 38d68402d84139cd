//! Functions that create tensors.

use interlock::accelerator::default_device;
use interlock_tensor::{DType as CoreDType, Placement, Result, Scalar, Tensor as CoreTensor, TensorOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::detach::detach;
use crate::py_int;
use pyo3::types::{PyBytes, PyTuple};

use super::args::{
    checked_sizes, extract_dtype, extract_int_or_ints, extract_ints, extract_ints_or_named, extract_scalar,
    extract_tensor, function_of, placement,
};
use super::dtype::DType;
use super::identity::remember_tensor;
use super::{Tensor, from_data, numpy};
use crate::errors::{IntoPyResult, new_exception, new_type_error};
use crate::switches;

type OptionalArg<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(tensor, module)?)?;
    module.add_function(wrap_pyfunction!(as_tensor, module)?)?;
    module.add_function(wrap_pyfunction!(from_numpy, module)?)?;
    module.add_function(wrap_pyfunction!(super::dlpack::from_dlpack, module)?)?;
    module.add_function(wrap_pyfunction!(zeros, module)?)?;
    module.add_function(wrap_pyfunction!(ones, module)?)?;
    module.add_function(wrap_pyfunction!(empty, module)?)?;
    module.add_function(wrap_pyfunction!(full, module)?)?;
    module.add_function(wrap_pyfunction!(arange, module)?)?;
    module.add_function(wrap_pyfunction!(zeros_like, module)?)?;
    module.add_function(wrap_pyfunction!(ones_like, module)?)?;
    module.add_function(wrap_pyfunction!(empty_strided, module)?)?;
    module.add_function(wrap_pyfunction!(rand, module)?)?;
    module.add_function(wrap_pyfunction!(randn, module)?)?;
    module.add_function(wrap_pyfunction!(manual_seed, module)?)?;
    // Not with `add_function`, which would put the private name into `__all__`.
    module.setattr("_rebuild", wrap_pyfunction!(_rebuild, module)?)
}

/// Creates a tensor while detached from the interpreter, and sets `requires_grad`.
pub(super) fn build(
    py: Python<'_>,
    requires_grad: bool,
    make: impl FnOnce() -> Result<CoreTensor> + Send,
) -> PyResult<Py<Tensor>> {
    let tensor = detach(py, make).into_py_result(py)?;
    if requires_grad {
        tensor.set_requires_grad(true).into_py_result(py)?;
    }
    let object = Bound::new(py, Tensor(tensor))?;
    if requires_grad {
        // Nodes refer to leaves, and return this object.
        remember_tensor(&object)?;
    }
    Ok(object.unbind())
}

/// Return a tensor with a copy of `data`.
///
/// Args:
///     data: A number, nested sequences of numbers, a NumPy array or a tensor.
///     dtype: The element type. None means that of an array or tensor, else bool, int64 or float32 for Python numbers.
///     device: The device. None means the default device; if none is set, the device of `data` if it is a tensor.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ValueError: Sequences of one level have different lengths, or are nested more than 64 levels deep.
///     ArgumentError: int64 cannot hold a number.
///     OverflowError: `dtype` is floating point and float64 cannot hold an int.
///     TypeError: `data` contains other objects.
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.tensor([[1, 2], [3, 4]])
///     tensor([[1, 2],
///             [3, 4]])
///     >>> interlock.tensor([1, 2.5]).dtype
///     interlock.float32
#[pyfunction]
#[pyo3(signature = (data, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn tensor(
    data: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::tensor::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::tensor::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (py, op) = (data.py(), "tensor");
    let placement = placement(py, op, device, pin_memory, default_placement(data))?;
    let tensor = from_data::from_data(op, data, extract_dtype(op, dtype)?)?;
    let options = (tensor.dtype(), placement);
    build(py, requires_grad, || tensor.to(options, false).map_err(|error| error.during(op)))
}

/// Returns the placement of a tensor with the numbers of `data` if no device is passed: the default device, or the
/// device of `data` if it is a tensor and no default device is set.
fn default_placement(data: &Bound<'_, PyAny>) -> Placement {
    match (Placement::from(default_device()), data.cast::<Tensor>()) {
        (Placement::Cpu, Ok(tensor)) => tensor.get().0.device().into(),
        (placement, _) => placement,
    }
}

/// Return `data` as a tensor, without a copy if possible.
///
/// Args:
///     data: A number, nested sequences of numbers, a NumPy array or a tensor.
///     dtype: The element type. None means the type that `tensor` infers.
///     device: The device. None means the default device; if none is set, the device of `data` if it is a tensor.
///
/// Returns:
///     `data` itself if it is a tensor of that dtype and device. The memory of such an array is shared.
///
/// Raises:
///     ValueError: Sequences of one level have different lengths, or a stride of an array is not supported.
///     ArgumentError: int64 cannot hold a number.
///     TypeError: `data` contains other objects.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.ones(2)
///     >>> interlock.as_tensor(x) is x
///     True
#[pyfunction]
#[pyo3(signature = (data, dtype = None, device = None))]
fn as_tensor<'py>(
    data: &Bound<'py, PyAny>,
    dtype: OptionalArg<'_, 'py>,
    device: OptionalArg<'_, 'py>,
) -> PyResult<Bound<'py, Tensor>> {
    let (py, op) = (data.py(), "as_tensor");
    let placement = placement(py, op, device, false, default_placement(data))?;
    let wanted = extract_dtype(op, dtype)?;
    let source = if let Ok(tensor) = data.cast::<Tensor>() {
        tensor.get().0.clone()
    } else if numpy::is_array(data)? {
        numpy::tensor_from_array(data)?
    } else {
        from_data::from_data(op, data, wanted)?
    };
    let options = (wanted.unwrap_or(source.dtype()), placement);
    let result = detach(py, || source.to(options, false).map_err(|error| error.during(op)));
    let result = result.into_py_result(py)?;
    match data.cast::<Tensor>() {
        Ok(tensor) if result.is(&tensor.get().0) => Ok(tensor.clone()),
        _ => Bound::new(py, Tensor(result)),
    }
}

/// Return a tensor that shares the memory of a NumPy array.
///
/// Read-only and unaligned arrays are copied.
///
/// Args:
///     ndarray: A `numpy.ndarray` of dtype float16, float32, float64, int64, int32, int16, int8, uint8 or bool, or of `ml_dtypes.bfloat16`.
///
/// Raises:
///     TypeError: `ndarray` is not an array, or its dtype is not supported.
///     ValueError: A stride is negative or not a multiple of the element size.
///
/// Example:
///     >>> import interlock
///     >>> import numpy
///     >>> array = numpy.zeros(2)
///     >>> interlock.from_numpy(array).fill_(1)
///     tensor([1., 1.], dtype=interlock.float64)
///     >>> array
///     array([1., 1.])
#[pyfunction]
fn from_numpy(ndarray: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    numpy::tensor_from_array(ndarray).map(Tensor)
}

/// Return a tensor of zeros.
///
/// Args:
///     args: The sizes, as separate ints or as one tuple or list.
///     size: The sizes as a tuple or list, by name instead of `args`.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: A size is negative.
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.zeros(2, 3)
///     tensor([[0., 0., 0.],
///             [0., 0., 0.]])
#[pyfunction]
#[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn zeros(
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::zeros::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::zeros::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let shape = extract_size("zeros: size", args, size)?;
    let options = tensor_options(args.py(), "zeros", dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(args.py(), requires_grad, || CoreTensor::zeros(&shape, options))
}

/// Return a tensor of ones.
///
/// Args:
///     args: The sizes, as separate ints or as one tuple or list.
///     size: The sizes as a tuple or list, by name instead of `args`.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: A size is negative.
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.ones((2,), dtype=interlock.int64)
///     tensor([1, 1])
#[pyfunction]
#[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn ones(
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::ones::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::ones::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let shape = extract_size("ones: size", args, size)?;
    let options = tensor_options(args.py(), "ones", dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(args.py(), requires_grad, || CoreTensor::ones(&shape, options))
}

/// Return an uninitialized tensor.
///
/// It is filled while `backends.deterministic_algorithms` is set; see `utils.deterministic`.
///
/// Args:
///     args: The sizes, as separate ints or as one tuple or list.
///     size: The sizes as a tuple or list, by name instead of `args`.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: A size is negative.
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.empty(2, 3).shape
///     (2, 3)
#[pyfunction]
#[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn empty(
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::empty::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::empty::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let shape = extract_size("empty: size", args, size)?;
    let options = tensor_options(args.py(), "empty", dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(args.py(), requires_grad, || CoreTensor::empty(&shape, options))
}

/// Return an uninitialized tensor with these strides.
///
/// It is filled while `backends.deterministic_algorithms` is set; see `utils.deterministic`.
///
/// Args:
///     size: The sizes, as a tuple or list.
///     stride: The distances of neighbours in each dimension, in elements. Not negative.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: A size or a stride is negative, or their numbers differ.
///     ShapeError: The memory has more elements than can be addressed.
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.empty_strided((2, 3), (1, 2)).stride()
///     (1, 2)
#[pyfunction]
#[pyo3(signature = (size, stride, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn empty_strided(
    size: &Bound<'_, PyAny>,
    stride: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::empty_strided::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::empty_strided::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (py, op, size_name, stride_name) =
        (size.py(), "empty_strided", "empty_strided: size", "empty_strided: stride");
    let shape = checked_sizes(py, size_name, &extract_int_or_ints(size_name, size)?)?;
    let strides = checked_sizes(py, stride_name, &extract_int_or_ints(stride_name, stride)?)?;
    let options = tensor_options(py, op, dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(py, requires_grad, || CoreTensor::empty_strided(&shape, &strides, options))
}

/// Return a tensor filled with a number.
///
/// Args:
///     size: The sizes, as an int or as a tuple or list.
///     fill_value: The number, or a tensor with one element.
///     dtype: The element type. None means bool for a bool, int64 for an int, and float32 for a float.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: The dtype cannot hold the number.
///     ArgumentError: A size is negative.
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.full((2, 2), 7)
///     tensor([[7, 7],
///             [7, 7]])
#[pyfunction]
#[pyo3(signature = (size, fill_value, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn full(
    size: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::full::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::full::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (py, op, what) = (size.py(), "full", "full: size");
    let shape = checked_sizes(py, what, &extract_int_or_ints(what, size)?)?;
    let value = extract_scalar("full: fill_value", fill_value)?;
    let options = tensor_options(py, op, dtype, value.dtype(), device, pin_memory)?;
    build(size.py(), requires_grad, || CoreTensor::full(&shape, value, options))
}

/// Return the numbers from `start` to `end` (exclusive) in steps of `step`. `arange(end)` starts at 0.
///
/// Each argument is a number or a tensor with one element. If the dtype is int64, each one is truncated first.
///
/// Args:
///     start: The first number, or the bound if `end` is None; None means 0.
///     end: The bound, which the result does not contain. None means that `start` is the bound and 0 the start.
///     step: The difference of two neighbours, which may be negative; None means 1.
///     dtype: The element type. None means int64, or float32 if an argument is a float.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: `step` is 0 or has the wrong sign, a bound is not finite, or the dtype is int64 and cannot hold an
///         argument.
///     TypeError: Neither `start` nor `end` is passed.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.arange(3)
///     tensor([0, 1, 2])
///     >>> interlock.arange(1, 2, 0.25)
///     tensor([1.0000, 1.2500, 1.5000, 1.7500])
#[pyfunction]
#[pyo3(signature = (start = None, end = None, step = None, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
#[expect(clippy::too_many_arguments, reason = "the signature is PyTorch's")]
fn arange(
    py: Python<'_>,
    start: OptionalArg<'_, '_>,
    end: OptionalArg<'_, '_>,
    step: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::arange::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::arange::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let step = step.map_or(Ok(Scalar::Int(1)), |step| extract_scalar("arange: step", step))?;
    let start = start.map(|start| extract_scalar("arange: start", start)).transpose()?;
    let end = end.map(|end| extract_scalar("arange: end", end)).transpose()?;
    let (start_value, end_value) = match (start, end) {
        (start, Some(end)) => (start.unwrap_or(Scalar::Int(0)), end),
        (Some(end), None) => (Scalar::Int(0), end),
        (None, None) => return Err(new_type_error("arange: end", "a number", py.None().bind(py))),
    };
    let dtypes = [start_value, end_value, step].map(Scalar::dtype);
    let inferred = dtypes.into_iter().fold(CoreDType::Int64, CoreDType::promote);
    let options = tensor_options(py, "arange", dtype, inferred, device, pin_memory)?;
    build(py, requires_grad, || CoreTensor::arange(start_value, end_value, step, options))
}

/// Extracts the sizes of a new tensor. `what` names the function and the argument.
pub(super) fn extract_size(
    what: &str,
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
) -> PyResult<Vec<usize>> {
    let py = args.py();
    if let Some(dtype) = args.iter().next_back().filter(|last| last.is_instance_of::<DType>()) {
        let sizes = extract_ints(what, &args.get_slice(0, args.len() - 1))?;
        let sizes = PyTuple::new(py, checked_sizes(py, what, &sizes)?)?;
        let message = format!("dtype is keyword-only: {}({sizes}, dtype={dtype})", function_of(what));
        return Err(PyTypeError::new_err(message));
    }
    checked_sizes(py, what, &extract_ints_or_named(what, args, size)?)
}

/// Extracts the tensor of a `*_like` function and the options of the new tensor.
pub(super) fn like_options(
    what: &str,
    input: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    pin_memory: bool,
) -> PyResult<(CoreTensor, TensorOptions)> {
    let (op, other) = (function_of(what), extract_tensor(what, input)?);
    let placement = placement(input.py(), op, device, pin_memory, other.device().into())?;
    let dtype = extract_dtype(op, dtype)?.unwrap_or(other.dtype());
    Ok((other, TensorOptions { dtype, placement }))
}

/// Extracts the options of a new tensor. Without arguments they are `default_dtype` and the default device.
pub(super) fn tensor_options(
    py: Python<'_>,
    op: &str,
    dtype: OptionalArg<'_, '_>,
    default_dtype: CoreDType,
    device: OptionalArg<'_, '_>,
    pin_memory: bool,
) -> PyResult<TensorOptions> {
    let dtype = extract_dtype(op, dtype)?.unwrap_or(default_dtype);
    Ok(TensorOptions { dtype, placement: placement(py, op, device, pin_memory, default_device().into())? })
}

/// Return a tensor of zeros with the shape of another tensor.
///
/// Args:
///     input: The tensor whose shape and memory order are used.
///     dtype: The element type; None means that of `input`.
///     device: The device; None means that of `input`.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.zeros_like(interlock.tensor([1, 2]))
///     tensor([0, 0])
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn zeros_like(
    input: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::zeros_like::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::zeros_like::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (other, options) = like_options("zeros_like: input", input, dtype, device, pin_memory)?;
    build(input.py(), requires_grad, || other.zeros_like(options))
}

/// Return a tensor of ones with the shape of another tensor.
///
/// Args:
///     input: The tensor whose shape and memory order are used.
///     dtype: The element type; None means that of `input`.
///     device: The device; None means that of `input`.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.ones_like(interlock.tensor([1, 2]), dtype=interlock.float32)
///     tensor([1., 1.])
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn ones_like(
    input: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::ones_like::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::ones_like::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (other, options) = like_options("ones_like: input", input, dtype, device, pin_memory)?;
    build(input.py(), requires_grad, || other.ones_like(options))
}

/// Return random numbers that are uniformly distributed from 0 to 1 (exclusive).
///
/// `manual_seed` sets the seed. The numbers do not depend on the device.
///
/// Args:
///     args: The sizes, as separate ints or as one tuple or list.
///     size: The sizes as a tuple or list, by name instead of `args`.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: A size is negative.
///     DTypeError: `dtype` is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.rand(2, 3)
///     >>> x.shape
///     (2, 3)
#[pyfunction]
#[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn rand(
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::rand::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::rand::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let shape = extract_size("rand: size", args, size)?;
    let options = tensor_options(args.py(), "rand", dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(args.py(), requires_grad, || CoreTensor::rand(&shape, options))
}

/// Return random numbers of the standard normal distribution: mean 0, variance 1.
///
/// `manual_seed` sets the seed. The numbers do not depend on the device.
///
/// Args:
///     args: The sizes, as separate ints or as one tuple or list.
///     size: The sizes as a tuple or list, by name instead of `args`.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: A size is negative.
///     DTypeError: `dtype` is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.randn(2, 3)
///     >>> x.shape
///     (2, 3)
#[pyfunction]
#[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn randn(
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::randn::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::randn::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let shape = extract_size("randn: size", args, size)?;
    let options = tensor_options(args.py(), "randn", dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(args.py(), requires_grad, || CoreTensor::randn(&shape, options))
}

/// Set the seed of the random numbers of the process.
///
/// After the same seed, the same calls return the same numbers, on every thread and device.
///
/// Args:
///     seed: An int from -2**63 to 2**64 - 1.
///
/// Raises:
///     TypeError: `seed` is not an int.
///     ArgumentError: `seed` is out of range.
///
/// Example:
///     >>> import interlock
///     >>> interlock.manual_seed(7)
///     >>> x = interlock.rand(3)
///     >>> interlock.manual_seed(7)
///     >>> (interlock.rand(3) == x).min().item()
///     True
#[pyfunction]
fn manual_seed(seed: &Bound<'_, PyAny>) -> PyResult<()> {
    let what = "manual_seed: seed";
    let index = py_int::index(seed)?.ok_or_else(|| new_type_error(what, "an int", seed))?;
    let number = py_int::int64(&index).map(i64::cast_unsigned).or_else(|| py_int::uint64(&index));
    let Some(number) = number else {
        let message = format!("{what} must be from -2**63 to 2**64 - 1, got {}", py_int::text(&index));
        return Err(new_exception(seed.py(), "ArgumentError", message));
    };
    interlock_tensor::manual_seed(number);
    Ok(())
}

/// Recreate a tensor from its pickled state.
#[pyfunction]
#[pyo3(signature = (bytes, dtype, shape, requires_grad, device = None))]
fn _rebuild(
    bytes: &Bound<'_, PyBytes>,
    dtype: &DType,
    shape: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = switches::_rebuild::requires_grad)] requires_grad: bool,
    device: OptionalArg<'_, '_>,
) -> PyResult<Py<Tensor>> {
    let (py, op, what) = (bytes.py(), "_rebuild", "_rebuild: shape");
    let shape = checked_sizes(py, what, &extract_int_or_ints(what, shape)?)?;
    let placement = placement(py, op, device, false, Placement::Cpu)?;
    let tensor = from_data::from_bytes(bytes.as_bytes(), dtype.0, &shape).into_py_result(bytes.py())?;
    build(bytes.py(), requires_grad, || tensor.to((tensor.dtype(), placement), false))
}
