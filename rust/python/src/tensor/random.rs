//! Random numbers and samples.

use interlock_tensor::{DType as CoreDType, Scalar, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::args::{
    OptionalArg, TensorOrScalar, checked_sizes, extract_f64, extract_int, extract_int_or_ints, extract_tensor,
};
use super::creation::{build, tensor_options};
use super::inplace::{PySelf, run_inplace};
use super::like::like_options;
use super::numeric_args::{floats, ints};
use super::{Tensor, run_op, work_size};
use crate::errors::{new_exception, new_type_error};
use crate::py_int;
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(manual_seed, module)?)?;
    module.add_function(wrap_pyfunction!(rand_like, module)?)?;
    module.add_function(wrap_pyfunction!(randn_like, module)?)?;
    module.add_function(wrap_pyfunction!(randint, module)?)?;
    module.add_function(wrap_pyfunction!(randint_like, module)?)?;
    module.add_function(wrap_pyfunction!(randperm, module)?)?;
    module.add_function(wrap_pyfunction!(bernoulli, module)?)?;
    module.add_function(wrap_pyfunction!(multinomial, module)?)
}

/// Extracts the bounds of random integers: with one number before the sizes, that is the end and the start is 0.
fn extract_bounds(
    op: &str,
    low: OptionalArg<'_, '_>,
    high: OptionalArg<'_, '_>,
    py: Python<'_>,
) -> PyResult<(i64, i64)> {
    let bound = |name: &str, given: &Bound<'_, PyAny>| extract_int(&format!("{op}: {name}"), given);
    match (low, high) {
        (Some(low), Some(high)) => Ok((bound("low", low)?, bound("high", high)?)),
        (Some(end), None) | (None, Some(end)) => Ok((0, bound("high", end)?)),
        (None, None) => Err(new_type_error(&format!("{op}: high"), "an int", py.None().bind(py))),
    }
}

#[pymethods]
impl Tensor {
    /// Return 1 with the probability given by each element, else 0. The gradient is 0.
    ///
    /// Args:
    ///     p: One probability for all elements, whose values are then ignored. None means the elements of the tensor.
    ///
    /// Returns:
    ///     A tensor of the same dtype.
    ///
    /// Raises:
    ///     DTypeError: The tensor is not floating point, and `p` is None.
    ///     ArgumentError: A probability is not from 0 to 1. For tensors on a device the error is asynchronous.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([0.0, 1.0]).bernoulli()
    ///     tensor([0., 1.])
    #[pyo3(signature = (p = None))]
    fn bernoulli(&self, py: Python<'_>, p: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        let x = &self.0;
        let p = p.map(|p| extract_f64("bernoulli: p", p)).transpose()?;
        run_op(py, "bernoulli", work_size(x), || match p {
            Some(p) => x.bernoulli_p(p),
            None => x.bernoulli(),
        })
    }

    /// Return indices that are drawn in proportion to weights.
    ///
    /// Args:
    ///     num_samples: The number of indices of each row.
    ///     replacement: Whether an index can be drawn several times.
    ///
    /// Returns:
    ///     An int64 tensor of shape [num_samples], or [rows, num_samples] for a matrix of weights.
    ///
    /// Raises:
    ///     ArgumentError: `num_samples` is not positive, or exceeds the number of weights without replacement; or a
    ///         weight is negative or not finite, or all weights of a row are 0. For tensors on a device the latter
    ///         errors are asynchronous.
    ///     DTypeError: The weights are not floating point.
    ///     ShapeError: The tensor does not have one or two dimensions.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([0.0, 3.0, 0.0]).multinomial(2, replacement=True)
    ///     tensor([1, 1])
    #[pyo3(signature = (num_samples, replacement = false))]
    fn multinomial(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = ints::multinomial::num_samples)] num_samples: i64,
        #[pyo3(from_py_with = switches::multinomial::replacement)] replacement: bool,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "multinomial", super::DETACH_THRESHOLD, || x.multinomial(num_samples, replacement))
    }

    /// Overwrite the elements with random numbers of a normal distribution.
    ///
    /// Args:
    ///     mean: The mean.
    ///     std: The standard deviation.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     DTypeError: The tensor is not floating point.
    ///     ArgumentError: `std` is negative.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2).normal_(3.0, 0.0)
    ///     tensor([3., 3.])
    #[pyo3(signature = (mean = 0.0, std = 1.0))]
    fn normal_<'py>(
        slf: Bound<'py, Self>,
        #[pyo3(from_py_with = floats::normal_::mean)] mean: f64,
        #[pyo3(from_py_with = floats::normal_::std)] std: f64,
    ) -> PySelf<'py> {
        run_inplace("normal_", slf, &|x| x.normal_(mean, std).map(drop))
    }

    /// Overwrite the elements with uniformly distributed random numbers.
    ///
    /// Args:
    ///     from_: The least number.
    ///     to: The end of the range, which it does not contain.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     DTypeError: The tensor is not floating point.
    ///     ArgumentError: `to` is less than `from_`, or a bound is not finite.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2).uniform_(3.0, 3.0)
    ///     tensor([3., 3.])
    #[pyo3(signature = (from_ = 0.0, to = 1.0))]
    fn uniform_<'py>(
        slf: Bound<'py, Self>,
        #[pyo3(from_py_with = floats::uniform_::from_)] from_: f64,
        #[pyo3(from_py_with = floats::uniform_::to)] to: f64,
    ) -> PySelf<'py> {
        run_inplace("uniform_", slf, &|x| x.uniform_(from_, to).map(drop))
    }

    /// Overwrite the elements with 1 with a probability, else 0.
    ///
    /// Args:
    ///     p: The probability, or a floating-point tensor of probabilities, which is broadcast.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     ArgumentError: A probability is not from 0 to 1. For tensors on a device the error is asynchronous.
    ///     DTypeError: `p` is a tensor that is not floating point.
    ///     ShapeError: `p` cannot be broadcast to the shape of the tensor.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2).bernoulli_(1.0)
    ///     tensor([1., 1.])
    #[pyo3(signature = (p = None))]
    fn bernoulli_<'py>(slf: Bound<'py, Self>, p: OptionalArg<'_, '_>) -> PySelf<'py> {
        let p = p.map(|p| TensorOrScalar::extract("bernoulli_: p", p)).transpose()?;
        let p = p.unwrap_or(TensorOrScalar::Scalar(Scalar::Float(0.5)));
        run_inplace("bernoulli_", slf, &|x| x.bernoulli_(p.operand()).map(drop))
    }
}

/// Return random numbers that are uniformly distributed from 0 to 1 (exclusive), in the shape of another tensor.
///
/// `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.
///
/// Args:
///     input: The tensor whose shape and memory order are used.
///     dtype: The element type; None means that of `input`.
///     device: The device; None means that of `input`.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     DTypeError: The dtype is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.rand_like(interlock.zeros(2, 3)).shape
///     (2, 3)
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn rand_like(
    input: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::rand_like::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::rand_like::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (other, options) = like_options("rand_like: input", input, dtype, device, pin_memory)?;
    build(input.py(), requires_grad, || other.rand_like(options))
}

/// Return random numbers of the standard normal distribution, in the shape of another tensor.
///
/// `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.
///
/// Args:
///     input: The tensor whose shape and memory order are used.
///     dtype: The element type; None means that of `input`.
///     device: The device; None means that of `input`.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     DTypeError: The dtype is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.randn_like(interlock.zeros(2, 3)).shape
///     (2, 3)
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn randn_like(
    input: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::randn_like::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::randn_like::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (other, options) = like_options("randn_like: input", input, dtype, device, pin_memory)?;
    build(input.py(), requires_grad, || other.randn_like(options))
}

/// Return uniformly distributed random integers. `randint(high, size)` starts at 0.
///
/// `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.
///
/// Args:
///     low: The least integer. Without `low` the arguments are `high` and `size`.
///     high: The end of the range, which it does not contain.
///     size: The sizes, as a tuple or list.
///     dtype: The element type; None means int64.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: `high` is not greater than `low`, the dtype cannot hold a bound, or a size is negative.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.randint(3, 5, (100,))
///     >>> x.min(), x.max()
///     (tensor(3), tensor(4))
#[pyfunction]
#[pyo3(signature = (low = None, high = None, size = None, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
#[expect(clippy::too_many_arguments, reason = "the signature is PyTorch's")]
fn randint(
    py: Python<'_>,
    low: OptionalArg<'_, '_>,
    high: OptionalArg<'_, '_>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::randint::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::randint::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    // The first arguments of `randint(high, size)` are `high` and `size`.
    let is_short = size.is_none()
        && high.is_some_and(|high| high.is_instance_of::<PyTuple>() || high.is_instance_of::<PyList>());
    let (low, high, size) = if is_short { (None, low, high) } else { (low, high, size) };
    let (low, high) = extract_bounds("randint", low, high, py)?;
    let what = "randint: size";
    let Some(size) = size else {
        return Err(new_type_error(what, "a tuple or list of ints", py.None().bind(py)));
    };
    let shape = checked_sizes(py, what, &extract_int_or_ints(what, size)?)?;
    let options = tensor_options(py, "randint", dtype, CoreDType::Int64, device, pin_memory)?;
    build(py, requires_grad, || CoreTensor::randint(low, high, &shape, options))
}

/// Return uniformly distributed random integers in the shape of another tensor. `randint_like(input, high)` starts at
/// 0.
///
/// `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.
///
/// Args:
///     input: The tensor whose shape and memory order are used.
///     low: The least integer, or the end if `high` is None.
///     high: The end of the range, which it does not contain.
///     dtype: The element type; None means that of `input`.
///     device: The device; None means that of `input`.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: `high` is not greater than `low`, or the dtype cannot hold a bound.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.randint_like(interlock.zeros(2), 7, 8)
///     tensor([7., 7.])
#[pyfunction]
#[pyo3(signature = (input, low = None, high = None, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn randint_like(
    input: &Bound<'_, PyAny>,
    low: OptionalArg<'_, '_>,
    high: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::randint_like::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::randint_like::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (other, options) = like_options("randint_like: input", input, dtype, device, pin_memory)?;
    let (low, high) = extract_bounds("randint_like", low, high, input.py())?;
    build(input.py(), requires_grad, || other.randint_like(low, high, options))
}

/// Return the integers from 0 to `n` (exclusive) in random order.
///
/// `manual_seed` sets the seed. The numbers do not depend on the device, and differ from those of PyTorch.
///
/// Args:
///     n: The number of integers.
///     dtype: The element type; None means int64.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: `n` is negative, or the dtype cannot hold the integers.
///     DTypeError: The dtype is bool.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.randperm(5).sum()
///     tensor(10)
#[pyfunction]
#[pyo3(signature = (n, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn randperm(
    py: Python<'_>,
    #[pyo3(from_py_with = ints::randperm::n)] n: i64,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::randperm::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::randperm::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let Ok(count) = usize::try_from(n) else {
        let message = format!("randperm: n must not be negative, got {n}");
        return Err(new_exception(py, "ArgumentError", message));
    };
    let options = tensor_options(py, "randperm", dtype, CoreDType::Int64, device, pin_memory)?;
    build(py, requires_grad, || CoreTensor::randperm(count, options))
}

/// Return 1 with the probability given by each element, else 0. The gradient is 0.
///
/// Args:
///     input: The tensor.
///     p: One probability for all elements, whose values are then ignored. None means the elements of the tensor.
///
/// Returns:
///     A tensor of the same dtype.
///
/// Raises:
///     DTypeError: The tensor is not floating point, and `p` is None.
///     ArgumentError: A probability is not from 0 to 1. For tensors on a device the error is asynchronous.
///
/// Example:
///     >>> import interlock
///     >>> interlock.bernoulli(interlock.tensor([0.0, 1.0]))
///     tensor([0., 1.])
#[pyfunction]
#[pyo3(signature = (input, p = None))]
fn bernoulli(input: &Bound<'_, PyAny>, p: OptionalArg<'_, '_>) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("bernoulli: input", input)?;
    let p = p.map(|p| extract_f64("bernoulli: p", p)).transpose()?;
    run_op(py, "bernoulli", work_size(x), || match p {
        Some(p) => x.bernoulli_p(p),
        None => x.bernoulli(),
    })
}

/// Return indices that are drawn in proportion to weights.
///
/// Args:
///     input: The weights, which need not add up to 1: a vector, or a matrix with a row for each distribution.
///     num_samples: The number of indices of each row.
///     replacement: Whether an index can be drawn several times.
///
/// Returns:
///     An int64 tensor of shape [num_samples], or [rows, num_samples] for a matrix of weights.
///
/// Raises:
///     ArgumentError: `num_samples` is not positive, or exceeds the number of weights without replacement; or a weight
///         is negative or not finite, or all weights of a row are 0. For tensors on a device the latter errors are
///         asynchronous.
///     DTypeError: The weights are not floating point.
///     ShapeError: The tensor does not have one or two dimensions.
///
/// Example:
///     >>> import interlock
///     >>> interlock.multinomial(interlock.tensor([0.0, 3.0, 0.0]), 1)
///     tensor([1])
#[pyfunction]
#[pyo3(signature = (input, num_samples, replacement = false))]
fn multinomial(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::multinomial::num_samples)] num_samples: i64,
    #[pyo3(from_py_with = switches::multinomial::replacement)] replacement: bool,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("multinomial: input", input)?;
    run_op(py, "multinomial", super::DETACH_THRESHOLD, || x.multinomial(num_samples, replacement))
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
    let index = py_int::extract_index(what, "an int", seed)?;
    let number = py_int::int64(&index).map(i64::cast_unsigned).or_else(|| py_int::uint64(&index));
    let Some(number) = number else {
        let message = format!("{what} must be from -2**63 to 2**64 - 1, got {}", py_int::text(&index));
        return Err(new_exception(seed.py(), "ArgumentError", message));
    };
    interlock_tensor::manual_seed(number);
    Ok(())
}
