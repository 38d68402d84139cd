//! Activation functions. The values and the gradients are one kernel each, which computes in the type of arithmetic.
//! Second derivatives are computed by recorded operations, so that gradients of any order exist.
//!
//! Sources: Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)" (2016), for gelu and silu; Dugas et al.,
//! "Incorporating Second-Order Functional Knowledge for Better Option Pricing" (2000), for softplus; Clevert et al.,
//! "Fast and Accurate Deep Network Learning by Exponential Linear Units (ELUs)" (2015), for elu; Maas et al., "Rectifier
//! Nonlinearities Improve Neural Network Acoustic Models" (2013), for leaky_relu.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use crate::dtype::{dispatch_compute, dispatch_float};
use crate::loops::real::Real;
use crate::ops::elementwise::functions::{Saved, UnaryRecord};
use crate::ops::elementwise::operand::{check_floating_point, check_numeric};
use crate::ops::elementwise::selection::clamp;
use crate::ops::elementwise::selection::zero_where;
use crate::recording::NodeBuilder;
use crate::{DType, Result, Tensor, iterate};

/// A function of each element with its first two derivatives. The first two functions are inlined, so that the loop around them
/// has the instructions that they need.
trait Activation: Copy + Send + Sync + 'static {
    const OP: &'static str;
    const NODE: &'static str;
    const BACKWARD_NODE: &'static str;
    /// The node of the in-place form.
    const INPLACE_NODE: &'static str = Self::NODE;
    /// Whether the result is contiguous even if the elements of the input are in another order.
    const IS_CONTIGUOUS: bool = false;

    fn value<T: Real>(self, x: T) -> T;
    fn derivative<T: Real>(self, x: T) -> T;
    /// Computes the second derivative by recorded operations.
    fn second_derivative(self, x: &Tensor) -> Result<Tensor>;
}

/// Returns `1 / (1 + exp(-x))`.
#[inline(always)]
fn logistic<T: Real>(x: T) -> T {
    T::from_i64(1) / (T::from_i64(1) + (-x).exp())
}

/// Returns `1 - x`.
fn complement(x: &Tensor) -> Result<Tensor> {
    x.rsub(1i64)
}

/// How [`Tensor::gelu`] computes the normal distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GeluApproximation {
    /// Exactly, by the error function.
    #[default]
    None,
    /// By a hyperbolic tangent.
    Tanh,
}

/// `x * P(X <= x)` for a standard normal X.
#[derive(Clone, Copy)]
struct Gelu;

impl Activation for Gelu {
    const OP: &'static str = "gelu";
    const NODE: &'static str = "GeluBackward0";
    const BACKWARD_NODE: &'static str = "GeluBackwardBackward0";

    #[inline(always)]
    fn value<T: Real>(self, x: T) -> T {
        x * normal_distribution(x)
    }

    #[inline(always)]
    fn derivative<T: Real>(self, x: T) -> T {
        let half = T::from_f64(0.5);
        normal_distribution(x) + x * (T::from_f64(NORMAL_DENSITY_AT_0) * (-half * x * x).exp())
    }

    fn second_derivative(self, x: &Tensor) -> Result<Tensor> {
        let x = &limited(x)?;
        let square = x.mul(x)?;
        let density = square.mul(-0.5)?.exp()?.mul(NORMAL_DENSITY_AT_0)?;
        density.mul(&square.rsub(2i64)?)
    }
}

/// `1 / sqrt(2 pi)`.
const NORMAL_DENSITY_AT_0: f64 = 0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2;

/// A number of standard deviations beyond which the density is 0. Its square is finite.
const LARGEST_DEVIATION: f64 = 1e4;

/// Returns the elements, those beyond [`LARGEST_DEVIATION`] replaced by it.
fn limited(x: &Tensor) -> Result<Tensor> {
    clamp(x, Some((-LARGEST_DEVIATION).into()), Some(LARGEST_DEVIATION.into()))
}

/// Returns the probability that a standard normal variable is at most `x`.
#[inline(always)]
fn normal_distribution<T: Real>(x: T) -> T {
    T::from_f64(0.5) * (-x * T::from_f64(FRAC_1_SQRT_2)).erfc()
}

/// `x / 2 * (1 + tanh(u))` with `u = sqrt(2 / pi) * (x + 0.044715 * x ** 3)`.
#[derive(Clone, Copy)]
struct TanhGelu;

impl TanhGelu {
    const FACTOR: f64 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
    const CUBIC: f64 = 0.044715;

    /// Returns `tanh(u)` and the derivative of u.
    #[inline(always)]
    fn inner<T: Real>(x: T) -> (T, T) {
        let (factor, cubic) = (T::from_f64(Self::FACTOR), T::from_f64(Self::CUBIC));
        let limit = T::from_f64(LARGEST_DEVIATION);
        // Beyond the limit the tangent is 1 or -1. A square that overflows would make the derivative NaN.
        let x = if x > limit {
            limit
        } else if x < -limit {
            -limit
        } else {
            x
        };
        let square = cubic * x * x;
        let one = T::from_i64(1);
        ((factor * x * (one + square)).tanh(), factor * (one + T::from_i64(3) * square))
    }
}

impl Activation for TanhGelu {
    const OP: &'static str = "gelu";
    const NODE: &'static str = "GeluBackward0";
    const BACKWARD_NODE: &'static str = "GeluBackwardBackward0";

    #[inline(always)]
    fn value<T: Real>(self, x: T) -> T {
        T::from_f64(0.5) * x * (T::from_i64(1) + Self::inner(x).0)
    }

    #[inline(always)]
    fn derivative<T: Real>(self, x: T) -> T {
        let (one, (tangent, slope)) = (T::from_i64(1), Self::inner(x));
        T::from_f64(0.5) * (one + tangent + x * ((one - tangent * tangent) * slope))
    }

    fn second_derivative(self, x: &Tensor) -> Result<Tensor> {
        let x = &limited(x)?;
        let square = x.mul(x)?.mul(Self::CUBIC)?;
        let tangent = x.mul(&square.add(1i64)?)?.mul(Self::FACTOR)?.tanh()?;
        let slope = square.mul(3i64)?.add(1i64)?.mul(Self::FACTOR)?;
        let curvature = x.mul(6.0 * Self::CUBIC * Self::FACTOR)?;
        // (1 - t ** 2) * (u' + x / 2 * (u'' - 2 * t * u' ** 2))
        let bend = curvature.sub(&tangent.mul(&slope.mul(&slope)?)?.mul(2i64)?)?;
        let sum = slope.add(&x.mul(&bend)?.mul(0.5)?)?;
        complement(&tangent.mul(&tangent)?)?.mul(&sum)
    }
}

/// `x / (1 + exp(-x))`.
#[derive(Clone, Copy)]
struct Silu;

impl Activation for Silu {
    const OP: &'static str = "silu";
    const NODE: &'static str = "SiluBackward0";
    const BACKWARD_NODE: &'static str = "SiluBackwardBackward0";

    #[inline(always)]
    fn value<T: Real>(self, x: T) -> T {
        x / (T::from_i64(1) + (-x).exp())
    }

    #[inline(always)]
    fn derivative<T: Real>(self, x: T) -> T {
        let (one, logistic) = (T::from_i64(1), logistic(x));
        logistic * (one + x * (one - logistic))
    }

    fn second_derivative(self, x: &Tensor) -> Result<Tensor> {
        let logistic = x.sigmoid()?;
        let slope = logistic.mul(&complement(&logistic)?)?;
        // s * (1 - s) * (2 + x * (1 - 2 * s))
        slope.mul(&x.mul(&logistic.mul(-2i64)?.add(1i64)?)?.add(2i64)?)
    }
}

/// `ln(1 + exp(beta * x)) / beta`, and x where `beta * x` is above the threshold.
///
/// It is computed as `max(x, 0) + ln(1 + exp(-|beta * x|)) / beta`, of which no part overflows.
#[derive(Clone, Copy)]
struct Softplus {
    beta: f64,
    threshold: f64,
}

impl Softplus {
    /// Returns `beta * x`. In double precision a large beta remains finite, so that its product with 0 is 0.
    #[inline(always)]
    fn scaled<T: Real>(self, x: T) -> f64 {
        self.beta * x.to_f64()
    }
}

impl Activation for Softplus {
    const OP: &'static str = "softplus";
    const NODE: &'static str = "SoftplusBackward0";
    const BACKWARD_NODE: &'static str = "SoftplusBackwardBackward0";

    #[inline(always)]
    fn value<T: Real>(self, x: T) -> T {
        let scaled = self.scaled(x);
        if scaled > self.threshold {
            return x;
        }
        let linear = if scaled > 0.0 { x } else { T::default() };
        let rest = (-T::from_f64(scaled).abs()).exp().ln_1p();
        linear + T::from_f64(rest.to_f64() / self.beta)
    }

    #[inline(always)]
    fn derivative<T: Real>(self, x: T) -> T {
        let scaled = self.scaled(x);
        if scaled > self.threshold { T::from_i64(1) } else { logistic(T::from_f64(scaled)) }
    }

    fn second_derivative(self, x: &Tensor) -> Result<Tensor> {
        let scaled = x.cast(DType::Float64)?.mul(self.beta)?;
        let logistic = scaled.sigmoid()?;
        let curvature = logistic.mul(&complement(&logistic)?)?.mul(self.beta)?;
        zero_where(&scaled.detach().greater(self.threshold)?, &curvature)
    }
}

/// `-ln(1 + exp(-x))`.
#[derive(Clone, Copy)]
struct LogSigmoid;

impl Activation for LogSigmoid {
    const OP: &'static str = "logsigmoid";
    const NODE: &'static str = "LogSigmoidBackward0";
    const BACKWARD_NODE: &'static str = "LogSigmoidBackwardBackward0";
    const IS_CONTIGUOUS: bool = true;

    #[inline(always)]
    fn value<T: Real>(self, x: T) -> T {
        let zero = T::default();
        let least = if x < zero { x } else { zero };
        least - (-x.abs()).exp().ln_1p()
    }

    #[inline(always)]
    fn derivative<T: Real>(self, x: T) -> T {
        logistic(-x)
    }

    fn second_derivative(self, x: &Tensor) -> Result<Tensor> {
        let logistic = x.sigmoid()?;
        logistic.mul(&logistic.sub(1i64)?)
    }
}

/// x, and `alpha * (exp(x) - 1)` where x is not positive.
#[derive(Clone, Copy)]
struct Elu {
    alpha: f64,
}

impl Activation for Elu {
    const OP: &'static str = "elu";
    const NODE: &'static str = "EluBackward0";
    const BACKWARD_NODE: &'static str = "EluBackwardBackward0";
    const INPLACE_NODE: &'static str = "EluBackward1";

    #[inline(always)]
    fn value<T: Real>(self, x: T) -> T {
        if x <= T::default() { T::from_f64(self.alpha) * x.exp_m1() } else { x }
    }

    #[inline(always)]
    fn derivative<T: Real>(self, x: T) -> T {
        if x <= T::default() { T::from_f64(self.alpha) * x.exp() } else { T::from_i64(1) }
    }

    fn second_derivative(self, x: &Tensor) -> Result<Tensor> {
        // As in PyTorch 0 belongs to the linear part here, and to the exponential part in `derivative`.
        let is_linear = x.detach().less(0i64)?.logical_not()?;
        zero_where(&is_linear, &x.exp()?.mul(self.alpha)?)
    }
}

/// x, and `slope * x` where x is not positive.
#[derive(Clone, Copy)]
struct LeakyRelu {
    slope: f64,
}

impl Activation for LeakyRelu {
    const OP: &'static str = "leaky_relu";
    const NODE: &'static str = "LeakyReluBackward0";
    const BACKWARD_NODE: &'static str = "LeakyReluBackwardBackward0";
    const INPLACE_NODE: &'static str = "LeakyReluBackward1";

    #[inline(always)]
    fn value<T: Real>(self, x: T) -> T {
        x * self.derivative(x)
    }

    #[inline(always)]
    fn derivative<T: Real>(self, x: T) -> T {
        if x > T::default() { T::from_i64(1) } else { T::from_f64(self.slope) }
    }

    fn second_derivative(self, x: &Tensor) -> Result<Tensor> {
        Tensor::zeros(x.shape(), x.options())
    }
}

/// Applies a function to each element.
fn activate<A: Activation>(activation: A, input: &Tensor) -> Result<Tensor> {
    check_floating_point(A::OP, input)?;
    let elements = if A::IS_CONTIGUOUS { input.detach().contiguous()? } else { input.clone() };
    let out = dispatch_float!(input.dtype(), T => {
        iterate::map(
            A::OP,
            &elements,
            #[inline(always)]
            move |x: T| activation.value(x),
        )
    })?;
    if let Some(builder) = NodeBuilder::new(A::NODE, &[input])? {
        builder.set_history_saving(input, &out, move |input, gradient| {
            activate_backward(activation, gradient, input)
        })?;
    }
    Ok(out)
}

/// Applies a function to each element in place.
fn activate_inplace<'a, A: Activation>(
    activation: A,
    op: &'static str,
    target: &'a Tensor,
) -> Result<&'a Tensor> {
    check_floating_point(op, target)?;
    let work = |builder: Option<&mut NodeBuilder>| {
        if let Some(builder) = builder {
            builder.save(&target.contiguous_copy()?)?;
        }
        iterate::copy_into(op, target, &activate(activation, &target.detach())?)
    };
    target.run_inplace(op, A::INPLACE_NODE, &[], work, move |ctx, gradient| {
        Ok(vec![ctx.gradient(0, || activate_backward(activation, gradient, &ctx.saved(0)?))?])
    })
}

/// Returns the gradient of the input of a function of each element.
fn activate_backward<A: Activation>(activation: A, gradient: &Tensor, input: &Tensor) -> Result<Tensor> {
    let out = dispatch_float!(gradient.dtype(), T => {
        iterate::zip(
            A::OP,
            (gradient.dtype(), gradient.shape()),
            gradient,
            &input.detach(),
            #[inline(always)]
            move |gradient: T, x: T| gradient * activation.derivative(x),
        )
    })?;
    if let Some(mut builder) = NodeBuilder::new(A::BACKWARD_NODE, &[gradient, input])? {
        let (of_output, saved) = (builder.save_for(1, gradient)?, builder.save(input)?);
        builder.set_history(&out, move |ctx, second| {
            let input = ctx.saved(saved)?;
            let of_input = || {
                let curvature = activation.second_derivative(&input.cast(input.dtype().compute())?)?;
                second.mul(&ctx.saved(of_output)?)?.mul(&curvature)
            };
            Ok(vec![
                ctx.gradient(0, || activate_backward(activation, second, &input))?,
                ctx.gradient(1, of_input)?,
            ])
        })?;
    }
    Ok(out)
}

impl Tensor {
    /// Returns each element times the probability that a standard normal variable is at most the element.
    pub fn gelu(&self, approximation: GeluApproximation) -> Result<Tensor> {
        match approximation {
            GeluApproximation::None => activate(Gelu, self),
            GeluApproximation::Tanh => activate(TanhGelu, self),
        }
    }

    /// Returns each element times its logistic function, also called swish.
    pub fn silu(&self) -> Result<Tensor> {
        activate(Silu, self)
    }

    /// Replaces each element by its [`silu`](Tensor::silu).
    pub fn silu_(&self) -> Result<&Tensor> {
        activate_inplace(Silu, "silu_", self)
    }

    /// Returns `ln(1 + exp(beta * x)) / beta` of each element x, and x itself where `beta * x` is above `threshold`.
    pub fn softplus(&self, beta: f64, threshold: f64) -> Result<Tensor> {
        activate(Softplus { beta, threshold }, self)
    }

    /// Returns the logarithm of the logistic function of each element.
    pub fn log_sigmoid(&self) -> Result<Tensor> {
        activate(LogSigmoid, self)
    }

    /// Returns each element x, or `alpha * (exp(x) - 1)` where x is not positive.
    pub fn elu(&self, alpha: f64) -> Result<Tensor> {
        activate(Elu { alpha }, self)
    }

    /// Replaces each element by its [`elu`](Tensor::elu).
    pub fn elu_(&self, alpha: f64) -> Result<&Tensor> {
        activate_inplace(Elu { alpha }, "elu_", self)
    }

    /// Returns each element, multiplied by `slope` where it is not positive.
    pub fn leaky_relu(&self, slope: f64) -> Result<Tensor> {
        activate(LeakyRelu { slope }, self)
    }

    /// Replaces each element by its [`leaky_relu`](Tensor::leaky_relu).
    pub fn leaky_relu_(&self, slope: f64) -> Result<&Tensor> {
        activate_inplace(LeakyRelu { slope }, "leaky_relu_", self)
    }

    /// Returns each element, or 0 if it is negative. The gradient at 0 is 0; NaN is preserved.
    pub fn relu(&self) -> Result<Tensor> {
        let op = "relu";
        check_numeric(op, "input", self.dtype(), "; long() converts it")?;
        let out = dispatch_compute!(self.dtype(), T => {
            let zero = T::default();
            iterate::map("relu", self, move |value: T| if value < zero { zero } else { value })
        })?;
        let record =
            UnaryRecord { node: "ReluBackward0", saved: Saved::Output, gradient: threshold_backward };
        record.set_history(self, &out)?;
        Ok(out)
    }

    /// Replaces each negative element by 0.
    pub fn relu_(&self) -> Result<&Tensor> {
        let op = "relu_";
        check_numeric(op, "input", self.dtype(), "; long() converts it")?;
        let work = |builder: Option<&mut NodeBuilder>| {
            let out = self.detach().relu()?;
            if let Some(builder) = builder {
                // The version of the tensor itself changes.
                builder.save(&out)?;
            }
            iterate::copy_into(op, self, &out)
        };
        self.run_inplace(op, "ReluBackward0", &[], work, |ctx, gradient| {
            Ok(vec![ctx.gradient(0, || threshold_backward(gradient, &ctx.saved(0)?))?])
        })
    }
}

/// Returns `gradient` where `output` is not 0: ATen's `threshold_backward`. It depends on `output` with gradient 0,
/// so that a recorded backward pass can be differentiated again.
fn threshold_backward(gradient: &Tensor, output: &Tensor) -> Result<Tensor> {
    let op = "threshold_backward";
    let out = dispatch_compute!(gradient.dtype(), T => {
        let zero = T::default();
        iterate::zip(op, (gradient.dtype(), gradient.shape()), gradient, &output.detach(), move |gradient: T, output: T| {
            if output <= zero { zero } else { gradient }
        })
    })?;
    if let Some(mut builder) = NodeBuilder::new("ThresholdBackwardBackward0", &[gradient, output])? {
        let saved = builder.save_for(0, output)?;
        builder.set_history(&out, move |ctx, second| {
            Ok(vec![
                ctx.gradient(0, || threshold_backward(second, &ctx.saved(saved)?))?,
                ctx.gradient(1, || Tensor::zeros(second.shape(), second.options()))?,
            ])
        })?;
    }
    Ok(out)
}
