//! Powers.

use super::binary::meet;
use super::operand::Operand;
use super::select::zero_where;
use crate::autograd::Record;
use crate::dtype::dispatch_float;
use crate::{DType, Error, Result, Scalar, Tensor, kernel};

/// A power of integers, wrapping; one with a negative exponent is rounded towards 0, and 0 for base 0, as in PyTorch.
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

/// `base` to the power of a number, or a number to the power of a tensor.
pub fn power<'a>(base: impl Into<Operand<'a>>, exponent: impl Into<Operand<'a>>) -> Result<Tensor> {
    let op = "pow";
    let (base, exponent) = (base.into(), exponent.into());
    let mut at = meet(op, base, exponent, |dtype| dtype)?;
    if let Operand::Scalar(_) = base {
        // As PyTorch: the powers of a number are contiguous, whatever the order of the exponent's dimensions.
        at.b = at.b.detached().contiguous()?;
    }
    let out = match at.dtype {
        DType::Bool => match exponent {
            Operand::Scalar(exponent) if exponent.cast::<i64>() == 1 => at.a.copy()?,
            Operand::Scalar(_) => Tensor::ones(&at.shape, (DType::Bool, at.a.device()))?,
            Operand::Tensor(_) => {
                let allowed = "truth values have no powers; make the base int64";
                return Err(Error::DType { op, given: DType::Bool, allowed });
            }
        },
        DType::Int64 => {
            if matches!(exponent, Operand::Scalar(exponent) if exponent.cast::<i64>() < 0) {
                let message =
                    "a negative exponent of integers must be a tensor; make the base floating point";
                let message = message.to_owned();
                return Err(Error::Value { op, message });
            }
            kernel::zip(op, &at.shape, &at.a, &at.b, integer_power)?
        }
        dtype => dispatch_float!(dtype, T => match exponent {
            // A product is faster than powf, and exact.
            Operand::Scalar(Scalar::Int(2)) => kernel::map(op, &at.a, |x: T| x * x),
            // As PyTorch: the root of -infinity is NaN and that of -0 is -0, which powf says otherwise.
            Operand::Scalar(Scalar::Float(0.5)) => kernel::map(op, &at.a, |x: T| x.sqrt()),
            Operand::Scalar(Scalar::Float(-0.5)) => kernel::map(op, &at.a, |x: T| x.sqrt().recip()),
            _ => kernel::zip(op, &at.shape, &at.a, &at.b, T::powf),
        })?,
    };
    match (base, exponent) {
        (_, Operand::Scalar(exponent)) => record_number_as_exponent(&at.left, exponent, &out)?,
        (Operand::Scalar(base), _) => record_number_as_base(base, &at.right, &out)?,
        _ => record_tensors(&at.left, &at.right, &out)?,
    }
    Ok(out)
}

fn record_number_as_exponent(base: &Tensor, exponent: Scalar, out: &Tensor) -> Result<()> {
    let Some(mut record) = Record::new("PowBackward0", &[base])? else { return Ok(()) };
    let slot = record.save(base)?;
    record.finish(out, move |context, gradient| {
        let base = context.saved(slot)?;
        let value: f64 = exponent.cast();
        if value == 0.0 {
            // 0 also where the base is 0 and a lower power of it is infinite.
            return Ok(vec![Some(Tensor::zeros(base.shape(), base.options())?)]);
        }
        let lower = if value == 2.0 { base } else { power(&base, value - 1.0)? };
        Ok(vec![Some(gradient.mul(&lower.mul(exponent)?)?)])
    });
    Ok(())
}

fn record_number_as_base(base: Scalar, exponent: &Tensor, out: &Tensor) -> Result<()> {
    let Some(mut record) = Record::new("PowBackward2", &[exponent])? else { return Ok(()) };
    let (input, output) = (record.save(exponent)?, record.save_output(out)?);
    record.finish(out, move |context, gradient| {
        let base: f64 = base.cast();
        let slope = context.saved(output)?.mul(base.ln())?;
        let slope = if base == 0.0 {
            zero_where(&context.saved(input)?.detached().greater_equal(0.0)?, &slope)?
        } else {
            slope
        };
        Ok(vec![Some(gradient.mul(&slope)?)])
    });
    Ok(())
}

fn record_tensors(base: &Tensor, exponent: &Tensor, out: &Tensor) -> Result<()> {
    let Some(mut record) = Record::new("PowBackward1", &[base, exponent])? else { return Ok(()) };
    let (left, right) = (record.save(base)?, record.save(exponent)?);
    let output = record.save_output_for(1, out)?;
    record.finish(out, move |context, gradient| {
        let (base, exponent) = (context.saved(left)?, context.saved(right)?);
        let of_base = || {
            let lower = power(&base, &exponent.sub(1i64)?)?;
            // A power with exponent 0 is constant, also where the base is 0 and the lower power infinite.
            zero_where(&exponent.detached().equal(0i64)?, &gradient.mul(&exponent.mul(&lower)?)?)
        };
        let of_exponent = || {
            // 0 to any power that is not negative does not change with the exponent.
            let (base, exponent) = (base.detached(), exponent.detached());
            let constant = base.equal(0i64)?.mul(&exponent.greater_equal(0i64)?)?;
            let logarithm = context.saved(left)?.log()?;
            gradient.mul(&zero_where(&constant, &context.saved(output)?.mul(&logarithm)?)?)
        };
        Ok(vec![context.gradient(0, of_base)?, context.gradient(1, of_exponent)?])
    });
    Ok(())
}

impl Tensor {
    /// This tensor to the power of `exponent`.
    pub fn pow<'a>(&'a self, exponent: impl Into<Operand<'a>>) -> Result<Tensor> {
        power(self, exponent)
    }

    /// `number` to the power of each element.
    pub fn power_of(&self, number: impl Into<Scalar>) -> Result<Tensor> {
        power(Operand::Scalar(number.into()), self)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_close, doubles};

    #[test]
    fn a_power_of_zero_has_no_slope() {
        let x = doubles(&[0.0, 2.0], &[2]);
        x.set_requires_grad(true).unwrap();
        x.pow(0i64).unwrap().sum(None, false).unwrap().backward().unwrap();
        assert_close(&x.grad().unwrap(), &[0.0, 0.0]);
    }
}
