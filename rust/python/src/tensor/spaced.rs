//! Identity matrices and equally spaced numbers.

use interlock_tensor::{DType as CoreDType, Scalar, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::Tensor;
use super::args::{OptionalArg, checked_sizes, extract_int, extract_scalar};
use super::creation::{build, tensor_options};
use super::numeric_args::{floats, ints};
use crate::errors::new_type_error;
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(eye, module)?)?;
    module.add_function(wrap_pyfunction!(arange, module)?)?;
    module.add_function(wrap_pyfunction!(linspace, module)?)?;
    module.add_function(wrap_pyfunction!(logspace, module)?)
}

/// Return a matrix with ones on the diagonal and zeros elsewhere.
///
/// Args:
///     n: The number of rows.
///     m: The number of columns; None means `n`.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: A number is negative.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.eye(2)
///     tensor([[1., 0.],
///             [0., 1.]])
#[pyfunction]
#[pyo3(signature = (n, m = None, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn eye(
    py: Python<'_>,
    #[pyo3(from_py_with = ints::eye::n)] n: i64,
    m: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::eye::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::eye::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let columns = m.map_or(Ok(n), |m| extract_int("eye: m", m))?;
    let rows = checked_sizes(py, "eye: n", &[n])?.first().copied().unwrap_or(0);
    let columns = checked_sizes(py, "eye: m", &[columns])?.first().copied().unwrap_or(0);
    let options = tensor_options(py, "eye", dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(py, requires_grad, || CoreTensor::eye(rows, columns, options))
}

/// Return the numbers from `start` to `end` (exclusive) in steps of `step`. `arange(end)` starts at 0.
///
/// Each argument is a number or a tensor with one element. If the dtype is int64, each one is truncated first.
///
/// Args:
///     start: The first number, or the bound if `end` is None; None means 0.
///     end: The bound, which the result does not contain. None means that `start` is the bound and 0 the start.
///     step: The difference between adjacent elements, which may be negative; None means 1.
///     dtype: The element type. None means int64, or float32 if an argument is a float.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: `step` is 0 or has the wrong sign, a bound is not finite, or the dtype is int64 and cannot hold
///         an argument.
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

/// Return `steps` evenly spaced numbers from `start` to `end`, both included.
///
/// Args:
///     start: The first number, or a tensor with one element.
///     end: The last number, or a tensor with one element.
///     steps: The number of elements.
///     dtype: The element type; None means float32. For integers the bounds and the numbers are truncated.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: `steps` is negative, or the dtype cannot hold a bound.
///     DTypeError: The dtype is bool.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.linspace(0, 1, 5)
///     tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
#[pyfunction]
#[pyo3(signature = (start, end, steps, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn linspace(
    start: &Bound<'_, PyAny>,
    end: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::linspace::steps)] steps: i64,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::linspace::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::linspace::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (py, op) = (start.py(), "linspace");
    let (start, end) = (extract_scalar("linspace: start", start)?, extract_scalar("linspace: end", end)?);
    let options = tensor_options(py, op, dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(py, requires_grad, || CoreTensor::linspace(start, end, steps, options))
}

/// Return the powers of `base` with `steps` evenly spaced exponents from `start` to `end`, both included.
///
/// Args:
///     start: The first exponent, or a tensor with one element.
///     end: The last exponent, or a tensor with one element.
///     steps: The number of elements.
///     base: The base.
///     dtype: The element type; None means float32. For integers the bounds and the numbers are truncated.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: `steps` is negative, or the dtype cannot hold a bound.
///     DTypeError: The dtype is bool.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.logspace(0, 2, 3)
///     tensor([  1.,  10., 100.])
#[pyfunction]
#[pyo3(signature = (start, end, steps, base = 10.0, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
#[expect(clippy::too_many_arguments, reason = "the signature is PyTorch's")]
fn logspace(
    start: &Bound<'_, PyAny>,
    end: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::logspace::steps)] steps: i64,
    #[pyo3(from_py_with = floats::logspace::base)] base: f64,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::logspace::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::logspace::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (py, op) = (start.py(), "logspace");
    let (start, end) = (extract_scalar("logspace: start", start)?, extract_scalar("logspace: end", end)?);
    let options = tensor_options(py, op, dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(py, requires_grad, || CoreTensor::logspace(start, end, steps, base, options))
}
