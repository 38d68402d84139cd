//! Arithmetic with broadcasting.

use super::operand::{Operand, result_type};
use crate::autograd::Record;
use crate::dtype::{dispatch, dispatch_float};
use crate::shape::broadcast;
use crate::{DType, Element, Error, Result, Scalar, Tensor, kernel};

/// Two operands in one type and the shape of the result.
pub(super) struct Meeting {
    /// The operands as they were given, numbers as tensors.
    pub left: Tensor,
    pub right: Tensor,
    /// The same in the common type, without history.
    pub a: Tensor,
    pub b: Tensor,
    pub dtype: DType,
    pub shape: Vec<usize>,
}

pub(super) fn meet(
    op: &'static str,
    left: Operand<'_>,
    right: Operand<'_>,
    dtype: impl FnOnce(DType) -> DType,
) -> Result<Meeting> {
    let dtype = dtype(result_type(&[left, right]));
    let (left, right) = (left.tensor(dtype)?, right.tensor(dtype)?);
    let shape = broadcast(op, left.shape(), right.shape())?;
    let (a, b) = (kernel::cast(&left, dtype)?, kernel::cast(&right, dtype)?);
    Ok(Meeting { left, right, a, b, dtype, shape })
}

/// `left + right`; of truth values, "or".
pub(super) fn sum<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    let at = meet("add", left.into(), right.into(), |dtype| dtype)?;
    let out = dispatch!(at.dtype, T => kernel::zip("add", &at.shape, &at.a, &at.b, T::plus))?;
    if let Some(record) = Record::new("AddBackward0", &[&at.left, &at.right])? {
        // The engine sums over what was broadcast.
        record.finish(&out, |_, gradient| Ok(vec![Some(gradient.clone()), Some(gradient.clone())]));
    }
    Ok(out)
}

/// Why there is no difference of truth values.
pub(super) fn no_truth_values(op: &'static str, operands: [Operand<'_>; 2]) -> Result<()> {
    let has_truth_values = operands.iter().any(|operand| operand.dtype() == DType::Bool);
    let allowed = "truth values have no difference; compare them with != instead";
    if has_truth_values { Err(Error::DType { op, given: DType::Bool, allowed }) } else { Ok(()) }
}

/// `left - right`.
pub fn subtract<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    let (left, right) = (left.into(), right.into());
    no_truth_values("sub", [left, right])?;
    let at = meet("sub", left, right, |dtype| dtype)?;
    let out = dispatch!(at.dtype, T => kernel::zip("sub", &at.shape, &at.a, &at.b, T::minus))?;
    if let Some(record) = Record::new("SubBackward0", &[&at.left, &at.right])? {
        record.finish(&out, |context, gradient| {
            Ok(vec![Some(gradient.clone()), context.gradient(1, || gradient.neg())?])
        });
    }
    Ok(out)
}

/// `left * right`; of truth values, "and".
pub(super) fn multiply<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    let at = meet("mul", left.into(), right.into(), |dtype| dtype)?;
    let out = dispatch!(at.dtype, T => kernel::zip("mul", &at.shape, &at.a, &at.b, T::times))?;
    if let Some(mut record) = Record::new("MulBackward0", &[&at.left, &at.right])? {
        let (right, left) = (record.save_for(0, &at.right)?, record.save_for(1, &at.left)?);
        record.finish(&out, move |context, gradient| {
            Ok(vec![
                context.gradient(0, || gradient.mul(&context.saved(right)?))?,
                context.gradient(1, || gradient.mul(&context.saved(left)?))?,
            ])
        });
    }
    Ok(out)
}

/// `left / right`, in floating point also for integers.
pub fn divide<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    let at = meet("div", left.into(), right.into(), DType::to_floating_point)?;
    let out =
        dispatch_float!(at.dtype, T => kernel::zip("div", &at.shape, &at.a, &at.b, |x: T, y: T| x / y))?;
    if let Some(mut record) = Record::new("DivBackward0", &[&at.left, &at.right])? {
        let right = record.save(&at.right)?;
        let left = record.save_for(1, &at.left)?;
        record.finish(&out, move |context, gradient| {
            let right = context.saved(right)?;
            Ok(vec![
                context.gradient(0, || gradient.div(&right))?,
                context
                    .gradient(1, || gradient.mul(&context.saved(left)?.div(&right)?.div(&right)?)?.neg())?,
            ])
        });
    }
    Ok(out)
}

impl Tensor {
    /// The sum with `other`; shapes broadcast, types are promoted.
    pub fn add<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        sum(self, other)
    }

    /// The difference with `other`.
    pub fn sub<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        subtract(self, other)
    }

    /// The product with `other`, element by element.
    pub fn mul<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        multiply(self, other)
    }

    /// The quotient by `other`, always floating point.
    pub fn div<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        divide(self, other)
    }

    /// `number - self`.
    pub fn sub_from(&self, number: impl Into<Scalar>) -> Result<Tensor> {
        subtract(Operand::Scalar(number.into()), self)
    }

    /// `number / self`.
    pub fn div_into(&self, number: impl Into<Scalar>) -> Result<Tensor> {
        divide(Operand::Scalar(number.into()), self)
    }

    /// `self + alpha * other`.
    pub fn add_scaled<'a>(&'a self, other: impl Into<Operand<'a>>, alpha: Scalar) -> Result<Tensor> {
        match scaled("add", self, other.into(), alpha)? {
            Scaled::Operand(other) => self.add(other),
            Scaled::Tensor(other) => self.add(&other),
        }
    }

    /// `self - alpha * other`.
    pub fn sub_scaled<'a>(&'a self, other: impl Into<Operand<'a>>, alpha: Scalar) -> Result<Tensor> {
        let (op, other) = ("sub", other.into());
        // Before `other` is converted to the common type.
        no_truth_values(op, [self.into(), other])?;
        match scaled(op, self, other, alpha)? {
            Scaled::Operand(other) => self.sub(other),
            Scaled::Tensor(other) => self.sub(&other),
        }
    }
}

pub(super) enum Scaled<'a> {
    Operand(Operand<'a>),
    Tensor(Tensor),
}

/// `alpha * other` in the type in which `own` and `other` meet, without work where alpha is 1.
///
/// # Errors
/// `alpha` may be a bool only where that type is bool, and a floating-point number only where it is one, and that type
/// must be able to hold it.
pub(super) fn scaled<'a>(
    op: &'static str,
    own: &Tensor,
    other: Operand<'a>,
    alpha: Scalar,
) -> Result<Scaled<'a>> {
    let common = result_type(&[own.into(), other]);
    let is_bool = matches!(alpha, Scalar::Bool(_));
    if is_bool && common != DType::Bool || !alpha.dtype().fits_into(common.max(DType::Int64)) {
        let allowed = match alpha {
            Scalar::Bool(_) => "alpha must be a number, got a bool",
            _ => "alpha must be an integer for integers, got a float",
        };
        return Err(Error::DType { op, given: common, allowed });
    }
    let alpha = alpha.within(common, op, "alpha")?;
    if alpha == Scalar::Int(1) {
        return Ok(Scaled::Operand(other));
    }
    match other {
        Operand::Scalar(value) => {
            let product = match common {
                DType::Bool => Scalar::Bool(value.cast::<i64>() != 0 && alpha.cast::<f64>() != 0.0),
                DType::Int64 => Scalar::Int(value.cast::<i64>().wrapping_mul(alpha.cast::<i64>())),
                DType::Float32 | DType::Float64 => Scalar::Float(value.cast::<f64>() * alpha.cast::<f64>()),
            };
            Ok(Scaled::Operand(Operand::Scalar(product)))
        }
        Operand::Tensor(tensor) if common == DType::Bool => {
            tensor.mul(Scalar::Bool(alpha.cast::<f64>() != 0.0)).map(Scaled::Tensor)
        }
        Operand::Tensor(tensor) => tensor.cast(common)?.mul(alpha).map(Scaled::Tensor),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_close, doubles, gradcheck};
    use crate::{DType, Error, Tensor};

    #[test]
    fn arithmetic_broadcasts() {
        let (column, row) = (doubles(&[1.0, 2.0], &[2, 1]), doubles(&[10.0, 20.0, 30.0], &[3]));
        assert_close(&column.add(&row).unwrap(), &[11.0, 21.0, 31.0, 12.0, 22.0, 32.0]);
        assert_close(&row.sub(&column).unwrap(), &[9.0, 19.0, 29.0, 8.0, 18.0, 28.0]);
        assert_close(&column.mul(&row).unwrap(), &[10.0, 20.0, 30.0, 20.0, 40.0, 60.0]);
        assert_close(&row.div(&column).unwrap(), &[10.0, 20.0, 30.0, 5.0, 10.0, 15.0]);
    }

    #[test]
    fn shapes_that_do_not_fit_are_both_named() {
        let error = doubles(&[1.0, 2.0], &[2]).add(&doubles(&[0.0; 3], &[3])).unwrap_err();
        assert!(matches!(&error, Error::Shapes { op: "add", .. }));
        assert!(error.to_string().contains("[2]") && error.to_string().contains("[3]"), "{error}");
    }

    #[test]
    fn types_are_promoted_and_integers_divide_into_floats() {
        let ints = Tensor::from_slice(&[7i64, -2], &[2]).unwrap();
        assert_eq!(ints.add(1i64).unwrap().to_vec::<i64>().unwrap(), [8, -1]);
        assert_eq!(ints.mul(0.5).unwrap().dtype(), DType::Float32);
        assert_eq!(ints.div(2i64).unwrap().to_vec::<f32>().unwrap(), [3.5, -1.0]);
        assert_eq!(ints.add(&doubles(&[0.5], &[1])).unwrap().dtype(), DType::Float64);
        assert_eq!(ints.pow(2i64).unwrap().to_vec::<i64>().unwrap(), [49, 4]);
        assert!(ints.pow(-1i64).is_err() && ints.sub(true).is_err());
        let wrapped = Tensor::from_slice(&[i64::MAX], &[1]).unwrap().add(1i64).unwrap();
        assert_eq!(wrapped.to_vec::<i64>().unwrap(), [i64::MIN]);
    }

    #[test]
    fn gradients_match_finite_differences_with_broadcasting() {
        let a = doubles(&[0.5, 1.5, 2.0, 0.25, 0.75, 3.0], &[2, 3]);
        let b = doubles(&[1.5, 2.5, 0.5], &[3]);
        let c = doubles(&[2.0, 3.0], &[2, 1]);
        let inputs = [a, b, c];
        gradcheck(|x| x[0].add(&x[1])?.mul(&x[2]), &inputs);
        gradcheck(|x| x[0].sub(&x[1])?.div(&x[2]), &inputs);
        gradcheck(|x| x[1].div(&x[0])?.add(&x[2]), &inputs);
        gradcheck(|x| x[0].pow(&x[1])?.mul(&x[2].pow(3.0)?), &inputs);
        gradcheck(|x| x[0].sub_from(2.0)?.mul(&x[1].div_into(3.0)?)?.add(&x[2].power_of(1.5)?), &inputs);
        gradcheck(|x| x[0].add_scaled(&x[1], 0.5.into())?.sub_scaled(&x[2], 2.0.into()), &inputs);
    }
}
