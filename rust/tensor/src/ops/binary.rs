//! Arithmetic operations with broadcasting and type promotion.

use super::operand::{Operand, result_type};
use crate::autograd::NodeBuilder;
use crate::dtype::{dispatch, dispatch_float};
use crate::shape::broadcast;
use crate::{DType, Element, Error, Result, Scalar, Tensor, kernel};

/// Two operands converted to their promoted type, and the shape of the result.
pub(super) struct PromotedOperands {
    /// The original operands, scalars as tensors.
    pub left: Tensor,
    pub right: Tensor,
    /// The operands in the promoted type, without history.
    pub a: Tensor,
    pub b: Tensor,
    pub dtype: DType,
    pub shape: Vec<usize>,
}

/// Converts two operands to one dtype, which `dtype` computes from their promoted type, and broadcasts their shapes.
pub(super) fn promote(
    op: &'static str,
    left: Operand<'_>,
    right: Operand<'_>,
    dtype: impl FnOnce(DType) -> DType,
) -> Result<PromotedOperands> {
    let dtype = dtype(result_type(&[left, right]));
    let (left, right) = (left.tensor(dtype)?, right.tensor(dtype)?);
    let shape = broadcast(op, left.shape(), right.shape())?;
    let (a, b) = (kernel::cast(&left, dtype)?, kernel::cast(&right, dtype)?);
    Ok(PromotedOperands { left, right, a, b, dtype, shape })
}

/// Returns `left + right`; of bools, the logical or.
pub(super) fn add<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    let operands = promote("add", left.into(), right.into(), |dtype| dtype)?;
    let out = dispatch!(operands.dtype, T => kernel::zip("add", &operands.shape, &operands.a, &operands.b, T::plus))?;
    if let Some(builder) = NodeBuilder::new("AddBackward0", &[&operands.left, &operands.right])? {
        // The engine sums over broadcast dimensions.
        builder.set_history(&out, |_, gradient| Ok(vec![Some(gradient.clone()), Some(gradient.clone())]));
    }
    Ok(out)
}

/// Returns an error if an operand is a bool tensor or a bool: PyTorch's `sub_check`.
pub(super) fn sub_check(op: &'static str, operands: [Operand<'_>; 2]) -> Result<()> {
    let has_bool = operands.iter().any(|operand| operand.dtype() == DType::Bool);
    if has_bool { Err(Error::not_numeric(op, "both operands", "; compare bools with !=")) } else { Ok(()) }
}

/// Returns `left - right`.
pub fn subtract<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    let (left, right) = (left.into(), right.into());
    sub_check("sub", [left, right])?;
    let operands = promote("sub", left, right, |dtype| dtype)?;
    let out = dispatch!(operands.dtype, T => kernel::zip("sub", &operands.shape, &operands.a, &operands.b, T::minus))?;
    if let Some(builder) = NodeBuilder::new("SubBackward0", &[&operands.left, &operands.right])? {
        builder.set_history(&out, |ctx, gradient| {
            Ok(vec![Some(gradient.clone()), ctx.gradient(1, || gradient.neg())?])
        });
    }
    Ok(out)
}

/// Returns `left * right`; of bools, the logical and.
pub(super) fn multiply<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    let operands = promote("mul", left.into(), right.into(), |dtype| dtype)?;
    let out = dispatch!(operands.dtype, T => kernel::zip("mul", &operands.shape, &operands.a, &operands.b, T::times))?;
    if let Some(mut builder) = NodeBuilder::new("MulBackward0", &[&operands.left, &operands.right])? {
        let (right, left) = (builder.save_for(0, &operands.right)?, builder.save_for(1, &operands.left)?);
        builder.set_history(&out, move |ctx, gradient| {
            Ok(vec![
                ctx.gradient(0, || gradient.mul(&ctx.saved(right)?))?,
                ctx.gradient(1, || gradient.mul(&ctx.saved(left)?))?,
            ])
        });
    }
    Ok(out)
}

/// Returns `left / right`, in floating point also for integers.
pub fn divide<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    let operands = promote("div", left.into(), right.into(), DType::to_floating_point)?;
    let out = dispatch_float!(operands.dtype, T => kernel::zip("div", &operands.shape, &operands.a, &operands.b, |x: T, y: T| x / y))?;
    if let Some(mut builder) = NodeBuilder::new("DivBackward0", &[&operands.left, &operands.right])? {
        let right = builder.save(&operands.right)?;
        let left = builder.save_for(1, &operands.left)?;
        builder.set_history(&out, move |ctx, gradient| {
            let right = ctx.saved(right)?;
            Ok(vec![
                ctx.gradient(0, || gradient.div(&right))?,
                ctx.gradient(1, || gradient.mul(&ctx.saved(left)?.div(&right)?.div(&right)?)?.neg())?,
            ])
        });
    }
    Ok(out)
}

impl Tensor {
    /// Returns the sum with `other`. Shapes are broadcast and types promoted.
    pub fn add<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        add(self, other)
    }

    /// Returns the difference with `other`.
    pub fn sub<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        subtract(self, other)
    }

    /// Returns the elementwise product with `other`.
    pub fn mul<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        multiply(self, other)
    }

    /// Returns the quotient by `other`, which is always floating point.
    pub fn div<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        divide(self, other)
    }

    /// Returns `number - self`.
    pub fn rsub(&self, number: impl Into<Scalar>) -> Result<Tensor> {
        subtract(Operand::Scalar(number.into()), self)
    }

    /// Returns `number / self`.
    pub fn rdiv(&self, number: impl Into<Scalar>) -> Result<Tensor> {
        divide(Operand::Scalar(number.into()), self)
    }

    /// Returns `self + alpha * other`.
    pub fn add_scaled<'a>(&'a self, other: impl Into<Operand<'a>>, alpha: Scalar) -> Result<Tensor> {
        match scale_by_alpha("add", self, other.into(), alpha)? {
            ScaledOperand::Operand(other) => self.add(other),
            ScaledOperand::Tensor(other) => self.add(&other),
        }
    }

    /// Returns `self - alpha * other`.
    pub fn sub_scaled<'a>(&'a self, other: impl Into<Operand<'a>>, alpha: Scalar) -> Result<Tensor> {
        let (op, other) = ("sub", other.into());
        // Checked before `other` is converted to the promoted type.
        sub_check(op, [self.into(), other])?;
        match scale_by_alpha(op, self, other, alpha)? {
            ScaledOperand::Operand(other) => self.sub(other),
            ScaledOperand::Tensor(other) => self.sub(&other),
        }
    }
}

/// An operand after multiplication by `alpha`.
pub(super) enum ScaledOperand<'a> {
    Operand(Operand<'a>),
    Tensor(Tensor),
}

/// Returns `alpha * other` in the promoted type of `own` and `other`, or `other` itself if `alpha` is 1.
///
/// # Errors
/// `alpha` may be a bool only if that type is bool, and a floating-point number only if that type is floating point.
/// The type must be able to hold it.
pub(super) fn scale_by_alpha<'a>(
    op: &'static str,
    own: &Tensor,
    other: Operand<'a>,
    alpha: Scalar,
) -> Result<ScaledOperand<'a>> {
    let common = result_type(&[own.into(), other]);
    let is_bool = matches!(alpha, Scalar::Bool(_));
    if is_bool && common != DType::Bool || !alpha.dtype().can_cast_to(common.max(DType::Int64)) {
        return Err(Error::AlphaType { op, dtype: common, given: alpha });
    }
    let alpha = alpha.check_fits(common, op, "alpha")?;
    if alpha == Scalar::Int(1) {
        return Ok(ScaledOperand::Operand(other));
    }
    match other {
        Operand::Scalar(value) => {
            let product = match common {
                DType::Bool => Scalar::Bool(value.cast::<i64>() != 0 && alpha.cast::<f64>() != 0.0),
                DType::Int64 => Scalar::Int(value.cast::<i64>().wrapping_mul(alpha.cast::<i64>())),
                DType::Float32 | DType::Float64 => Scalar::Float(value.cast::<f64>() * alpha.cast::<f64>()),
            };
            Ok(ScaledOperand::Operand(Operand::Scalar(product)))
        }
        Operand::Tensor(tensor) if common == DType::Bool => {
            tensor.mul(Scalar::Bool(alpha.cast::<f64>() != 0.0)).map(ScaledOperand::Tensor)
        }
        Operand::Tensor(tensor) => tensor.cast(common)?.mul(alpha).map(ScaledOperand::Tensor),
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
    fn add_of_incompatible_shapes_reports_both_shapes() {
        let error = doubles(&[1.0, 2.0], &[2]).add(&doubles(&[0.0; 3], &[3])).unwrap_err();
        assert!(matches!(&error, Error::Broadcast { op: "add", .. }));
        assert!(error.to_string().ends_with("shapes (2,) and (3,) cannot be broadcast"), "{error}");
    }

    #[test]
    fn arithmetic_promotes_types_and_div_returns_floats() {
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
    fn arithmetic_with_broadcasting_passes_gradcheck() {
        let a = doubles(&[0.5, 1.5, 2.0, 0.25, 0.75, 3.0], &[2, 3]);
        let b = doubles(&[1.5, 2.5, 0.5], &[3]);
        let c = doubles(&[2.0, 3.0], &[2, 1]);
        let inputs = [a, b, c];
        gradcheck(|x| x[0].add(&x[1])?.mul(&x[2]), &inputs);
        gradcheck(|x| x[0].sub(&x[1])?.div(&x[2]), &inputs);
        gradcheck(|x| x[1].div(&x[0])?.add(&x[2]), &inputs);
        gradcheck(|x| x[0].pow(&x[1])?.mul(&x[2].pow(3.0)?), &inputs);
        gradcheck(|x| x[0].rsub(2.0)?.mul(&x[1].rdiv(3.0)?)?.add(&x[2].rpow(1.5)?), &inputs);
        gradcheck(|x| x[0].add_scaled(&x[1], 0.5.into())?.sub_scaled(&x[2], 2.0.into()), &inputs);
    }
}
