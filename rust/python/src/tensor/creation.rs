//! Functions that make tensors.

use interlock::accelerator::default_device;
use interlock_tensor::{DType as CoreDType, Options, Place, Result, Scalar, Tensor as CoreTensor};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::detached::detached;
use crate::whole;
use pyo3::types::{PyBytes, PyTuple};

use super::arguments::{dtype, integers, one_or_more, place, scalar, shape, wrong_type};
use super::dtype::DType;
use super::{Tensor, data, numpy};
use crate::errors::IntoPyResult;

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
    // Not with `add_function`, which would put the private name into `__all__`.
    module.setattr("_rebuild", wrap_pyfunction!(_rebuild, module)?)
}

/// Makes a tensor where other threads may run, and marks it.
fn made(
    py: Python<'_>,
    requires_grad: bool,
    make: impl FnOnce() -> Result<CoreTensor> + Send,
) -> PyResult<Tensor> {
    let tensor = detached(py, make).into_py_result(py)?;
    if requires_grad {
        tensor.set_requires_grad(true).into_py_result(py)?;
    }
    Ok(Tensor(tensor))
}

/// A tensor with the numbers of `data`: a number, nested sequences, an array or a tensor. Always a copy.
///
/// Without `dtype` bools make a bool tensor, ints int64, and floats among them float32. Raises
/// ValueError for ragged sequences and for a number that int64 cannot hold, and TypeError for what is no number.
#[pyfunction]
#[pyo3(signature = (data, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn tensor(
    data: &Bound<'_, PyAny>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let place = place(device, pin_memory, beside(data))?;
    let tensor = data::from_data(data, self::dtype(dtype)?)?;
    made(data.py(), requires_grad, || tensor.to((tensor.dtype(), place), false))
}

/// Where a tensor with the numbers of `data` lies if no device is given: a tensor's copy lies where that does,
/// unless there is a default device.
fn beside(data: &Bound<'_, PyAny>) -> Place {
    match (Place::from(default_device()), data.cast::<Tensor>()) {
        (Place::Cpu, Ok(tensor)) => tensor.get().0.device().into(),
        (place, _) => place,
    }
}

/// As `tensor`, without a copy where that is possible: a tensor of the wanted type and device is returned itself,
/// and a NumPy array shares its memory.
#[pyfunction]
#[pyo3(signature = (data, dtype = None, device = None))]
fn as_tensor<'py>(
    data: &Bound<'py, PyAny>,
    dtype: Any<'_, 'py>,
    device: Any<'_, 'py>,
) -> PyResult<Bound<'py, Tensor>> {
    let py = data.py();
    let place = place(device, false, beside(data))?;
    let wanted = self::dtype(dtype)?;
    let source = if let Ok(tensor) = data.cast::<Tensor>() {
        tensor.get().0.clone()
    } else if numpy::is_array(data)? {
        numpy::share(data)?
    } else {
        data::from_data(data, wanted)?
    };
    let made =
        detached(py, || source.to((wanted.unwrap_or(source.dtype()), place), false)).into_py_result(py)?;
    match data.cast::<Tensor>() {
        Ok(tensor) if made.is(&tensor.get().0) => Ok(tensor.clone()),
        _ => Bound::new(py, Tensor(made)),
    }
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
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn zeros(
    size: &Bound<'_, PyTuple>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let shape = shape(&integers("size", size)?)?;
    let options = options(dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    made(size.py(), requires_grad, || CoreTensor::zeros(&shape, options))
}

/// A tensor of ones; sizes are given one by one or as a tuple or list.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn ones(
    size: &Bound<'_, PyTuple>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let shape = shape(&integers("size", size)?)?;
    let options = options(dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    made(size.py(), requires_grad, || CoreTensor::ones(&shape, options))
}

/// A tensor whose elements are not promised to be anything.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn empty(
    size: &Bound<'_, PyTuple>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let shape = shape(&integers("size", size)?)?;
    let options = options(dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    made(size.py(), requires_grad, || CoreTensor::empty(&shape, options))
}

/// A tensor of one number; without `dtype` of the number's type. Raises ArgumentError for a number that the dtype
/// cannot hold.
#[pyfunction]
#[pyo3(signature = (size, fill_value, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn full(
    size: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let (shape, value) = (shape(&one_or_more("size", size)?)?, scalar("fill_value", fill_value)?);
    let options = options(dtype, value.dtype(), device, pin_memory)?;
    made(size.py(), requires_grad, || CoreTensor::full(&shape, value, options))
}

/// The numbers from `start` up to but without `end`, `step` apart; `arange(end)` starts from 0.
///
/// Without `dtype` int64, or float32 if any argument is a float. With int64 each argument is truncated first. Raises
/// RuntimeError for a step of 0 or one that leads away from the end, and ArgumentError for an argument that int64
/// cannot hold.
#[pyfunction]
#[pyo3(signature = (start, end = None, step = None, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn arange(
    start: &Bound<'_, PyAny>,
    end: Any<'_, '_>,
    step: Any<'_, '_>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let first = scalar("start", start)?;
    let step = step.map_or(Ok(Scalar::Int(1)), |step| scalar("step", step))?;
    let (start_value, end_value) = match end {
        Some(end) => (first, scalar("end", end)?),
        None => (Scalar::Int(0), first),
    };
    let widest = [start_value, end_value, step].map(Scalar::dtype).into_iter().max();
    let inferred = widest.unwrap_or(CoreDType::Int64).max(CoreDType::Int64);
    let options = options(dtype, inferred, device, pin_memory)?;
    made(start.py(), requires_grad, || CoreTensor::arange(start_value, end_value, step, options))
}

/// Another tensor, and what a new one is that is like it but for what is given.
fn like(
    input: &Bound<'_, PyAny>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    pin_memory: bool,
) -> PyResult<(CoreTensor, Options)> {
    let Ok(tensor) = input.cast::<Tensor>() else { return Err(wrong_type("input", "a Tensor", input)) };
    let other = tensor.get().0.clone();
    let place = place(device, pin_memory, other.device().into())?;
    let dtype = self::dtype(dtype)?.unwrap_or(other.dtype());
    Ok((other, Options { dtype, place }))
}

/// What a new tensor is: `otherwise` is its type, and the default device its place, if none is given.
fn options(
    dtype: Any<'_, '_>,
    otherwise: CoreDType,
    device: Any<'_, '_>,
    pin_memory: bool,
) -> PyResult<Options> {
    let dtype = self::dtype(dtype)?.unwrap_or(otherwise);
    Ok(Options { dtype, place: place(device, pin_memory, default_device().into())? })
}

/// Zeros of the shape and, without `dtype` and `device`, of the type and on the device of another tensor.
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn zeros_like(
    input: &Bound<'_, PyAny>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let (other, options) = like(input, dtype, device, pin_memory)?;
    made(input.py(), requires_grad, || other.zeros_like(options))
}

/// Ones of the shape and, without `dtype` and `device`, of the type and on the device of another tensor.
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn ones_like(
    input: &Bound<'_, PyAny>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let (other, options) = like(input, dtype, device, pin_memory)?;
    made(input.py(), requires_grad, || other.ones_like(options))
}

/// Numbers spread evenly from 0 up to but without 1; see `manual_seed`.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn rand(
    size: &Bound<'_, PyTuple>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let shape = shape(&integers("size", size)?)?;
    let options = options(dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    made(size.py(), requires_grad, || CoreTensor::rand(&shape, options))
}

/// Numbers of the standard normal distribution; see `manual_seed`.
#[pyfunction]
#[pyo3(signature = (*size, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn randn(
    size: &Bound<'_, PyTuple>,
    dtype: Any<'_, '_>,
    device: Any<'_, '_>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Tensor> {
    let shape = shape(&integers("size", size)?)?;
    let options = options(dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    made(size.py(), requires_grad, || CoreTensor::randn(&shape, options))
}

/// Restarts the process's random numbers: after the same seed the same calls give the same numbers.
#[pyfunction]
fn manual_seed(seed: &Bound<'_, PyAny>) -> PyResult<()> {
    let index = whole::index(seed)?;
    let negative = index.as_ref().and_then(whole::int64);
    let given = negative.map(i64::cast_unsigned).or_else(|| index.as_ref().and_then(whole::uint64));
    let Some(number) = given else {
        let given =
            index.map_or_else(|| seed.str().map(|text| text.to_string()), |index| Ok(whole::text(&index)))?;
        return Err(PyRuntimeError::new_err(format!("a seed is an int of at most 64 bits, not {given}")));
    };
    interlock_tensor::manual_seed(number);
    Ok(())
}

/// Makes a tensor again from what pickle has stored.
#[pyfunction]
#[pyo3(signature = (bytes, dtype, shape, requires_grad, device = None))]
fn _rebuild(
    bytes: &Bound<'_, PyBytes>,
    dtype: &DType,
    shape: &Bound<'_, PyAny>,
    requires_grad: bool,
    device: Any<'_, '_>,
) -> PyResult<Tensor> {
    let shape = self::shape(&one_or_more("shape", shape)?)?;
    let place = place(device, false, Place::Cpu)?;
    let tensor = data::from_bytes(bytes.as_bytes(), dtype.0, &shape).into_py_result(bytes.py())?;
    made(bytes.py(), requires_grad, || tensor.to((tensor.dtype(), place), false))
}
