//! Identity matrices and equally spaced numbers.

use interlock_tensor::{DType, NewElements, Scalar, Tensor as CoreTensor};
use pyo3::prelude::*;

use crate::tensor::Tensor;
use crate::tensor::operation::{Count, NewTensor, tensor_op};

/// Return a matrix with ones on the diagonal and zeros elsewhere.
///
/// Args:
///     n: The number of rows.
///     m: The number of columns; None means `n`.
///
/// Raises:
///     ArgumentError: A number is negative.
///
/// Example:
///     >>> interlock.eye(2)
///     tensor([[1., 0.],
///             [0., 1.]])
#[tensor_op(function, example = "2, 3")]
fn eye(n: Count, m: Option<Count>, #[options(out)] options: &NewTensor<'_>) -> PyResult<Py<Tensor>> {
    let columns = m.unwrap_or(n);
    options.create(DType::DEFAULT_FLOAT, |options| CoreTensor::eye(n.get(), columns.get(), options))
}

/// Return the numbers from `start` to `end` (exclusive) in steps of `step`. `arange(end)` starts at 0.
///
/// Each argument is a number or a tensor with one element. There are `(end - start) / step` numbers, rounded up. For an
/// integer dtype they begin with the truncated `start` and have the truncated `step`, as in PyTorch.
///
/// Args:
///     start: The first number, or the bound if `end` is None; None means 0.
///     end: The bound, which the result does not contain. None means that `start` is the bound and 0 the start.
///     step: The difference between adjacent elements, which may be negative; None means 1.
///     dtype: The element type. None means int64, or float32 if an argument is a float.
///
/// Raises:
///     ArgumentError: `step` is 0 or has the wrong sign, an argument is not finite, or the dtype is an integer dtype and
///         int64 cannot hold an argument.
///     TypeError: Neither `start` nor `end` is passed.
///
/// Example:
///     >>> interlock.arange(3)
///     tensor([0, 1, 2])
///     >>> interlock.arange(1, 2, 0.25)
///     tensor([1.0000, 1.2500, 1.5000, 1.7500])
#[tensor_op(
    function,
    example = "5",
    overloads(
        "(start: _Number, end: _Number | None = None, step: _Number | None = None, *, {options}) -> Tensor",
        "(*, end: _Number, start: _Number | None = None, step: _Number | None = None, {options}) -> Tensor"
    )
)]
fn arange(
    start: Option<Scalar>,
    end: Option<Scalar>,
    step: Option<Scalar>,
    #[options(out)] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    let (start, end) = match (start, end) {
        (start, Some(end)) => (start.unwrap_or(Scalar::Int(0)), end),
        (Some(end), None) => (Scalar::Int(0), end),
        (None, None) => {
            return Err(options.err_missing("end", "a number"));
        }
    };
    let step = step.unwrap_or(Scalar::Int(1));
    let dtype = [start, end, step].map(Scalar::dtype).into_iter().fold(DType::Int64, DType::promote);
    let rule = NewElements::Sequence { warns: true };
    options.create_by(rule, dtype, |options| CoreTensor::arange(start, end, step, options))
}

/// Return `steps` evenly spaced numbers from `start` to `end`, both included.
///
/// Args:
///     start: The first number, or a tensor with one element.
///     end: The last number, or a tensor with one element.
///     steps: The number of elements.
///     dtype: The element type; None means float32. For integers the bounds and the numbers are truncated.
///
/// Raises:
///     ArgumentError: `steps` is negative, or the dtype cannot hold a bound.
///     DTypeError: The dtype is bool.
///
/// Example:
///     >>> interlock.linspace(0, 1, 5)
///     tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
#[tensor_op(function, example = "0, 1, 5")]
fn linspace(
    start: Scalar,
    end: Scalar,
    steps: i64,
    #[options(out)] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    let rule = NewElements::Sequence { warns: false };
    options.create_by(rule, DType::DEFAULT_FLOAT, |options| CoreTensor::linspace(start, end, steps, options))
}

/// Return the powers of `base` with `steps` evenly spaced exponents from `start` to `end`, both included.
///
/// Args:
///     start: The first exponent, or a tensor with one element.
///     end: The last exponent, or a tensor with one element.
///     steps: The number of elements.
///     base: The base.
///     dtype: The element type; None means float32. For integers the bounds of several exponents and the numbers are
///         truncated.
///
/// Raises:
///     ArgumentError: `steps` is negative, or the dtype cannot hold a bound or the only power.
///     DTypeError: The dtype is bool.
///
/// Example:
///     >>> interlock.logspace(0, 2, 3)
///     tensor([  1.,  10., 100.])
#[tensor_op(function, example = "0, 1, 5")]
fn logspace(
    start: Scalar,
    end: Scalar,
    steps: i64,
    #[default(10.0)] base: f64,
    #[options(out)] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    let rule = NewElements::Sequence { warns: false };
    options.create_by(rule, DType::DEFAULT_FLOAT, |options| {
        CoreTensor::logspace(start, end, steps, base, options)
    })
}
