//! Powers.

use super::binary::meet;
use super::operand::Operand;
use crate::autograd::Record;
use crate::dtype::dispatch_float;
use crate::{DType, Error, Result, Scalar, Tensor, kernel};

/// A power of integers, wrapping.
fn integer_power(mut base: i64, mut exponent: i64) -> i64 {
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
    let at = meet(op, base, exponent, |dtype| dtype)?;
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
            let negative = at.b.to_vec::<i64>()?.into_iter().any(|exponent| exponent < 0);
            if negative {
                let message = "integers have no negative powers; make the base floating point".to_owned();
                return Err(Error::Value { op, message });
            }
            kernel::zip(op, &at.shape, &at.a, &at.b, integer_power)?
        }
        dtype => dispatch_float!(dtype, T => match exponent {
            // A product is faster than powf, and exact.
            Operand::Scalar(Scalar::Int(2)) => kernel::map(op, &at.a, |x: T| x * x),
            _ => kernel::zip(op, &at.shape, &at.a, &at.b, T::powf),
        })?,
    };
    if let Some(mut record) = Record::new("PowBackward0", &[&at.left, &at.right])? {
        let (left, right) = (record.save(&at.left)?, record.save(&at.right)?);
        record.finish(&out, move |context, gradient| {
            let (x, e) = (context.saved(left)?, context.saved(right)?);
            Ok(vec![
                context.gradient(0, || {
                    // Where the exponent is 0 the slope is 0, also at 0.
                    let lower = match () {
                        // Looking at an exponent on a device would mean to wait.
                        () if e.ndim() == 0 && !e.is_on_device() => {
                            let value: f64 = e.item()?.cast();
                            if value == 0.0 {
                                return gradient.mul(0.0);
                            }
                            if value == 1.0 {
                                return Ok(gradient.clone());
                            }
                            if value == 2.0 { x.clone() } else { power(&x, value - 1.0)? }
                        }
                        () => {
                            let some = e.detached().not_equal(0.0)?;
                            power(&x, &e.sub(1.0)?)?.mul(&some)?
                        }
                    };
                    gradient.mul(&lower.mul(&e)?)
                })?,
                context.gradient(1, || {
                    // 0 to any positive power is 0: it does not change with the exponent.
                    let zero = x.detached().not_equal(0.0)?;
                    let logarithm = x.add(&zero.logical_not()?)?.log()?.mul(&zero)?;
                    gradient.mul(&power(&x, &e)?.mul(&logarithm)?)
                })?,
            ])
        });
    }
    Ok(out)
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
