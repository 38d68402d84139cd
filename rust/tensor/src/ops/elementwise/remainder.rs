//! The remainder of a division.

use super::arithmetic::promote;
use super::operand::{Numbers, Operand};
use super::rounded_division::{RoundingMode, check_divisible, divide_with};
use crate::dtype::dispatch_float;
use crate::recording::NodeBuilder;
use crate::{Result, Tensor, loops};

const OP: &str = "remainder";

/// Returns the remainder of `left / right` with the sign of `right`, as Python's `%`.
pub fn remainder<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    remainder_of(left.into(), right.into())
}

/// [`remainder`] without type parameters, so that its loops are compiled once.
fn remainder_of(left: Operand<'_>, right: Operand<'_>) -> Result<Tensor> {
    let node = if matches!(right, Operand::Scalar(_)) { "RemainderBackward0" } else { "RemainderBackward1" };
    let operands = promote(OP, (left, right), Numbers::Rounded, |dtype| dtype)?;
    check_divisible(OP, &operands)?;
    if !operands.dtype.is_floating_point() {
        let remainder = loops::zip_or_right_number(|x: i64, y: i64| {
            let remainder = x.checked_rem(y).unwrap_or_default();
            if remainder != 0 && (remainder < 0) != (y < 0) { remainder.wrapping_add(y) } else { remainder }
        });
        return operands.zip_with(OP, &remainder);
    }
    let out = dispatch_float!(operands.dtype, T => operands.zip_with_remainder(OP, |_, y: T, remainder| {
        if remainder != 0.0 && (remainder < 0.0) != (y < 0.0) { remainder + y } else { remainder }
    }))?;
    if let Some(mut builder) = NodeBuilder::new(node, &[&operands.left, &operands.right])? {
        let (left, right) = (builder.save_for(1, &operands.left)?, builder.save_for(1, &operands.right)?);
        builder.set_history(&out, move |ctx, gradient| {
            let of_right = || {
                let quotient = divide_with(&ctx.saved(left)?, &ctx.saved(right)?, Some(RoundingMode::Floor))?;
                gradient.mul(&quotient)?.neg()
            };
            Ok(vec![Some(gradient.clone()), ctx.gradient(1, of_right)?])
        })?;
    }
    Ok(out)
}

impl Tensor {
    /// Returns the remainder of the division by `other`, with the sign of `other`, as Python's `%`.
    ///
    /// # Errors
    /// Fails for bools, and if integers on the CPU are divided by 0.
    pub fn remainder<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        remainder(self, other)
    }

    /// Returns the remainder of the division of a number by the elements.
    pub fn rremainder<'a>(&'a self, number: impl Into<Operand<'a>>) -> Result<Tensor> {
        remainder(number, self)
    }
}
