//! Rounding, and the replacement of what is no number.

use interlock_tensor::{Result, Tensor as CoreTensor};

use super::declare::unary;
use crate::tensor::operation::tensor_op;

unary! {
    /// Round each element up to an integer. Integers are unchanged.
    ceil numbers inplace_function "[-0.5, 1.2]" => "tensor([-0., 2.])", "x";
    /// Round each element down to an integer. Integers are unchanged.
    floor numbers inplace_function "[-0.5, 1.2]" => "tensor([-1.,  1.])", "x";
    /// Round each element towards 0 to an integer. Integers are unchanged.
    trunc numbers inplace_function alias(fix) "[-1.5, 1.5]" => "tensor([-1.,  1.])", "x";
    /// Return the fractional part of each element, with its sign.
    frac floats_only inplace_function "[-1.5, 2.25]" => "tensor([-0.5000,  0.2500])", "x";
}

/// Round each element to the nearest integer or decimal place, and ties to the even one.
///
/// Args:
///     {numbers}
///     decimals: The number of decimal places of floating-point elements; negative for tens, hundreds and so on.
///
/// Raises:
///     DTypeError: The tensor is a bool tensor, or `decimals` is not 0 and the elements are integers.
///
/// Example:
///     >>> interlock.round(interlock.tensor([0.5, 1.5, 2.25]), decimals=1)
///     tensor([0.5000, 1.5000, 2.2000])
#[tensor_op(function, method, inplace_function, out, example = "x")]
fn round(input: &CoreTensor, #[keyword] decimals: Option<i64>) -> Result<CoreTensor> {
    input.round_to(decimals.unwrap_or(0))
}

/// Replace NaN and infinities by numbers. Integers and bools are unchanged.
///
/// Args:
///     nan: The number that replaces NaN; None means 0.
///     posinf: The number that replaces infinity; None means the largest number of the dtype.
///     neginf: The number that replaces minus infinity; None means the smallest number of the dtype.
///
/// Example:
///     >>> interlock.nan_to_num(interlock.tensor([float("nan"), float("inf"), 1.0]), posinf=5)
///     tensor([0., 5., 1.])
#[tensor_op(function, method, inplace_function, out, example = "x")]
fn nan_to_num(
    input: &CoreTensor,
    nan: Option<f64>,
    posinf: Option<f64>,
    neginf: Option<f64>,
) -> Result<CoreTensor>;
