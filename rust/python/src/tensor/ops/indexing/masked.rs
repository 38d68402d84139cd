//! Elements where a mask is true.

use interlock_tensor::{Operand, Result, Tensor as CoreTensor};

use crate::tensor::operation::{OneOrMore, WriteTo, tensor_op};

/// Return the elements where a mask is True, in row-major order. Waits for a device.
///
/// Args:
///     mask: The mask, bool. Broadcast with the tensor.
///
/// Returns:
///     A tensor with one dimension.
///
/// Raises:
///     DTypeError: `mask` is not bool.
///     {no_broadcast}
///
/// Example:
///     >>> x = interlock.tensor([1, -2, 3])
///     >>> interlock.masked_select(x, x > 0)
///     tensor([1, 3])
#[tensor_op(function, method, out(exact), example = "x, mask")]
fn masked_select(input: &CoreTensor, mask: &CoreTensor) -> Result<CoreTensor>;

/// Return a copy with `value` written where `mask` is True.
///
/// Args:
///     mask: The mask, bool. Broadcast with the tensor.
///     value: A number, or a 0-d tensor.
///
/// Raises:
///     DTypeError: `mask` is not bool.
///     {no_broadcast}
///     ArgumentError: The dtype cannot hold the number.
///
/// Example:
///     >>> x = interlock.tensor([1, -2, 3])
///     >>> interlock.masked_fill(x, x < 0, 0)
///     tensor([1, 0, 3])
#[tensor_op(function, method, inplace, example = "x, mask, y[0]")]
fn masked_fill(to: WriteTo, input: &CoreTensor, mask: &CoreTensor, value: Operand<'_>) -> Result<CoreTensor>;

/// Return a copy with the first elements of `source` written where `mask` is True. Waits for a device.
///
/// Args:
///     mask: The mask, bool. Broadcast to the tensor.
///     source: The elements, in row-major order, of the dtype of the tensor. At least as many as the mask is True.
///
/// Raises:
///     DTypeError: `mask` is not bool, or the dtypes differ.
///     ShapeError: The shapes are incompatible.
///
/// Example:
///     >>> mask = interlock.tensor([True, False, True])
///     >>> interlock.masked_scatter(interlock.zeros(3), mask, interlock.ones(2))
///     tensor([1., 0., 1.])
#[tensor_op(function, method, inplace, example = "x, mask, z")]
fn masked_scatter(
    to: WriteTo,
    input: &CoreTensor,
    mask: &CoreTensor,
    source: &CoreTensor,
) -> Result<CoreTensor>;

/// Return the coordinates of the elements that are not zero. Waits for a device.
///
/// Args:
///     as_tuple: Whether a tuple with one tensor for each dimension is returned.
///
/// Returns:
///     An int64 tensor of shape [elements, dimensions], in row-major order, or a tuple.
///
/// Example:
///     >>> interlock.nonzero(interlock.tensor([[0, 2], [3, 0]]))
///     tensor([[0, 1],
///             [1, 0]])
#[tensor_op(
    function,
    method,
    out,
    example = "rows",
    overloads(
        "(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor",
        "(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]"
    )
)]
fn nonzero(input: &CoreTensor, #[keyword(default = false)] as_tuple: bool) -> Result<OneOrMore> {
    if as_tuple { input.nonzero_tuple().map(OneOrMore::More) } else { input.nonzero().map(OneOrMore::One) }
}
