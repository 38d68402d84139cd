//! Elements at flat positions, and at the positions of several index tensors.

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::{Indices, WriteTo, tensor_op};
use crate::tensor::subscript::indexed_size;

/// Return the elements at flat (row-major) indices.
///
/// Args:
///     index: Flat indices of elements in row-major order, int64. Negative indices count from the end.
///
/// Returns:
///     A tensor of the shape of `index`.
///
/// Raises:
///     IndexError: An index is out of bounds.
///     DTypeError: `index` is not int64.
///
/// Example:
///     >>> interlock.take(interlock.tensor([[5, 6], [7, 8]]), interlock.tensor([0, -1]))
///     tensor([5, 8])
#[tensor_op(function, method, out(exact), example = "x, rows")]
fn take(input: &CoreTensor, index: &CoreTensor) -> Result<CoreTensor>;

/// Return a copy with `source` written at flat (row-major) indices.
///
/// Args:
///     index: Flat indices of elements in row-major order, int64. Negative indices count from the end.
///     source: The values, of the dtype of the tensor. As many elements as `index`.
///     accumulate: Whether the values are added to the elements. If it is False, and several values target one element,
///         which one is stored is unspecified.
///
/// Raises:
///     IndexError: An index is out of bounds, or the numbers of elements differ.
///     DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
///     RuntimeError: `accumulate` is False while `backends.deterministic_algorithms` is set. With
///         `deterministic_algorithms_warn_only` it is a UserWarning.
///
/// Example:
///     >>> interlock.put(interlock.zeros(3), interlock.tensor([0, -1]), interlock.ones(2))
///     tensor([1., 0., 1.])
#[tensor_op(
    function,
    method,
    inplace,
    explain = input.explain_put(index, source, accumulate),
    example = "x, rows, y, accumulate=True"
)]
fn put(
    to: WriteTo,
    input: &CoreTensor,
    index: &CoreTensor,
    source: &CoreTensor,
    #[default(false)] accumulate: bool,
) -> Result<CoreTensor>;

/// Return a copy with `values` written at `indices`, as by `copy[indices] = values`.
///
/// Sums of several floating-point values for one element have no fixed order, unless
/// `backends.deterministic_algorithms` is set.
///
/// Args:
///     indices: A tuple or list of tensors that index the first dimensions: int64 indices, which may be negative, or
///         bool masks. None means a whole dimension.
///     values: The values, of the dtype of the tensor. Broadcast to the indexed part.
///     accumulate: Whether the values are added to the elements. If it is False, the last of several values for one
///         element is stored.
///
/// Raises:
///     IndexError: An index is out of bounds, or there are more indices than dimensions.
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes of the tensor and of `values` differ.
///
/// Example:
///     >>> index = (interlock.tensor([0, 0]),)
///     >>> interlock.index_put(interlock.zeros(2), index, interlock.ones(2), accumulate=True)
///     tensor([2., 0.])
#[tensor_op(
    function,
    method,
    inplace_function,
    size = indexed_size(input, indices).unwrap_or(0),
    explain = input.explain_index_put(indices, values, accumulate),
    example = "x, (rows, rows), y, accumulate=True"
)]
fn index_put(
    to: WriteTo,
    input: &CoreTensor,
    indices: &Indices,
    values: &CoreTensor,
    #[default(false)] accumulate: bool,
) -> Result<CoreTensor>;
