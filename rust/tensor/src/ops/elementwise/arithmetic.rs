//! Arithmetic operations with broadcasting and type promotion.

use super::operand::{Numbers, Operand, result_type};
use crate::dtype::{dispatch_float, dispatch_wrapping};
use crate::error::check_fits;
use crate::layout::broadcast;
use crate::loops::ElementLoop;
use crate::loops::real::Real;
use crate::recording::{BackwardContext, Gradients, NodeBuilder};
use crate::{DType, Element, Error, ErrorKind, Result, Scalar, Tensor, iterate, loops};

/// Two operands converted to their promoted type, and the shape of the result.
pub(crate) struct PromotedOperands {
    /// The original operands, scalars as tensors.
    pub left: Tensor,
    pub right: Tensor,
    /// The operands in the promoted type, or in that of its arithmetic, without history.
    pub a: Tensor,
    pub b: Tensor,
    pub dtype: DType,
    pub shape: Vec<usize>,
}

/// Converts two operands to one dtype, which `dtype` computes from their promoted type, and broadcasts their shapes.
pub(crate) fn promote(
    op: &'static str,
    (left, right): (Operand<'_>, Operand<'_>),
    numbers: Numbers,
    dtype: impl FnOnce(DType) -> DType,
) -> Result<PromotedOperands> {
    promote_to(op, (left, right), numbers, dtype(result_type(&[left, right])))
}

/// Like [`promote`], to this type.
fn promote_to(
    op: &'static str,
    (left, right): (Operand<'_>, Operand<'_>),
    numbers: Numbers,
    dtype: DType,
) -> Result<PromotedOperands> {
    let (own, other) = (numbers.dtype_of(left, false, dtype), numbers.dtype_of(right, true, dtype));
    let (left, right) = (left.tensor(own)?, right.tensor(other)?);
    let shape = broadcast(op, left.shape(), right.shape())?;
    let (a, b) = (iterate::cast(&left, own)?, iterate::cast(&right, other)?);
    Ok(PromotedOperands { left, right, a, b, dtype, shape })
}

impl PromotedOperands {
    /// Applies `f` to each pair of elements, in the type in which arithmetic is done. The result has the promoted type.
    pub(crate) fn zip<T: Element>(
        &self,
        op: &'static str,
        f: impl Fn(T, T) -> T + Clone + Send + Sync + 'static,
    ) -> Result<Tensor> {
        iterate::zip(op, (self.dtype, &self.shape), &self.a, &self.b, f)
    }

    /// Like [`zip`](PromotedOperands::zip), with a loop.
    pub(crate) fn zip_with(&self, op: &'static str, element_loop: &dyn ElementLoop) -> Result<Tensor> {
        iterate::zip_with(op, (self.dtype, &self.shape), &self.a, &self.b, element_loop)
    }

    /// Applies `f` to each pair of elements and the remainder of their division, like [`zip`](PromotedOperands::zip). The result
    /// of a remainder that is NaN is NaN, unless it does not depend on the remainder.
    pub(crate) fn zip_with_remainder<T: Real>(
        &self,
        op: &'static str,
        f: impl Fn(T, T, T) -> T + Copy + Send + Sync + 'static,
    ) -> Result<Tensor> {
        let fast = move |x: T, y: T| f(x, y, x.remainder_or_nan(y));
        let element_loop = loops::zip_or_exact(fast, move |x, y| f(x, y, x % y));
        self.zip_with(op, &element_loop)
    }
}

/// Returns `left + right`; of bools, the logical or.
pub(crate) fn add<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    let operands = promote("add", (left.into(), right.into()), Numbers::Rounded, |dtype| dtype)?;
    add_operands(operands, NO_FACTOR)
}

/// Returns the sum of unrounded products of 16-bit floats, rounded to their type, without a history.
pub(crate) fn add_products<'a>(
    left: impl Into<Operand<'a>>,
    right: impl Into<Operand<'a>>,
    dtype: DType,
) -> Result<Tensor> {
    sum_of(&promote("add", (left.into(), right.into()), Numbers::Exact, |_| dtype)?)
}

fn sum_of(operands: &PromotedOperands) -> Result<Tensor> {
    dispatch_wrapping!(operands.dtype, T => operands.zip_with("add", &loops::zip_commutative(T::plus)))
}

/// The factor of an operand that is not scaled.
pub(crate) const NO_FACTOR: Scalar = Scalar::Int(1);

/// Adds operands, of which the second is `alpha` times the tensor with the history.
fn add_operands(operands: PromotedOperands, alpha: Scalar) -> Result<Tensor> {
    let out = sum_of(&operands)?;
    record_sum("AddBackward0", &operands, &out, alpha, add_backward)?;
    Ok(out)
}

fn record_sum(
    node: &'static str,
    operands: &PromotedOperands,
    out: &Tensor,
    alpha: Scalar,
    backward: impl Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync + 'static,
) -> Result<()> {
    let Some(builder) = NodeBuilder::new(node, &[&operands.left, &operands.right])? else { return Ok(()) };
    if alpha == NO_FACTOR {
        return builder.set_history(out, backward);
    }
    builder.set_history(out, with_alpha(alpha, backward))
}

/// Returns the gradients of the operands of a sum. The engine sums over broadcast dimensions.
pub(super) fn add_backward(_: &BackwardContext<'_>, gradient: &Tensor) -> Result<Gradients> {
    Ok(vec![Some(gradient.clone()), Some(gradient.clone())])
}

/// Returns the backward function of a sum or difference whose second operand is multiplied by `alpha`.
pub(super) fn with_alpha(
    alpha: Scalar,
    backward: impl Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync + 'static,
) -> impl Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync + 'static {
    move |ctx, gradient| {
        let mut gradients = backward(ctx, gradient)?;
        if let Some(Some(second)) = gradients.get_mut(1) {
            *second = second.mul(alpha)?;
        }
        Ok(gradients)
    }
}

/// Returns an error if an operand is a bool tensor or a bool: PyTorch's `sub_check`.
pub(crate) fn sub_check(op: &'static str, operands: [Operand<'_>; 2]) -> Result<()> {
    let has_bool = operands.iter().any(|operand| operand.dtype() == DType::Bool);
    if has_bool { Err(Error::not_numeric(op, "both operands", "; compare bools with !=")) } else { Ok(()) }
}

/// Returns `left - right`.
pub fn subtract<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    let (left, right) = (left.into(), right.into());
    sub_check("sub", [left, right])?;
    subtract_operands(promote("sub", (left, right), Numbers::Rounded, |dtype| dtype)?, NO_FACTOR)
}

/// Subtracts operands like [`add_operands`].
fn subtract_operands(operands: PromotedOperands, alpha: Scalar) -> Result<Tensor> {
    let out =
        dispatch_wrapping!(operands.dtype, T => operands.zip_with("sub", &loops::zip_or_number(T::minus)))?;
    record_sum("SubBackward0", &operands, &out, alpha, sub_backward)?;
    Ok(out)
}

/// Returns the gradients of the operands of a difference.
pub(super) fn sub_backward(ctx: &BackwardContext<'_>, gradient: &Tensor) -> Result<Gradients> {
    Ok(vec![Some(gradient.clone()), ctx.gradient(1, || gradient.neg())?])
}

/// Returns `left * right`; of bools, the logical and.
pub fn multiply<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    multiply_operands(promote("mul", (left.into(), right.into()), Numbers::Exact, |dtype| dtype)?)
}

fn multiply_operands(operands: PromotedOperands) -> Result<Tensor> {
    let out =
        dispatch_wrapping!(operands.dtype, T => operands.zip_with("mul", &loops::zip_commutative(T::times)))?;
    if let Some(mut builder) = NodeBuilder::new("MulBackward0", &[&operands.left, &operands.right])? {
        builder.save_for(0, &operands.right)?;
        builder.save_for(1, &operands.left)?;
        builder.set_history(&out, mul_backward)?;
    }
    Ok(out)
}

/// Returns the gradients of the factors of a product, of which the second one is saved first.
pub(super) fn mul_backward(ctx: &BackwardContext<'_>, gradient: &Tensor) -> Result<Gradients> {
    Ok(vec![
        ctx.gradient(0, || gradient.mul(&ctx.saved(0)?))?,
        ctx.gradient(1, || gradient.mul(&ctx.saved(1)?))?,
    ])
}

/// Returns `left / right`, in floating point also for integers.
pub fn divide<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
    divide_operands(promote("div", (left.into(), right.into()), Numbers::Exact, DType::to_floating_point)?)
}

fn divide_operands(operands: PromotedOperands) -> Result<Tensor> {
    let out = dispatch_float!(operands.dtype, T => operands.zip_with("div", &loops::zip_or_number(|x: T, y: T| x / y)))?;
    if let Some(mut builder) = NodeBuilder::new("DivBackward0", &[&operands.left, &operands.right])? {
        builder.save(&operands.right)?;
        builder.save_for(1, &operands.left)?;
        builder.set_history(&out, div_backward)?;
    }
    Ok(out)
}

/// Returns the gradients of a dividend and a divisor, of which the divisor is saved first.
pub(super) fn div_backward(ctx: &BackwardContext<'_>, gradient: &Tensor) -> Result<Gradients> {
    let right = ctx.saved(0)?;
    Ok(vec![
        ctx.gradient(0, || gradient.div(&right))?,
        ctx.gradient(1, || gradient.mul(&ctx.saved(1)?.div(&right)?.div(&right)?)?.neg())?,
    ])
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
        let out = subtract(Operand::Scalar(number.into()), &self.detach())?;
        NodeBuilder::record_linear("RsubBackward1", self, out, Tensor::neg)
    }

    /// Returns `number / self`. The quotients of 16-bit floats are those of PyTorch, which multiplies rounded
    /// reciprocals.
    pub fn rdiv(&self, number: impl Into<Scalar>) -> Result<Tensor> {
        let number = number.into();
        if self.dtype().is_half() {
            return divide(1i64, self)?.mul(Operand::Scalar(number));
        }
        let out = divide(Operand::Scalar(number), &self.detach())?;
        if let Some(builder) = NodeBuilder::new("DivBackward0", &[self])? {
            // As in PyTorch the tensor may be changed before the backward pass, which uses reciprocals.
            builder.set_history_saving(&self.reciprocal()?, &out, move |reciprocals, gradient| {
                // Not the square of the reciprocals, which may be out of range.
                gradient.mul(&reciprocals.mul(Operand::Scalar(number))?.mul(reciprocals)?.neg()?)
            })?;
        }
        Ok(out)
    }
}

/// Returns `left + alpha * right`; of bools, the logical or.
pub fn add_scaled<'a>(
    left: impl Into<Operand<'a>>,
    right: impl Into<Operand<'a>>,
    alpha: Scalar,
) -> Result<Tensor> {
    let (op, left, right) = ("add", left.into(), right.into());
    let scaled = scale_by_alpha(op, left, right, ("alpha", alpha))?;
    add_operands(scaled.promote(op, left)?, scaled.alpha)
}

/// Returns `left - alpha * right`.
pub fn sub_scaled<'a>(
    left: impl Into<Operand<'a>>,
    right: impl Into<Operand<'a>>,
    alpha: Scalar,
) -> Result<Tensor> {
    let (op, left, right) = ("sub", left.into(), right.into());
    // Checked before `right` is converted to the promoted type.
    sub_check(op, [left, right])?;
    let scaled = scale_by_alpha(op, left, right, ("alpha", alpha))?;
    subtract_operands(scaled.promote(op, left)?, scaled.alpha)
}

/// An operand after multiplication by `alpha`.
pub(crate) struct ScaledOperand<'a> {
    /// The operand, which has the history.
    unscaled: Operand<'a>,
    product: Product<'a>,
    /// The factor, in the promoted type.
    pub alpha: Scalar,
    /// The promoted type of the operands. A product in a half-precision type is not rounded yet.
    pub dtype: DType,
    /// How a sum uses the product.
    pub numbers: Numbers,
}

enum Product<'a> {
    Operand(Operand<'a>),
    Tensor(Tensor),
}

impl ScaledOperand<'_> {
    /// Promotes `left` and the product. The second operand with a history is the one before the multiplication.
    fn promote(&self, op: &'static str, left: Operand<'_>) -> Result<PromotedOperands> {
        let mut operands = promote(op, (left, self.operand()), self.numbers, |_| self.dtype)?;
        if let (Product::Tensor(_), Operand::Tensor(unscaled)) = (&self.product, self.unscaled) {
            operands.right = unscaled.clone();
        }
        Ok(operands)
    }

    pub(crate) fn operand(&self) -> Operand<'_> {
        match &self.product {
            Product::Operand(operand) => *operand,
            Product::Tensor(product) => product.into(),
        }
    }
}

/// Returns `alpha * other`, without a history, in the promoted type of `own` and `other`, or `other` itself if `alpha` is 1.
/// `argument` is the name of `alpha` in errors.
///
/// # Errors
/// `alpha` may be a bool only if that type is bool, and a floating-point number only if that type is floating point.
/// The type must be able to hold it.
pub(crate) fn scale_by_alpha<'a>(
    op: &'static str,
    own: Operand<'_>,
    other: Operand<'a>,
    (argument, alpha): (&'static str, Scalar),
) -> Result<ScaledOperand<'a>> {
    let dtype = result_type(&[own, other]);
    let is_bool = matches!(alpha, Scalar::Bool(_));
    let category = if dtype == DType::Bool { DType::Int64 } else { dtype };
    if is_bool && dtype != DType::Bool || !alpha.dtype().can_cast_to(category) {
        let expected = match (is_bool, dtype) {
            (true, dtype) if dtype.is_floating_point() => "an int or a float",
            (false, DType::Bool) => "a bool or an int",
            _ => "an int",
        };
        let message = format!("must be {expected} for operands of dtype {dtype}, got {alpha}");
        return Err(Error::argument(ErrorKind::DType, op, argument, message));
    }
    let alpha = check_fits(alpha, dtype, op, argument)?;
    if alpha == NO_FACTOR {
        let product = Product::Operand(other);
        return Ok(ScaledOperand { unscaled: other, product, alpha, dtype, numbers: Numbers::Rounded });
    }
    let alpha = alpha.rounded(dtype);
    let product = match other {
        Operand::Scalar(value) => Product::Operand(Operand::Scalar(match dtype {
            DType::Bool => Scalar::Bool(value.cast::<i64>() != 0 && alpha.cast::<f64>() != 0.0),
            dtype if dtype.is_integer() => Scalar::Int(value.cast::<i64>().wrapping_mul(alpha.cast::<i64>())),
            _ => Scalar::Float(value.rounded(dtype).cast::<f64>() * alpha.cast::<f64>()),
        })),
        Operand::Tensor(tensor) if dtype == DType::Bool => {
            Product::Tensor(tensor.mul(Scalar::Bool(alpha.cast::<f64>() != 0.0))?)
        }
        Operand::Tensor(tensor) => {
            Product::Tensor(tensor.detach().cast(dtype)?.cast(dtype.compute())?.mul(alpha)?)
        }
    };
    Ok(ScaledOperand { unscaled: other, product, alpha, dtype, numbers: Numbers::Exact })
}
