//! Numbers and elements of other tensors in place of the elements of a tensor.

use interlock_tensor::{Operand, Result, Tensor as CoreTensor};

use crate::tensor::operation::{WriteTo, tensor_op};

/// Set all elements of a tensor to `value`. A number also fills an expanded tensor.
///
/// Args:
///     input: The tensor, which is changed.
///     value: A number, or a 0-d tensor, whose gradient is the sum of all gradients.
///
/// Raises:
///     ArgumentError: The dtype cannot hold the number.
///     ShapeError: `value` is a tensor with dimensions.
///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled.
///
/// Example:
///     >>> interlock.zeros(2).fill_(3)
///     tensor([3., 3.])
#[tensor_op(inplace_function, example = "x, 2.0")]
fn fill_(_to: WriteTo, input: &CoreTensor, value: Operand<'_>) -> Result<CoreTensor> {
    input.fill_(value).cloned()
}

/// Set all elements of a tensor to 0.
///
/// Args:
///     input: The tensor, which is changed.
///
/// Raises:
///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled.
///
/// Example:
///     >>> interlock.ones(2).zero_()
///     tensor([0., 0.])
#[tensor_op(inplace_function, example = "x")]
fn zero_(_to: WriteTo, input: &CoreTensor) -> Result<CoreTensor> {
    input.zero_().cloned()
}

/// Copy the elements of another tensor into this one.
///
/// Args:
///     input: The tensor, which is changed.
///     src: The tensor, which is broadcast, converted to this dtype and moved to this device.
///     non_blocking: Whether a copy between a device and pinned memory is queued without waiting for it.
///
/// Raises:
///     ShapeError: `src` cannot be broadcast to the shape of this tensor.
///     {leaf}
///
/// Example:
///     >>> interlock.zeros(2).copy_(interlock.tensor([1, 2]))
///     tensor([1., 2.])
#[tensor_op(inplace, example = "x, z")]
fn copy_(
    _to: WriteTo,
    input: &CoreTensor,
    src: &CoreTensor,
    #[default(false)] non_blocking: bool,
) -> Result<CoreTensor> {
    input.copy_from(src, non_blocking).cloned()
}
