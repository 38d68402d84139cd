//! Arithmetic.

use interlock_tensor::elementwise::{self, RoundingMode};
use interlock_tensor::{Operand, Result, Scalar, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::declare::{binary, unary};
use crate::errors::IntoPyResult;
use crate::tensor::operation::{Object, WriteTo, tensor_op};

unary! {
    /// Return the reciprocal of each element.
    reciprocal floats inplace_function "[2, 4]" => "tensor([0.5000, 0.2500])", "x";
    /// Return the absolute value of each element. The gradient at 0 is 0.
    abs numbers inplace_function "[-1, 2]" => "tensor([1, 2])", "x; x - 1";
    /// Return the negation of each element.
    neg numbers inplace_function alias(negative) "[-1, 2]" => "tensor([ 1, -2])", "x";
    /// Return each element, or 0 if it is negative. The gradient at 0 is 0.
    relu numbers inplace_function "[-1, 2]" => "tensor([0, 2])", "x; x - 1";
    /// Return the sign of each element: 1, -1, or 0 for 0 and NaN.
    sign any inplace "[-3, 0, 2]" => "tensor([-1,  0,  1])", "x";
    /// Return the square of each element. Bools are converted to int64.
    square any inplace_function "[-3, 2]" => "tensor([9, 4])", "x";
    /// Return the absolute value of each element, as `abs`.
    absolute = abs numbers inplace "[-1, 2]" => "tensor([1, 2])", "x";
}

binary! {
    any: Operand<'_>, Operand<'_>;
    /// Return `input / other` rounded down, elementwise, as Python's `//`. `div` with a rounding mode has a gradient.
    floor_divide floor_divide divisible inplace "interlock.tensor([7, -7]), 2" => "tensor([ 3, -4])", "x, y";
    /// Return the remainder of `input / other`, elementwise, with the sign of `other`, as Python's `%`.
    remainder remainder divisible inplace "interlock.tensor([5, -5]), 3" => "tensor([2, 1])", "x, y";
}

binary! {
    left: &CoreTensor, Operand<'_>;
    /// Return the magnitude of `input` with the sign of `other`, elementwise.
    copysign copysign dividing inplace "interlock.tensor([1.0, 2.0]), -1" => "tensor([-1., -2.])", "x, y";
    /// Return the remainder of `input / other`, elementwise, with the sign of `input`, as C's `fmod`.
    fmod fmod divisible inplace "interlock.tensor([7, -7]), 3" => "tensor([ 1, -1])", "x, y";
}

/// Declares operations with a factor of the other operand. A row has the name, the functions of the core that write to the
/// tensor and that return a new one, and a further error.
macro_rules! scaled {
    ($($(#[$doc:meta])* $name:ident $in_place:ident $new:ident $(alias($alias:ident))? $($error:literal)?;)+) => {
        $($(#[$doc])*
        ///
        /// Args:
        ///     alpha: A number by which `other` is multiplied first; None means 1.
        ///
        /// Raises:
        $(#[doc = concat!("     ", $error)])?
        ///     DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
        ///     ArgumentError: The promoted dtype cannot hold `alpha`.
        ///     {no_broadcast}
        #[tensor_op(function, method, inplace, out, alias($($alias)?), example = "x, y, alpha=2")]
        fn $name(
            to: WriteTo,
            input: Operand<'_>,
            other: Operand<'_>,
            #[keyword] alpha: Option<Scalar>,
        ) -> Result<CoreTensor> {
            let alpha = alpha.unwrap_or(Scalar::Int(1));
            match (to, input) {
                (WriteTo::InPlace, Operand::Tensor(target)) => target.$in_place(other, alpha).cloned(),
                _ => elementwise::$new(input, other, alpha),
            }
        })+
    };
}

scaled! {
    /// Return `input + alpha * other`. The sum of bools is the logical or.
    ///
    /// Example:
    ///     >>> interlock.add(interlock.tensor([1, 2]), 1, alpha=10)
    ///     tensor([11, 12])
    add add_scaled_ add_scaled;

    /// Return `input - alpha * other`.
    ///
    /// Example:
    ///     >>> interlock.sub(10, interlock.tensor([1, 2]))
    ///     tensor([9, 8])
    sub sub_scaled_ sub_scaled alias(subtract) "DTypeError: An operand is bool.";
}

/// Return `input * other`, elementwise. The product of bools is the logical and.
///
/// Raises:
///     {no_broadcast}
///
/// Example:
///     >>> interlock.mul(interlock.tensor([1, 2]), 3)
///     tensor([3, 6])
#[tensor_op(function, method, inplace, out, alias(multiply), example = "x, y")]
fn mul(to: WriteTo, input: Operand<'_>, other: Operand<'_>) -> Result<CoreTensor> {
    match (to, input) {
        (WriteTo::InPlace, Operand::Tensor(target)) => target.mul_(other).cloned(),
        _ => elementwise::multiply(input, other),
    }
}

/// Return `input / other`, elementwise. The quotient of integers is float32 unless it is rounded.
///
/// Args:
///     rounding_mode: `"floor"` to round down, `"trunc"` to round towards 0, or None. Rounded quotients of integers
///         are integers.
///
/// Raises:
///     ArgumentError: `rounding_mode` is another text, or integers on the CPU are divided by 0 with rounding.
///     DTypeError: Bools are divided with rounding.
///     {no_broadcast}
///
/// Example:
///     >>> interlock.div(interlock.tensor([7, -7]), 2, rounding_mode="floor")
///     tensor([ 3, -4])
#[tensor_op(function, method, inplace, out, alias(divide, true_divide), example = "x, y")]
fn div(
    to: WriteTo,
    input: Operand<'_>,
    other: Operand<'_>,
    #[keyword] rounding_mode: Option<RoundingMode>,
) -> Result<CoreTensor> {
    match (to, input) {
        (WriteTo::InPlace, Operand::Tensor(target)) => target.divide_with_(other, rounding_mode).cloned(),
        _ => elementwise::divide_with(input, other, rounding_mode),
    }
}

/// Return `input ** exponent`, elementwise.
///
/// Args:
///     exponent: A tensor or a number. Shapes are broadcast and dtypes promoted.
///
/// Raises:
///     ArgumentError: The promoted dtype is an integer dtype, and `exponent` is a negative number.
///     DTypeError: Both are bool tensors.
///     {no_broadcast}
///
/// Example:
///     >>> interlock.pow(2, interlock.tensor([1, 3]))
///     tensor([2, 8])
#[tensor_op(function, method, inplace, out, example = "x, y")]
fn pow(input: Operand<'_>, exponent: Operand<'_>) -> Result<CoreTensor> {
    elementwise::power(input, exponent)
}

/// Declares sums with a scaled product or quotient. A row has the name, an error and the result of the example.
macro_rules! accumulated {
    ($($(#[$doc:meta])* $name:ident $error:literal => $result:literal;)+) => {
        $($(#[$doc])*
        ///
        /// Args:
        ///     tensor1: A tensor.
        ///     tensor2: A tensor. Shapes are broadcast and dtypes promoted.
        ///     value: A number; None means 1.
        ///
        /// Raises:
        ///     ArgumentError: The promoted dtype cannot hold `value`.
        #[doc = concat!("     ", $error)]
        ///     {no_broadcast}
        ///
        /// Example:
        ///     >>> x = interlock.tensor([2.0, 4.0])
        #[doc = concat!("     >>> interlock.", stringify!($name), "(x, x, x, value=0.5)")]
        #[doc = concat!("     ", $result)]
        #[tensor_op(function, method, inplace, out, example = "x, y, x, value=0.5")]
        fn $name(
            input: &CoreTensor,
            tensor1: &CoreTensor,
            tensor2: &CoreTensor,
            #[keyword] value: Option<Scalar>,
        ) -> Result<CoreTensor> {
            elementwise::$name(input, tensor1, tensor2, value.unwrap_or(Scalar::Int(1)))
        })+
    };
}

accumulated! {
    /// Return `input + value * tensor1 * tensor2`, elementwise.
    addcmul "DTypeError: The promoted dtype is bool." => "tensor([ 4., 12.])";
    /// Return `input + value * tensor1 / tensor2`, elementwise.
    addcdiv "DTypeError: Neither `tensor1` nor `tensor2` is floating point." => "tensor([2.5000, 4.5000])";
}

/// Return `input + weight * (end - input)`, elementwise.
///
/// Args:
///     input: The tensor for a weight of 0, of a floating-point dtype.
///     end: The tensor for a weight of 1, of the same dtype. Shapes are broadcast.
///     weight: A tensor or a number.
///
/// Raises:
///     DTypeError: The dtypes differ or are not floating point.
///     {no_broadcast}
///
/// Example:
///     >>> interlock.lerp(interlock.tensor([0.0, 10.0]), interlock.tensor([1.0, 20.0]), 0.5)
///     tensor([ 0.5000, 15.0000])
#[tensor_op(function, method, inplace, out, example = "x, y, 0.7")]
fn lerp(input: &CoreTensor, end: &CoreTensor, weight: Operand<'_>) -> Result<CoreTensor> {
    elementwise::lerp(input, end, weight)
}

/// Return the tensor itself.
///
/// Args:
///     {numbers}
///
/// Raises:
///     DTypeError: `input` is a bool tensor.
///
/// Example:
///     >>> interlock.positive(interlock.tensor([-1, 2]))
///     tensor([-1,  2])
#[tensor_op(function, method, attached, example = "x")]
fn positive<'a>(py: Python<'_>, _op: &'static str, input: Object<'a>) -> PyResult<Object<'a>> {
    input.core().positive().into_py_result(py)?;
    Ok(input)
}
