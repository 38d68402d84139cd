//! Sorted elements.

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::{NamedPair, tensor_op};

/// Return the sorted elements along a dimension, and their indices.
///
/// Args:
///     dim: The dimension. None means the last one.
///
/// Returns:
///     A named tuple `(values, indices)`. NaN is larger than all numbers.
///
/// Example:
///     >>> x = interlock.tensor([3, 1, 2])
///     >>> interlock.sort(x).values
///     tensor([1, 2, 3])
///     >>> interlock.sort(x).indices
///     tensor([1, 2, 0])
#[tensor_op(function, method, out, example = "x, 1")]
fn sort(
    input: &CoreTensor,
    dim: Option<i64>,
    #[default(false)] descending: bool,
    #[keyword(default = false)] stable: bool,
) -> Result<NamedPair> {
    let _ = stable;
    Ok(input.sort(dim.unwrap_or(-1), descending)?.into())
}

/// Return the indices that sort the elements along a dimension.
///
/// Args:
///     dim: The dimension. None means the last one.
///
/// Returns:
///     An int64 tensor. NaN is larger than all numbers.
///
/// Example:
///     >>> x = interlock.tensor([3, 1, 2])
///     >>> interlock.argsort(x)
///     tensor([1, 2, 0])
#[tensor_op(function, method, out(exact), example = "x, 1")]
fn argsort(
    input: &CoreTensor,
    dim: Option<i64>,
    #[default(false)] descending: bool,
    #[keyword(default = false)] stable: bool,
) -> Result<CoreTensor> {
    let _ = stable;
    input.argsort(dim.unwrap_or(-1), descending)
}

/// Return the largest or smallest elements along a dimension, and their indices.
///
/// Args:
///     k: The number of elements.
///     dim: The dimension. None means the last one.
///     largest: Whether to return the largest elements, or the smallest.
///     sorted: Whether the elements are in order, which they always are.
///
/// Returns:
///     A named tuple `(values, indices)`, in order. Of equal elements the first are returned; NaN is larger than
///     all numbers.
///
/// Raises:
///     ArgumentError: `k` is negative or larger than the dimension.
///     {no_bools}
///
/// Example:
///     >>> x = interlock.tensor([3, 1, 2])
///     >>> interlock.topk(x, 2).values
///     tensor([3, 2])
#[tensor_op(function, method, out, example = "x, 2")]
fn topk(
    input: &CoreTensor,
    k: i64,
    dim: Option<i64>,
    #[default(true)] largest: bool,
    #[default(true)] sorted: bool,
) -> Result<NamedPair> {
    let _ = sorted;
    Ok(input.topk(k, dim.unwrap_or(-1), largest)?.into())
}
