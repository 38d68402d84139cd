//! Identity matrices and equally spaced numbers.

use interlock_tensor::{DType as CoreDType, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::Tensor;
use super::args::{checked_sizes, extract_int, extract_scalar};
use super::creation::{build, tensor_options};
use super::numeric_args::{floats, ints};
use crate::switches;

type OptionalArg<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(eye, module)?)?;
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

/// Return numbers at equal distances from `start` to `end`, both included.
///
/// Args:
///     start: The first number, or a tensor with one element.
///     end: The last number, or a tensor with one element.
///     steps: How many numbers.
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

/// Return the powers of a base whose exponents are at equal distances from `start` to `end`, both included.
///
/// Args:
///     start: The first exponent, or a tensor with one element.
///     end: The last exponent, or a tensor with one element.
///     steps: How many numbers.
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
