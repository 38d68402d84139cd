//! Functions that create tensors.

use interlock::accelerator::default_device;
use interlock_tensor::{DType as CoreDType, Placement, Result, Scalar, Tensor as CoreTensor, TensorOptions};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::detach::detach;
use crate::py_int;
use pyo3::types::{PyBytes, PyTuple};

use super::args::{
    checked_sizes, extract_dtype, extract_int_or_ints, extract_ints, extract_scalar, new_type_error,
    placement,
};
use super::dtype::DType;
use super::{Tensor, from_data, numpy};
use crate::errors::IntoPyResult;

type OptionalArg<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(tensor, module)?)?;
    module.add_function(wrap_pyfunction!(as_tensor, module)?)?;
    module.add_function(wrap_pyfunction!(from_numpy, module)?)?;
    module.add_function(wrap_pyfunction!(zeros, module)?)?;
    module.add_function(wrap_pyfunction!(ones, module)?)?;
    module.add_function(wrap_pyfunction!(empty, module)?)?;
    module.add_function(wrap_pyfunction!(full, module)?)?;
    module.add_function(wrap_pyfunction!(arange, module)?)?;
    module.add_function(wrap_pyfunction!(zeros_like, module)?)?;
    module.add_function(wrap_pyfunction!(ones_like, module)?)?;
    module.add_function(wrap_pyfunction!(rand, module)?)?;
    module.add_function(wrap_pyfunction!(randn, module)?)?;
    module.add_function(wrap_pyfunction!(manual_seed, module)?)?;
    // Not with `add_function`, which would put the private name into `__all__`.
    module.setattr("_rebuild", wrap_pyfunction!(_rebuild, module)?)
}

/// Creates a tensor while detached from the interpreter, and sets `requires_grad`.
fn build(
    py: Python<'_>,
    requires_grad: bool,
    make: impl FnOnce() -> Result<CoreTensor> + Send,
) -> PyResult<Tensor> {
    let tensor = detach(py, make).into_py_result(py)?;
    if requires_grad {
        tensor.set_requires_grad(true).into_py_result(py)?;
    }
    Ok(Tensor(tensor))
}

/// Return a tensor with a copy of `data`.
///
/// Args:
///     data: A number, nested sequences of numbers, an array or a tensor.
///     dtype: The element type. None means bool for bools, int64 for ints, and float32 if there is a float.
///     device: The device. None means the device of `data` if it is a tensor, else the default device.
///     requires_grad: Whether operations on the tensor are recorded.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ValueError: Sequences of one level have different lengths.
///     ArgumentError: int64 cannot hold a number.
///     TypeError: `data` contains other objects.
#[pyfunction]
#[pyo3(signature = (data, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn tensor(
    data: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let placement = placement(device, pin_memory, default_placement(data))?;
    let tensor = from_data::from_data(data, extract_dtype(dtype)?)?;
    build(data.py(), requires_grad, || tensor.to((tensor.dtype(), placement), false))
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
/// A tensor of the requested dtype and device is returned itself, and a NumPy array shares its memory.
#[pyfunction]
#[pyo3(signature = (data, dtype = None, device = None))]
fn as_tensor<'py>(
    data: &Bound<'py, PyAny>,
    dtype: OptionalArg<'_, 'py>,
    device: OptionalArg<'_, 'py>,
) -> PyResult<Bound<'py, Tensor>> {
    let py = data.py();
    let placement = placement(device, false, default_placement(data))?;
    let wanted = extract_dtype(dtype)?;
    let source = if let Ok(tensor) = data.cast::<Tensor>() {
        tensor.get().0.clone()
    } else if numpy::is_array(data)? {
        numpy::tensor_from_array(data)?
    } else {
        from_data::from_data(data, wanted)?
    };
    let result =
        detach(py, || source.to((wanted.unwrap_or(source.dtype()), placement), false)).into_py_result(py)?;
    match data.cast::<Tensor>() {
        Ok(tensor) if result.is(&tensor.get().0) => Ok(tensor.clone()),
        _ => Bound::new(py, Tensor(result)),
    }
}

/// Return a tensor that shares the memory of a NumPy array.
///
/// Read-only and unaligned arrays are copied.
///
/// Raises:
///     TypeError: The element type is not float32, float64, int64 or bool.
///     ValueError: A stride is negative or no multiple of the element size.
#[pyfunction]
fn from_numpy(ndarray: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    numpy::tensor_from_array(ndarray).map(Tensor)
}

/// Return a tensor of zeros.
///
/// Args:
///     size: The sizes, as separate ints or as a tuple or list.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn zeros(
    size: &Bound<'_, PyTuple>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let shape = checked_sizes(&extract_ints("size", size)?)?;
    let options = tensor_options(dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(size.py(), requires_grad, || CoreTensor::zeros(&shape, options))
}

/// Return a tensor of ones.
///
/// Args:
///     size: The sizes, as separate ints or as a tuple or list.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn ones(
    size: &Bound<'_, PyTuple>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let shape = checked_sizes(&extract_ints("size", size)?)?;
    let options = tensor_options(dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(size.py(), requires_grad, || CoreTensor::ones(&shape, options))
}

/// Return an uninitialized tensor.
///
/// Args:
///     size: The sizes, as separate ints or as a tuple or list.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn empty(
    size: &Bound<'_, PyTuple>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let shape = checked_sizes(&extract_ints("size", size)?)?;
    let options = tensor_options(dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(size.py(), requires_grad, || CoreTensor::empty(&shape, options))
}

/// Return a tensor filled with a number.
///
/// Args:
///     size: The sizes, an int or a tuple or list.
///     fill_value: The number, or a tensor with one element.
///     dtype: The element type; None means the type of the number.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: The dtype cannot hold the number.
#[pyfunction]
#[pyo3(signature = (size, fill_value, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn full(
    size: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let (shape, value) =
        (checked_sizes(&extract_int_or_ints("size", size)?)?, extract_scalar("fill_value", fill_value)?);
    let options = tensor_options(dtype, value.dtype(), device, pin_memory)?;
    build(size.py(), requires_grad, || CoreTensor::full(&shape, value, options))
}

/// Return the numbers from `start` to `end` (exclusive) in steps of `step`. `arange(end)` starts at 0.
///
/// Without `dtype` the result is int64, or float32 if an argument is a float. For int64 each argument is truncated
/// first.
///
/// Raises:
///     RuntimeError: `step` is 0 or has the wrong sign.
///     ArgumentError: int64 cannot hold an argument.
#[pyfunction]
#[pyo3(signature = (start, end = None, step = None, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn arange(
    start: &Bound<'_, PyAny>,
    end: OptionalArg<'_, '_>,
    step: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let first = extract_scalar("start", start)?;
    let step = step.map_or(Ok(Scalar::Int(1)), |step| extract_scalar("step", step))?;
    let (start_value, end_value) = match end {
        Some(end) => (first, extract_scalar("end", end)?),
        None => (Scalar::Int(0), first),
    };
    let widest = [start_value, end_value, step].map(Scalar::dtype).into_iter().max();
    let inferred = widest.unwrap_or(CoreDType::Int64).max(CoreDType::Int64);
    let options = tensor_options(dtype, inferred, device, pin_memory)?;
    build(start.py(), requires_grad, || CoreTensor::arange(start_value, end_value, step, options))
}

/// Extracts the tensor of a `*_like` function and the options of the new tensor.
fn like_options(
    input: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    pin_memory: bool,
) -> PyResult<(CoreTensor, TensorOptions)> {
    let Ok(tensor) = input.cast::<Tensor>() else { return Err(new_type_error("input", "a Tensor", input)) };
    let other = tensor.get().0.clone();
    let placement = placement(device, pin_memory, other.device().into())?;
    let dtype = extract_dtype(dtype)?.unwrap_or(other.dtype());
    Ok((other, TensorOptions { dtype, placement }))
}

/// Extracts the options of a new tensor. Without arguments they are `default_dtype` and the default device.
fn tensor_options(
    dtype: OptionalArg<'_, '_>,
    default_dtype: CoreDType,
    device: OptionalArg<'_, '_>,
    pin_memory: bool,
) -> PyResult<TensorOptions> {
    let dtype = extract_dtype(dtype)?.unwrap_or(default_dtype);
    Ok(TensorOptions { dtype, placement: placement(device, pin_memory, default_device().into())? })
}

/// Return zeros of the shape, and by default of the dtype and device, of another tensor.
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn zeros_like(
    input: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let (other, options) = like_options(input, dtype, device, pin_memory)?;
    build(input.py(), requires_grad, || other.zeros_like(options))
}

/// Return ones of the shape, and by default of the dtype and device, of another tensor.
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn ones_like(
    input: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let (other, options) = like_options(input, dtype, device, pin_memory)?;
    build(input.py(), requires_grad, || other.ones_like(options))
}

/// Return uniformly distributed random numbers from 0 to 1 (exclusive). `manual_seed` sets the seed.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn rand(
    size: &Bound<'_, PyTuple>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let shape = checked_sizes(&extract_ints("size", size)?)?;
    let options = tensor_options(dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(size.py(), requires_grad, || CoreTensor::rand(&shape, options))
}

/// Return random numbers of the standard normal distribution. `manual_seed` sets the seed.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn randn(
    size: &Bound<'_, PyTuple>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let shape = checked_sizes(&extract_ints("size", size)?)?;
    let options = tensor_options(dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(size.py(), requires_grad, || CoreTensor::randn(&shape, options))
}

/// Set the seed of the random numbers of the process. The same calls return the same numbers after the same seed.
#[pyfunction]
fn manual_seed(seed: &Bound<'_, PyAny>) -> PyResult<()> {
    let index = py_int::index(seed)?;
    let negative = index.as_ref().and_then(py_int::int64);
    let given = negative.map(i64::cast_unsigned).or_else(|| index.as_ref().and_then(py_int::uint64));
    let Some(number) = given else {
        let given = index
            .map_or_else(|| seed.str().map(|text| text.to_string()), |index| Ok(py_int::text(&index)))?;
        return Err(PyRuntimeError::new_err(format!("seed must be an int of at most 64 bits, got {given}")));
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
    requires_grad: bool,
    device: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let shape = checked_sizes(&extract_int_or_ints("shape", shape)?)?;
    let placement = placement(device, false, Placement::Cpu)?;
    let tensor = from_data::from_bytes(bytes.as_bytes(), dtype.0, &shape).into_py_result(bytes.py())?;
    build(bytes.py(), requires_grad, || tensor.to((tensor.dtype(), placement), false))
}
