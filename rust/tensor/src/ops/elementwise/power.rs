//! Powers of tensors and scalars.

use super::arithmetic::promote;
use super::operand::{Numbers, Operand};
use crate::dtype::dispatch_float;
use crate::error::check_fits;
use crate::loops::real::Real;
use crate::ops::elementwise::selection::zero_where;
use crate::recording::NodeBuilder;
use crate::{DType, Element, Error, Result, Scalar, Tensor, iterate, loops};

/// Returns the wrapping power of integers. A power with a negative exponent is rounded towards 0, and is 0 for base
/// 0, as in PyTorch.
fn integer_power(mut base: i64, mut exponent: i64) -> i64 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 => 1 - 2 * (exponent & 1),
            _ => 0,
        };
    }
    let mut power = 1i64;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    power
}

/// Returns `base` to the power of `exponent`.
pub fn power<'a>(base: impl Into<Operand<'a>>, exponent: impl Into<Operand<'a>>) -> Result<Tensor> {
    power_of(base.into(), exponent.into())
}

/// [`power`] without type parameters, so that its loops are compiled once.
fn power_of(base: Operand<'_>, exponent: Operand<'_>) -> Result<Tensor> {
    let op = "pow";
    let mut operands = promote(op, (base, exponent), Numbers::Rounded, |dtype| dtype)?;
    if let Operand::Scalar(exponent) = exponent
        && operands.dtype.is_half()
    {
        // As in PyTorch a finite exponent must be finite in the half-precision type.
        check_fits(exponent, operands.dtype, op, "exponent")?;
    }
    if let Operand::Scalar(_) = base {
        // As in PyTorch the powers of a scalar are contiguous, whatever the memory order of the exponent's
        // dimensions.
        operands.b = operands.b.detach().contiguous()?;
    }
    let out = match operands.dtype {
        DType::Bool => match exponent {
            Operand::Scalar(exponent) if exponent.cast::<i64>() == 1 => operands.a.copy()?,
            Operand::Scalar(_) => Tensor::ones(&operands.shape, (DType::Bool, operands.a.device()))?,
            Operand::Tensor(_) => {
                return Err(Error::not_numeric(op, "the base", "; long() converts it"));
            }
        },
        dtype if dtype.is_integer() => {
            if let Operand::Scalar(exponent) = exponent {
                if exponent.cast::<i64>() < 0 {
                    let expected = format!("not be negative if the base is {dtype} (float() converts it)");
                    return Err(Error::value(op, "exponent", expected, exponent));
                }
                // An exponent that wraps gives another power. A base that wraps gives the wrapped power.
                check_fits(exponent, dtype, op, "exponent")?;
            }
            operands.zip_with(op, &loops::zip_or_right_number(integer_power))?
        }
        dtype => dispatch_float!(dtype, T => match exponent {
            // Products are faster, and have one rounding error of `T` or two of `f64`.
            Operand::Scalar(number) if number.cast::<f64>() == 2.0 => iterate::map(op, &operands.a, |x: T| x * x),
            Operand::Scalar(number) if number.cast::<f64>() == 3.0 => iterate::map(op, &operands.a, |x: T| {
                let x = x.to_f64();
                T::from_f64(x * x * x)
            }),
            // As in PyTorch, the root of -infinity is NaN and the root of -0 is -0. The powers are infinity and 0, as for
            // float16 in PyTorch.
            Operand::Scalar(Scalar::Float(0.5)) if dtype != DType::Float16 => {
                iterate::map(op, &operands.a, |x: T| x.sqrt())
            }
            Operand::Scalar(Scalar::Float(-0.5)) if dtype != DType::Float16 => {
                iterate::map(op, &operands.a, |x: T| x.sqrt().recip())
            }
            _ => {
                let power = loops::zip_or_number(
                    #[inline(always)]
                    |base: T, exponent: T| base.pow(exponent),
                );
                operands.zip_with(op, &power)
            }
        })?,
    };
    match (base, exponent) {
        (_, Operand::Scalar(exponent)) => record_scalar_exponent(&operands.left, exponent, &out)?,
        (Operand::Scalar(base), _) => record_scalar_base(base, &operands.right, &out)?,
        _ => record_tensor_operands(&operands.left, &operands.right, &out)?,
    }
    Ok(out)
}

fn record_scalar_exponent(base: &Tensor, exponent: Scalar, out: &Tensor) -> Result<()> {
    let Some(mut builder) = NodeBuilder::new("PowBackward0", &[base])? else { return Ok(()) };
    let value: f64 = exponent.cast();
    if value == 0.0 {
        // 0 also where the base is 0 and a lower power of it is infinite.
        let (shape, options) = (base.shape().to_vec(), base.options());
        builder.set_history(out, move |_, _| Ok(vec![Some(Tensor::zeros(&shape, options)?)]))?;
        return Ok(());
    }
    let saved = builder.save(base)?;
    builder.set_history(out, move |ctx, gradient| {
        let base = ctx.saved(saved)?;
        let lower = if value == 2.0 { base } else { power(&base, value - 1.0)? };
        Ok(vec![Some(gradient.mul(&lower.mul(exponent)?)?)])
    })
}

fn record_scalar_base(base: Scalar, exponent: &Tensor, out: &Tensor) -> Result<()> {
    let Some(mut builder) = NodeBuilder::new("PowBackward2", &[exponent])? else { return Ok(()) };
    let (input, output) = (builder.save(exponent)?, builder.save_output(out)?);
    builder.set_history(out, move |ctx, gradient| {
        let base: f64 = base.cast();
        let derivative = ctx.saved(output)?.mul(base.ln())?;
        let derivative = if base == 0.0 {
            zero_where(&ctx.saved(input)?.detach().greater_equal(0.0)?, &derivative)?
        } else {
            derivative
        };
        Ok(vec![Some(gradient.mul(&derivative)?)])
    })
}

fn record_tensor_operands(base: &Tensor, exponent: &Tensor, out: &Tensor) -> Result<()> {
    let Some(mut builder) = NodeBuilder::new("PowBackward1", &[base, exponent])? else { return Ok(()) };
    let (left, right) = (builder.save(base)?, builder.save(exponent)?);
    let output = builder.save_output_for(1, out)?;
    builder.set_history(out, move |ctx, gradient| {
        let (base, exponent) = (ctx.saved(left)?, ctx.saved(right)?);
        let of_base = || {
            let lower = power(&base, &exponent.sub(1i64)?)?;
            // A power with exponent 0 is constant, also where the base is 0 and the lower power infinite.
            zero_where(&exponent.detach().equal(0i64)?, &gradient.mul(&exponent.mul(&lower)?)?)
        };
        let of_exponent = || {
            // A non-negative power of 0 does not depend on the exponent.
            let (base, exponent) = (base.detach(), exponent.detach());
            let constant = base.equal(0i64)?.mul(&exponent.greater_equal(0i64)?)?;
            let logarithm = ctx.saved(left)?.log()?;
            gradient.mul(&zero_where(&constant, &ctx.saved(output)?.mul(&logarithm)?)?)
        };
        Ok(vec![ctx.gradient(0, of_base)?, ctx.gradient(1, of_exponent)?])
    })
}

impl Tensor {
    /// Returns this tensor to the power of `exponent`, elementwise.
    pub fn pow<'a>(&'a self, exponent: impl Into<Operand<'a>>) -> Result<Tensor> {
        power(self, exponent)
    }

    /// Returns `number` to the power of each element.
    pub fn rpow(&self, number: impl Into<Scalar>) -> Result<Tensor> {
        power(Operand::Scalar(number.into()), self)
    }
}
