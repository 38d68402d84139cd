//! Functions that make tensors.

use interlock_tensor::{DType as CoreDType, Result, Scalar, Tensor as CoreTensor};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::detached::detached;
use pyo3::types::{PyBytes, PyTuple};

use super::arguments::{dtype, integers, on_cpu, on_cpu_or_default, one_or_more, scalar, shape, wrong_type};
use super::dtype::DType;
use super::errors::OrRaise;
use super::{Tensor, data, numpy};

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

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
    module.add_function(wrap_pyfunction!(_rebuild, module)?)
}

/// Makes a tensor where other threads may run, and marks it; without a device on the default one.
fn made(
    py: Python<'_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    make: impl FnOnce() -> Result<CoreTensor> + Send,
) -> PyResult<Tensor> {
    on_cpu_or_default(py, device)?;
    made_there(py, device, requires_grad, make)
}

/// The same, without a device on the processor.
fn made_there(
    py: Python<'_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    make: impl FnOnce() -> Result<CoreTensor> + Send,
) -> PyResult<Tensor> {
    on_cpu(device)?;
    let tensor = detached(py, make).or_raise(py)?;
    if requires_grad {
        tensor.set_requires_grad(true).or_raise(py)?;
    }
    Ok(Tensor(tensor))
}

/// A tensor with the numbers of `data`: a number, nested sequences, an array or a tensor. Always a copy.
///
/// Without `dtype` bools make a bool tensor, ints int64, and floats among them float32. Raises
/// ValueError for ragged sequences and TypeError for what is no number.
#[pyfunction]
#[pyo3(signature = (data, *, dtype = None, device = None, requires_grad = false))]
fn tensor(
    data: &Bound<'_, PyAny>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let tensor = data::from_data(data, self::dtype(dtype)?)?;
    made(data.py(), device, requires_grad, || Ok(tensor))
}

/// As `tensor`, without a copy where that is possible: a tensor of the wanted type is returned itself,
/// and a NumPy array shares its memory.
#[pyfunction]
#[pyo3(signature = (data, dtype = None, device = None))]
fn as_tensor<'py>(
    data: &Bound<'py, PyAny>,
    dtype: Any<'_, 'py>,
    device: Any<'_, 'py>,
) -> PyResult<Bound<'py, Tensor>> {
    let py = data.py();
    on_cpu(device)?;
    let wanted = self::dtype(dtype)?;
    if let Ok(tensor) = data.cast::<Tensor>() {
        let core = &tensor.get().0;
        let Some(wanted) = wanted.filter(|&wanted| wanted != core.dtype()) else { return Ok(tensor.clone()) };
        return Bound::new(py, Tensor(core.cast(wanted).or_raise(py)?));
    }
    let made = if numpy::is_array(data)? {
        let shared = numpy::share(data)?;
        wanted.map_or_else(|| Ok(shared.clone()), |wanted| shared.cast(wanted)).or_raise(py)?
    } else {
        data::from_data(data, wanted)?
    };
    Bound::new(py, Tensor(made))
}

/// A tensor that shares the memory of a NumPy array: writes to either show in both.
///
/// Read-only and unaligned arrays are copied. Raises TypeError for element types other than float32,
/// float64, int64 and bool, and ValueError for negative strides.
#[pyfunction]
fn from_numpy(ndarray: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    numpy::share(ndarray).map(Tensor)
}

/// A tensor of zeros; sizes are given one by one or as a tuple or list.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false))]
fn zeros(
    size: &Bound<'_, PyTuple>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let (shape, dtype) =
        (shape(&integers("size", size)?)?, self::dtype(dtype)?.unwrap_or(CoreDType::DEFAULT_FLOAT));
    made(size.py(), device, requires_grad, || CoreTensor::zeros(&shape, dtype))
}

/// A tensor of ones; sizes are given one by one or as a tuple or list.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false))]
fn ones(
    size: &Bound<'_, PyTuple>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let (shape, dtype) =
        (shape(&integers("size", size)?)?, self::dtype(dtype)?.unwrap_or(CoreDType::DEFAULT_FLOAT));
    made(size.py(), device, requires_grad, || CoreTensor::ones(&shape, dtype))
}

/// A tensor whose elements are not promised to be anything.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false))]
fn empty(
    size: &Bound<'_, PyTuple>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    zeros(size, dtype, device, requires_grad)
}

/// A tensor of one number; without `dtype` of the number's type.
#[pyfunction]
#[pyo3(signature = (size, fill_value, *, dtype = None, device = None, requires_grad = false))]
fn full(
    size: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let (shape, value) = (shape(&one_or_more("size", size)?)?, scalar("fill_value", fill_value)?);
    let dtype = self::dtype(dtype)?.unwrap_or(value.dtype());
    made(size.py(), device, requires_grad, || CoreTensor::full(&shape, value, dtype))
}

/// The numbers from `start` up to but without `end`, `step` apart; `arange(end)` starts from 0.
///
/// Without `dtype` int64, or float32 if any argument is a float. Raises RuntimeError for a step of 0 or
/// one that leads away from the end.
#[pyfunction]
#[pyo3(signature = (start, end = None, step = None, *, dtype = None, device = None, requires_grad = false))]
fn arange(
    start: &Bound<'_, PyAny>,
    end: Any<'_, '_>,
    step: Any<'_, '_>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let first = scalar("start", start)?;
    let step = step.map_or(Ok(Scalar::Int(1)), |step| scalar("step", step))?;
    let (start_value, end_value) = match end {
        Some(end) => (first, scalar("end", end)?),
        None => (Scalar::Int(0), first),
    };
    let widest = [start_value, end_value, step].map(Scalar::dtype).into_iter().max();
    let inferred = widest.unwrap_or(CoreDType::Int64).max(CoreDType::Int64);
    let dtype = self::dtype(dtype)?.unwrap_or(inferred);
    made(start.py(), device, requires_grad, || CoreTensor::arange(start_value, end_value, step, dtype))
}

fn like(input: &Bound<'_, PyAny>) -> PyResult<CoreTensor> {
    match input.cast::<Tensor>() {
        Ok(tensor) => Ok(tensor.get().0.clone()),
        Err(_) => Err(wrong_type("input", "a Tensor", input)),
    }
}

/// Zeros of the shape and, without `dtype`, of the type of another tensor.
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false))]
fn zeros_like(
    input: &Bound<'_, PyAny>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let (other, dtype) = (like(input)?, self::dtype(dtype)?);
    let dtype = dtype.unwrap_or(other.dtype());
    made_there(input.py(), device, requires_grad, || CoreTensor::zeros(other.shape(), dtype))
}

/// Ones of the shape and, without `dtype`, of the type of another tensor.
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false))]
fn ones_like(
    input: &Bound<'_, PyAny>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let (other, dtype) = (like(input)?, self::dtype(dtype)?);
    let dtype = dtype.unwrap_or(other.dtype());
    made_there(input.py(), device, requires_grad, || CoreTensor::ones(other.shape(), dtype))
}

/// Numbers spread evenly from 0 up to but without 1; see `manual_seed`.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false))]
fn rand(
    size: &Bound<'_, PyTuple>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let (shape, dtype) =
        (shape(&integers("size", size)?)?, self::dtype(dtype)?.unwrap_or(CoreDType::DEFAULT_FLOAT));
    made(size.py(), device, requires_grad, || CoreTensor::rand(&shape, dtype))
}

/// Numbers of the standard normal distribution; see `manual_seed`.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false))]
fn randn(
    size: &Bound<'_, PyTuple>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let (shape, dtype) =
        (shape(&integers("size", size)?)?, self::dtype(dtype)?.unwrap_or(CoreDType::DEFAULT_FLOAT));
    made(size.py(), device, requires_grad, || CoreTensor::randn(&shape, dtype))
}

/// Restarts the process's random numbers: after the same seed the same calls give the same numbers.
#[pyfunction]
fn manual_seed(seed: &Bound<'_, PyAny>) -> PyResult<()> {
    let negative: Option<i64> = seed.extract().ok();
    let given: Option<u64> = negative.map(i64::cast_unsigned).or_else(|| seed.extract().ok());
    let seed = given
        .ok_or_else(|| PyRuntimeError::new_err(format!("a seed is an int of at most 64 bits, not {seed}")))?;
    interlock_tensor::manual_seed(seed);
    Ok(())
}

/// Makes a tensor again from what pickle has stored.
#[pyfunction]
fn _rebuild(
    bytes: &Bound<'_, PyBytes>,
    dtype: &DType,
    shape: Vec<usize>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let tensor = data::from_bytes(bytes.as_bytes(), dtype.0, &shape).or_raise(bytes.py())?;
    made_there(bytes.py(), None, requires_grad, || Ok(tensor))
}
