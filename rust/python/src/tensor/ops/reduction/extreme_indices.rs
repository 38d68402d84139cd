//! Indices of maxima and minima.

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::tensor_op;

/// Return the index of the maximum, among all elements or along a dimension.
///
/// Args:
///     {input}
///     dim: The dimension. None means all elements, which are counted in row-major order.
///     {keepdim}
///
/// Returns:
///     An int64 tensor. Of equal elements the first index counts; NaN counts as the maximum.
///
/// Raises:
///     {no_bools}
///     {no_dim}
///     {empty_dim}
///
/// Example:
///     >>> x = interlock.tensor([[1, 5], [7, 2]])
///     >>> interlock.argmax(x), interlock.argmax(x, 1)
///     (tensor(2), tensor([1, 0]))
#[tensor_op(function, method, out(exact, overlap), example = "x, 1")]
fn argmax(input: &CoreTensor, dim: Option<i64>, #[default(false)] keepdim: bool) -> Result<CoreTensor> {
    input.argmax(dim, keepdim)
}

/// Return the index of the minimum, among all elements or along a dimension.
///
/// Args:
///     {input}
///     dim: The dimension. None means all elements, which are counted in row-major order.
///     {keepdim}
///
/// Returns:
///     An int64 tensor. Of equal elements the first index counts; NaN counts as the minimum.
///
/// Raises:
///     {no_bools}
///     {no_dim}
///     {empty_dim}
///
/// Example:
///     >>> x = interlock.tensor([[1, 5], [7, 2]])
///     >>> interlock.argmin(x), interlock.argmin(x, 1)
///     (tensor(0), tensor([0, 1]))
#[tensor_op(function, method, out(exact, overlap), example = "x, 1")]
fn argmin(input: &CoreTensor, dim: Option<i64>, #[default(false)] keepdim: bool) -> Result<CoreTensor> {
    input.argmin(dim, keepdim)
}
