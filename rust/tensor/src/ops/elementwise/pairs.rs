//! Operations on pairs of elements whose gradients are functions of both operands: one entry of a table for each
//! operation.

use super::arithmetic::{PromotedOperands, promote};
use super::operand::{Numbers, Operand};
use super::selection::where_cond;
use super::sign::set_zero_gradients;
use crate::dtype::{dispatch_compute, dispatch_float, larger, smaller};
use crate::loops::real::Real;
use crate::ops::elementwise::selection::zero_where;
use crate::recording::NodeBuilder;
use crate::{DType, Element, Error, Result, Tensor};

/// Computes the gradient of one operand.
#[derive(Clone, Copy)]
pub(crate) enum OperandGradient {
    /// From the gradient of the result.
    Alone(fn(&Tensor) -> Result<Tensor>),
    /// From the gradient of the result and from both operands, which are saved.
    OfBoth(fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>),
}

/// Records that the operands were combined to `out`.
pub(crate) fn record_pair(
    node: &'static str,
    operands: &PromotedOperands,
    out: &Tensor,
    gradients: [OperandGradient; 2],
) -> Result<()> {
    let inputs = [&operands.left, &operands.right];
    let Some(mut builder) = NodeBuilder::new(node, &inputs)? else { return Ok(()) };
    let uses =
        |input: usize, gradient| builder.needs(input) && matches!(gradient, OperandGradient::OfBoth(_));
    let [of_left, of_right] = gradients;
    if uses(0, of_left) || uses(1, of_right) {
        builder.save(inputs[0])?;
        builder.save(inputs[1])?;
    }
    builder.set_history(out, move |ctx, gradient| {
        let of = |operand| match operand {
            OperandGradient::Alone(of_operand) => of_operand(gradient),
            OperandGradient::OfBoth(of_operand) => of_operand(gradient, &ctx.saved(0)?, &ctx.saved(1)?),
        };
        // The engine sums over broadcast dimensions.
        Ok(vec![ctx.gradient(0, || of(of_left))?, ctx.gradient(1, || of(of_right))?])
    })
}

/// Defines operations: the name, the dtypes, the node, the formula, and the gradients of both operands as expressions
/// of the gradient of the result (`g`) and the operands; `alone` precedes a gradient that does not use the operands.
/// The dtypes are `promoting` (of the promoted dtype), `dividing` (floating point, also for integers) or `floating`
/// (only for floating point).
macro_rules! pair_operations {
    ($($(#[$doc:meta])* $name:ident, $dtypes:ident, $node:literal, $f:expr, |$g:ident, $a:ident, $b:ident| ($left:expr, $($right:tt)+);)+) => {
        $($(#[$doc])*
        pub fn $name<'a>(left: impl Into<Operand<'a>>, right: impl Into<Operand<'a>>) -> Result<Tensor> {
            // Its loops are compiled once, not for each type of an operand.
            fn compute(operands: (Operand<'_>, Operand<'_>)) -> Result<Tensor> {
                let op = stringify!($name);
                let (operands, out) = pair_operations!(@compute $dtypes, op, operands, $f);
                record_pair($node, &operands, &out, [
                    OperandGradient::OfBoth(|$g, $a, $b| { let _ = $a; $left }),
                    pair_operations!(@right |$g, $a, $b| $($right)+),
                ])?;
                Ok(out)
            }
            compute((left.into(), right.into()))
        })+
    };
    (@right |$g:ident, $a:ident, $b:ident| alone $right:expr) => { OperandGradient::Alone(|$g| $right) };
    (@right |$g:ident, $a:ident, $b:ident| $right:expr) => {
        OperandGradient::OfBoth(|$g, $a, $b| { let _ = ($a, $b); $right })
    };
    (@compute promoting, $op:ident, $operands:ident, $f:expr) => {{
        let operands = promote($op, $operands, Numbers::Rounded, |dtype| dtype)?;
        let out = dispatch_compute!(operands.dtype, T => operands.zip::<T>($op, $f))?;
        (operands, out)
    }};
    (@compute dividing, $op:ident, $operands:ident, $f:expr) => {{
        let operands = promote($op, $operands, Numbers::Rounded, DType::to_floating_point)?;
        let out = dispatch_float!(operands.dtype, T => operands.zip::<T>($op, $f))?;
        (operands, out)
    }};
    (@compute floating, $op:ident, $operands:ident, $f:expr) => {{
        let operands = promote($op, $operands, Numbers::Rounded, |dtype| dtype)?;
        if !operands.dtype.is_floating_point() {
            return Err(Error::not_floating_point($op, "input", operands.dtype));
        }
        let out = dispatch_float!(operands.dtype, T => operands.zip::<T>($op, $f))?;
        (operands, out)
    }};
}

pair_operations! {
    /// Returns the arctangent of `left / right`; the signs of both choose the quadrant.
    atan2, dividing, "Atan2Backward0", Real::atan2, |g, y, x| (
        atan2_gradient(g, x, y, x), atan2_gradient(g, &y.neg()?, y, x)
    );
    /// Returns the length of the hypotenuse of a right triangle with these legs.
    hypot, floating, "HypotBackward0", Real::hypot, |g, x, y| (
        g.mul(&x.div(&hypot(x, y)?)?), g.mul(&y.div(&hypot(x, y)?)?)
    );
    /// Returns the logarithm of the sum of the exponentials, also where an exponential overflows.
    logaddexp, floating, "LogaddexpBackward0", log_add_exp, |g, x, y| (
        g.mul(&x.sub(y)?.sigmoid()?), g.mul(&y.sub(x)?.sigmoid()?)
    );
    /// Returns the magnitude of `left` with the sign of `right`.
    copysign, dividing, "CopysignBackward0", |x, y| x.copysign(y), |g, x, y| (
        copysign_gradient(g, x, y), alone Tensor::zeros(g.shape(), g.options())
    );
    /// Returns the larger of two elements, or NaN if one of them is NaN.
    maximum, promoting, "MaximumBackward0", larger, |g, x, y| (
        maximum_gradient(g, x, y), maximum_gradient(g, y, x)
    );
    /// Returns the smaller of two elements, or NaN if one of them is NaN.
    minimum, promoting, "MinimumBackward0", smaller, |g, x, y| (
        minimum_gradient(g, x, y), minimum_gradient(g, y, x)
    );
    /// Returns the larger of two elements, or the other one if one of them is NaN.
    fmax, promoting, "FmaxBackward0", |x, y| if y.is_nan() || x >= y { x } else { y }, |g, x, y| (
        zero_where(&passes_left(x, y, |x, y| x.greater_equal(y))?.logical_not()?, &shared_if_equal(g, x, y)?),
        zero_where(&passes_left(x, y, |x, y| x.greater(y))?, &shared_if_equal(g, x, y)?)
    );
    /// Returns the smaller of two elements, or the other one if one of them is NaN.
    fmin, promoting, "FminBackward0", |x, y| if y.is_nan() || x <= y { x } else { y }, |g, x, y| (
        zero_where(&passes_left(x, y, |x, y| x.less_equal(y))?.logical_not()?, &shared_if_equal(g, x, y)?),
        zero_where(&passes_left(x, y, |x, y| x.less(y))?, &shared_if_equal(g, x, y)?)
    );
}

/// Returns `ln(exp(x) + exp(y))`. The difference of equal infinities would be NaN.
#[inline(always)]
fn log_add_exp<T: Real>(x: T, y: T) -> T {
    if x == y && x.abs() == T::from_f64(f64::INFINITY) {
        return x;
    }
    larger(x, y) + (-(x - y).abs()).exp().ln_1p()
}

/// Returns `g * numerator / (x^2 + y^2)`, and 0 where both are 0.
fn atan2_gradient(g: &Tensor, numerator: &Tensor, y: &Tensor, x: &Tensor) -> Result<Tensor> {
    let (y, x) = (&y.to_single_if_half()?, &x.to_single_if_half()?);
    let inverse = y.mul(y)?.add(&x.mul(x)?)?.reciprocal()?;
    g.mul(&numerator.mul(&zero_where(&inverse.detach().isinf()?, &inverse)?)?)
}

/// Returns the gradient with the sign by which `copysign` changed `x`, and 0 where `x` is 0. The sign depends on both
/// operands with gradient 0, so that a recorded backward pass can be differentiated again.
fn copysign_gradient(g: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let elements = x.detach().cast(g.dtype())?;
    let ratio = copysign(&elements, &y.detach())?.div(&elements)?;
    let sign = zero_where(&elements.equal(0.0)?, &ratio)?;
    set_zero_gradients("CopysignBackwardBackward0", &[x, y], &sign)?;
    g.mul(&sign)
}

/// Returns the gradient of `x` in `maximum(x, y)`: 0 where it is less, and half of the gradient where both are equal.
pub(crate) fn maximum_gradient(g: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    zero_where(&x.detach().less(&y.detach())?, &shared_if_equal(g, x, y)?)
}

/// Returns the gradient of `x` in `minimum(x, y)`: 0 where it is greater, and half of the gradient where both are
/// equal.
pub(crate) fn minimum_gradient(g: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    zero_where(&x.detach().greater(&y.detach())?, &shared_if_equal(g, x, y)?)
}

/// Returns half of the gradient where both operands are equal, and the gradient elsewhere.
fn shared_if_equal(g: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    where_cond(&x.detach().equal(&y.detach())?, &g.div(2.0)?, g)
}

/// Returns where only the left operand of `fmax` or `fmin` has a gradient, or also where both are equal if `wins` is
/// true for equal operands.
fn passes_left(x: &Tensor, y: &Tensor, wins: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let (x, y) = (x.detach(), y.detach());
    // The sum of bools is the logical or.
    wins(&x, &y)?.add(&y.isnan()?)
}
