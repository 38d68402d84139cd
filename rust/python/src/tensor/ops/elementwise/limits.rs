//! Limits of elements: the larger or the smaller of two, and ranges.

use interlock_tensor::{Operand, Result, Tensor as CoreTensor, elementwise, result_type};

use super::declare::binary;
use crate::tensor::operation::{check_out, tensor_op};

binary! {
    tensors: &CoreTensor, &CoreTensor;
    /// Return the larger of two elements, or the other one if one of them is NaN.
    fmax fmax promoting method "interlock.tensor([1.0, float('nan')]), interlock.tensor([2.0, 3.0])" => "tensor([2., 3.])", "x, y";
    /// Return the smaller of two elements, or the other one if one of them is NaN.
    fmin fmin promoting method "interlock.tensor([1.0, float('nan')]), interlock.tensor([2.0, 3.0])" => "tensor([1., 3.])", "x, y";
    /// Return the larger of two elements, or NaN if one of them is NaN.
    maximum maximum promoting method "interlock.tensor([1, 5]), interlock.tensor([2, 3])" => "tensor([2, 5])", "x, y";
    /// Return the smaller of two elements, or NaN if one of them is NaN.
    minimum minimum promoting method "interlock.tensor([1, 5]), interlock.tensor([2, 3])" => "tensor([1, 3])", "x, y";
}

/// Returns an error if the limits are numbers, and `out` has another dtype than the result, which PyTorch then refuses.
fn check_out_of_numbers(
    op: &'static str,
    out: &CoreTensor,
    input: &CoreTensor,
    limits: [Option<Operand<'_>>; 2],
) -> Result<()> {
    let limits = limits.into_iter().flatten();
    let operands: Vec<_> = [Operand::Tensor(input)].into_iter().chain(limits).collect();
    match operands[..] {
        [_, ref limits @ ..] if limits.iter().any(|limit| matches!(limit, Operand::Tensor(_))) => Ok(()),
        _ => check_out(op, out, result_type(&operands)),
    }
}

/// Limit each element to the range from `min` to `max`. NaN is preserved, and a limit of NaN makes elements NaN.
///
/// An element that equals a limit has gradient 0 if the limits are numbers. If one is a tensor, the element and
/// the limit have half of the gradient each. A lower limit below the range of an integer dtype limits nothing, nor
/// does an upper limit above it.
///
/// Args:
///     min: The lower limit, a tensor or a number; None means no limit.
///     max: The upper limit, a tensor or a number; None means no limit. Elements are `max` where `min` is larger.
///
/// Raises:
///     ArgumentError: Both limits are None, or the promoted dtype cannot hold a number that limits elements.
///     {no_broadcast}
///
/// Example:
///     >>> interlock.clamp(interlock.tensor([-2.0, 0.5, 2.0]), -1, 1)
///     tensor([-1.0000,  0.5000,  1.0000])
#[tensor_op(
    function,
    method,
    inplace_function,
    out(check = check_out_of_numbers(op, out, input, [*min, *max])),
    alias(clip),
    example = "x, 0, 1; x, 0.7, 1.1; x, 0.9 * y, 1.05 * z"
)]
fn clamp(input: &CoreTensor, min: Option<Operand<'_>>, max: Option<Operand<'_>>) -> Result<CoreTensor> {
    elementwise::clamp(input, min, max)
}

/// Return each element, or `min` if it is smaller.
///
/// An element that equals a number has gradient 0. If `min` is a tensor, both have half of the gradient each.
/// A number below the range of an integer dtype limits nothing.
///
/// Args:
///     min: The lower limit, a tensor or a number.
///
/// Raises:
///     ArgumentError: The promoted dtype cannot hold a number that limits elements.
///     {no_broadcast}
///
/// Example:
///     >>> interlock.clamp_min(interlock.tensor([-2, 2]), 0)
///     tensor([0, 2])
#[tensor_op(
    function,
    method,
    inplace_function,
    out(check = check_out_of_numbers(op, out, input, [Some(*min), None])),
    example = "x, y"
)]
fn clamp_min(input: &CoreTensor, min: Operand<'_>) -> Result<CoreTensor> {
    elementwise::clamp(input, Some(min), None)
}

/// Return each element, or `max` if it is larger.
///
/// An element that equals a number has gradient 0. If `max` is a tensor, both have half of the gradient each.
/// A number above the range of an integer dtype limits nothing.
///
/// Args:
///     max: The upper limit, a tensor or a number.
///
/// Raises:
///     ArgumentError: The promoted dtype cannot hold a number that limits elements.
///     {no_broadcast}
///
/// Example:
///     >>> interlock.clamp_max(interlock.tensor([-2, 2]), 0)
///     tensor([-2,  0])
#[tensor_op(
    function,
    method,
    inplace_function,
    out(check = check_out_of_numbers(op, out, input, [None, Some(*max)])),
    example = "x, 1"
)]
fn clamp_max(input: &CoreTensor, max: Operand<'_>) -> Result<CoreTensor> {
    elementwise::clamp(input, None, Some(max))
}
