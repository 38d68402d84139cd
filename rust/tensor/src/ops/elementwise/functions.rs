//! Functions of each element with a floating-point result: one entry of a table for each function.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10};

use super::arithmetic::subtract;
use super::pairs::hypot;
use crate::dtype::dispatch_float;
use crate::loops::real::Real;
use crate::recording::NodeBuilder;
use crate::{Result, Tensor, iterate, loops};

/// The operands of the gradient of an elementwise function, besides the gradient of the result.
pub(crate) enum Saved {
    Input,
    Output,
}

/// How a function of each element is recorded.
pub(crate) struct UnaryRecord {
    pub node: &'static str,
    pub saved: Saved,
    /// Computes the gradient from that of the result and the saved tensor.
    pub gradient: fn(&Tensor, &Tensor) -> Result<Tensor>,
}

impl UnaryRecord {
    /// Records that `input` was mapped to `out`.
    pub(crate) fn set_history(self, input: &Tensor, out: &Tensor) -> Result<()> {
        let Some(mut builder) = NodeBuilder::new(self.node, &[input])? else { return Ok(()) };
        let saved = match self.saved {
            Saved::Input => builder.save(input)?,
            Saved::Output => builder.save_output(out)?,
        };
        let function = self.gradient;
        builder.set_history(out, move |ctx, gradient| {
            Ok(vec![ctx.gradient(0, || function(gradient, &ctx.saved(saved)?))?])
        })
    }
}

/// Defines functions that return floating-point tensors, also for integers: the name, the node, what the gradient uses
/// (`Input` or `Output`), the formula, after a semicolon the formula for numbers that are not moderate, and the gradient of the
/// input. That is an expression of the result's gradient (`g`) and of the input (`x`) or the result (`y`).
macro_rules! floating_functions {
    (@loop $f:expr) => { loops::map(element_function::<T>($f)) };
    (@loop $f:expr, $exact:expr) => {
        loops::map_within(element_function::<T>($f), T::is_moderate, element_function::<T>($exact))
    };
    ($($(#[$doc:meta])* $method:ident, $node:literal, $saved:ident, $f:expr $(; $exact:expr)?, |$g:ident, $value:ident| $gradient:expr;)+) => {
        impl Tensor {
            $($(#[$doc])*
            pub fn $method(&self) -> Result<Tensor> {
                let source = iterate::cast(self, self.dtype().to_floating_point())?;
                let out = dispatch_float!(source.dtype(), T => {
                    iterate::map_with(stringify!($method), &source, source.dtype(), &floating_functions!(@loop $f $(, $exact)?))
                })?;
                let record = UnaryRecord { node: $node, saved: Saved::$saved, gradient: |$g, $value| $gradient };
                record.set_history(self, &out)?;
                Ok(out)
            })+
        }
    };
}

/// Returns a function as it is. This gives a closure its types, and the compiler a loop of its own for it.
pub(crate) fn element_function<T>(f: impl Fn(T) -> T + Copy) -> impl Fn(T) -> T + Copy {
    f
}

/// Returns `sqrt(x ** 2 + 1)`, where the square may overflow.
fn hypotenuse(x: &Tensor) -> Result<Tensor> {
    hypot(x, &Tensor::ones(&[], x.options())?)
}

floating_functions! {
    /// Returns e to the power of each element.
    exp, "ExpBackward0", Output, Real::exp, |g, y| g.mul(y);
    /// Returns 2 to the power of each element.
    exp2, "Exp2Backward0", Output, Real::exp2, |g, y| g.mul(&y.mul(LN_2)?);
    /// Returns e to the power of each element, minus 1, which is precise near 0.
    expm1, "Expm1Backward0", Output, Real::exp_m1, |g, y| g.mul(&y.add(1.0)?);
    /// Returns the natural logarithm of each element.
    log, "LogBackward0", Input, Real::ln, |g, x| g.div(x);
    /// Returns the decimal logarithm of each element.
    log10, "Log10Backward0", Input, Real::log10, |g, x| g.div(&x.mul(LN_10)?);
    /// Returns the natural logarithm of 1 plus each element, which is precise near 0.
    log1p, "Log1PBackward0", Input, Real::ln_1p, |g, x| g.div(&x.add(1.0)?);
    /// Returns the binary logarithm of each element.
    log2, "Log2Backward0", Input, Real::log2, |g, x| g.div(&x.mul(LN_2)?);
    /// Returns the square root of each element.
    sqrt, "SqrtBackward0", Output, |v| v.sqrt(), |g, y| g.div(&y.mul(2.0)?);
    /// Returns the reciprocal of the square root of each element.
    rsqrt, "RsqrtBackward0", Output, |v| v.sqrt().recip(), |g, y| {
        g.mul(&y.to_single_if_half()?.pow(3.0)?.mul(-0.5)?)
    };
    /// Returns the reciprocal of each element.
    reciprocal, "ReciprocalBackward0", Output, |v| v.recip(), |g, y| g.mul(&y.mul(y)?.neg()?);
    /// Returns the sine of each element.
    sin, "SinBackward0", Input, Real::sin; |v| v.sin(), |g, x| g.mul(&x.cos()?);
    /// Returns the cosine of each element.
    cos, "CosBackward0", Input, Real::cos; |v| v.cos(), |g, x| g.mul(&x.sin()?.neg()?);
    /// Returns the tangent of each element.
    tan, "TanBackward0", Output, Real::tan; |v| v.tan(), |g, y| g.mul(&y.mul(y)?.add(1.0)?);
    /// Returns the arc sine of each element.
    asin, "AsinBackward0", Input, Real::asin, |g, x| g.mul(&subtract(1.0, &x.mul(x)?)?.rsqrt()?);
    /// Returns the arc cosine of each element.
    acos, "AcosBackward0", Input, Real::acos, |g, x| g.mul(&subtract(1.0, &x.mul(x)?)?.rsqrt()?.neg()?);
    /// Returns the arc tangent of each element.
    atan, "AtanBackward0", Input, Real::atan, |g, x| g.div(&x.mul(x)?.add(1.0)?);
    /// Returns the hyperbolic sine of each element.
    sinh, "SinhBackward0", Input, Real::sinh, |g, x| g.mul(&x.cosh()?);
    /// Returns the hyperbolic cosine of each element.
    cosh, "CoshBackward0", Input, Real::cosh, |g, x| g.mul(&x.sinh()?);
    /// Returns the hyperbolic tangent of each element.
    tanh, "TanhBackward0", Output, Real::tanh, |g, y| g.mul(&subtract(1.0, &y.mul(y)?)?);
    /// Returns the inverse hyperbolic sine of each element.
    asinh, "AsinhBackward0", Input, Real::asinh, |g, x| g.div(&hypotenuse(x)?);
    /// Returns the inverse hyperbolic cosine of each element.
    acosh, "AcoshBackward0", Input, Real::acosh, |g, x| {
        // The root of the product of both differences, whose product may overflow.
        let size = x.abs()?;
        g.mul(&size.sub(1.0)?.rsqrt()?)?.mul(&size.add(1.0)?.rsqrt()?)
    };
    /// Returns the inverse hyperbolic tangent of each element.
    atanh, "AtanhBackward0", Input, |v| Real::atanh(v.abs()).copysign(v), |g, x| g.div(&subtract(1.0, &x.mul(x)?)?);
    /// Returns the error function of each element.
    erf, "ErfBackward0", Input, Real::erf, |g, x| g.mul(&x.mul(x)?.neg()?.exp()?.mul(FRAC_2_SQRT_PI)?);
    /// Returns 1 minus the error function of each element, which is precise for large elements.
    erfc, "ErfcBackward0", Input, Real::erfc, |g, x| g.mul(&x.mul(x)?.neg()?.exp()?.mul(-FRAC_2_SQRT_PI)?);
    /// Returns the logistic function of each element.
    sigmoid, "SigmoidBackward0", Output, Real::sigmoid, |g, y| {
        g.mul(&y.mul(&subtract(1.0, y)?)?)
    };
}
