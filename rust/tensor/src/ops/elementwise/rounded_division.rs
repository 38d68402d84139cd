//! Quotients that are rounded to integers, and `fmod`.

use super::arithmetic::{PromotedOperands, divide, promote};
use super::operand::{Numbers, Operand};
use super::pairs::{OperandGradient, record_pair};
use super::sign::set_zero_gradients;
use crate::dtype::dispatch_float;
use crate::recording::NodeBuilder;
use crate::{DType, Error, Result, Tensor, loops};

/// How a quotient is rounded: the `rounding_mode` of `torch.div`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundingMode {
    /// Towards negative infinity, as Python's `//`.
    Floor,
    /// Towards 0, as a division of integers in C.
    Trunc,
}

/// Returns `left / right`, rounded if a mode is given. Rounded quotients of integers are integers.
///
/// # Errors
/// Fails if bools are divided with rounding, or integers on the CPU by 0.
pub fn divide_with<'a>(
    left: impl Into<Operand<'a>>,
    right: impl Into<Operand<'a>>,
    rounding: Option<RoundingMode>,
) -> Result<Tensor> {
    let Some(mode) = rounding else { return divide(left, right) };
    let (operands, out) = rounded_quotient("div", (left.into(), right.into()), mode)?;
    set_zero_gradients("DivBackward2", &[&operands.left, &operands.right], &out)?;
    Ok(out)
}

/// Returns `left / right` rounded down, as Python's `//`. It has no gradient: `divide_with` has one.
///
/// # Errors
/// As for [`divide_with`].
pub fn floor_divide<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    let op = "floor_divide";
    let (operands, out) = rounded_quotient(op, (left.into(), right.into()), RoundingMode::Floor)?;
    if let Some(builder) = NodeBuilder::new("NotImplemented", &[&operands.left, &operands.right])? {
        builder.set_history(&out, move |_, _| {
            let hint = "divide_with(.., RoundingMode::Floor) has a gradient, which is 0";
            Err(Error::not_differentiable(op, hint))
        })?;
    }
    Ok(out)
}

/// Returns the remainder of `left / right` with the sign of `left`, as C's `fmod`.
///
/// # Errors
/// Fails for bools, and if integers on the CPU are divided by 0.
pub fn fmod<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    fmod_of(left.into(), right.into())
}

fn fmod_of(left: Operand<'_>, right: Operand<'_>) -> Result<Tensor> {
    let op = "fmod";
    let node = if matches!(right, Operand::Scalar(_)) { "FmodBackward0" } else { "FmodBackward1" };
    let operands = promote(op, (left, right), Numbers::Rounded, |dtype| dtype)?;
    check_divisible(op, &operands)?;
    if !operands.dtype.is_floating_point() {
        return operands.zip_with(
            op,
            &loops::zip_or_right_number(|x: i64, y: i64| x.checked_rem(y).unwrap_or_default()),
        );
    }
    let out = dispatch_float!(operands.dtype, T => operands.zip_with_remainder(op, |_, _, remainder: T| remainder))?;
    record_pair(
        node,
        &operands,
        &out,
        [
            OperandGradient::Alone(|g| Ok(g.clone())),
            OperandGradient::OfBoth(|g, x, y| g.mul(&divide_with(x, y, Some(RoundingMode::Trunc))?)?.neg()),
        ],
    )?;
    Ok(out)
}

/// Returns an error for bools and for integers on the CPU that are divided by 0. On a device a division by 0 cannot be
/// reported, because it runs later: its result is 0.
pub(crate) fn check_divisible(op: &'static str, operands: &PromotedOperands) -> Result<()> {
    match operands.dtype {
        DType::Bool => Err(Error::not_numeric(op, "the promoted dtype", "; long() converts it")),
        dtype if dtype.is_floating_point() || operands.b.is_on_device() => Ok(()),
        _ if !operands.shape.contains(&0) && operands.b.equal(0)?.any()? => {
            Err(Error::value(op, "other", "not be 0 for integers", 0))
        }
        _ => Ok(()),
    }
}

fn rounded_quotient(
    op: &'static str,
    operands: (Operand<'_>, Operand<'_>),
    mode: RoundingMode,
) -> Result<(PromotedOperands, Tensor)> {
    let operands = promote(op, operands, Numbers::Rounded, |dtype| dtype)?;
    check_divisible(op, &operands)?;
    let out = if operands.dtype.is_floating_point() {
        dispatch_float!(operands.dtype, T => match mode {
            RoundingMode::Trunc => operands.zip_with(op, &loops::zip_or_right_number(|x: T, y: T| (x / y).trunc())),
            RoundingMode::Floor => operands.zip_with_remainder(op, |x: T, y: T, remainder| {
                if y == 0.0 {
                    return x / y;
                }
                // The rounded quotient of C could be off by one: the remainder is exact.
                let quotient = (x - remainder) / y;
                let quotient = if remainder != 0.0 && (y < 0.0) != (remainder < 0.0) { quotient - 1.0 } else { quotient };
                if quotient == 0.0 {
                    return T::from(0.0f32).copysign(x / y);
                }
                let floor = quotient.floor();
                if quotient - floor > 0.5 { floor + 1.0 } else { floor }
            }),
        })?
    } else {
        match mode {
            RoundingMode::Trunc => operands.zip_with(op, &loops::zip_or_right_number(quotient)),
            RoundingMode::Floor => operands.zip_with(
                op,
                &loops::zip_or_right_number(|x: i64, y: i64| {
                    let is_inexact = x.checked_rem(y).is_some_and(|remainder| remainder != 0);
                    quotient(x, y).wrapping_sub(i64::from(is_inexact && (x < 0) != (y < 0)))
                }),
            ),
        }?
    };
    Ok((operands, out))
}

/// Returns the wrapping quotient, or 0 for a division by 0.
fn quotient(x: i64, y: i64) -> i64 {
    if y == 0 { 0 } else { x.wrapping_div(y) }
}
