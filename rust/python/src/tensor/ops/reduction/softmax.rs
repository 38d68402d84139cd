//! Softmax, and the logarithms of sums of exponentials.

use interlock_tensor::{DType, Result, Tensor as CoreTensor};

use super::conversion::cast;
use crate::tensor::operation::{Ints, tensor_op};

/// Return the exponentials of the elements, normalized to a sum of 1 along a dimension.
///
/// Args:
///     dim: The dimension along which the result sums to 1.
///     {float_dtype}
///
/// Example:
///     >>> interlock.softmax(interlock.tensor([0.0, 0.0]), 0)
///     tensor([0.5000, 0.5000])
#[tensor_op(function, method, out(exact, overlap), example = "x, 1")]
fn softmax(input: &CoreTensor, dim: i64, #[keyword(function)] dtype: Option<DType>) -> Result<CoreTensor> {
    cast(input, dtype)?.softmax(dim)
}

/// Return the logarithm of the softmax along a dimension; accurate also where the softmax underflows.
///
/// Args:
///     dim: The dimension along which the softmax sums to 1.
///     {float_dtype}
///
/// Example:
///     >>> interlock.log_softmax(interlock.tensor([1.0, 2.0]), 0)
///     tensor([-1.3133, -0.3133])
#[tensor_op(function, method, out(exact, overlap), example = "x, 1")]
fn log_softmax(
    input: &CoreTensor,
    dim: i64,
    #[keyword(function)] dtype: Option<DType>,
) -> Result<CoreTensor> {
    cast(input, dtype)?.log_softmax(dim)
}

/// Return the softmax of the negated elements.
///
/// Args:
///     dim: The dimension along which the result sums to 1.
///     {float_dtype}
///
/// Example:
///     >>> functional.softmin(interlock.tensor([0.0, 0.0]), 0)
///     tensor([0.5000, 0.5000])
#[tensor_op(function, namespace = "nn.functional", example = "x, 1")]
fn softmin(input: &CoreTensor, dim: i64, #[keyword] dtype: Option<DType>) -> Result<CoreTensor> {
    cast(&input.neg()?, dtype)?.softmax(dim)
}

/// Return the logarithm of the sum of the exponentials over one or several dimensions.
///
/// It is accurate also where an exponential overflows. Integers are converted to float32.
///
/// Args:
///     dim: The dimension or dimensions to reduce, as an int, tuple or list.
///
/// Example:
///     >>> x = interlock.tensor([1000.0, 1000.0])
///     >>> interlock.logsumexp(x, 0)
///     tensor(1000.6932)
#[tensor_op(function, method, out(overlap), example = "x, 1")]
fn logsumexp(input: &CoreTensor, dim: &Ints, #[default(false)] keepdim: bool) -> Result<CoreTensor>;
