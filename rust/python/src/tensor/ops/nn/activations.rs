//! Activation functions.

use interlock_tensor::{GeluApproximation, Result, Tensor as CoreTensor};

use crate::tensor::operation::{Choice, Float, tensor_op};

/// Return each element times the probability that a standard normal variable is at most the element.
///
/// `x * (1 + erf(x / sqrt(2))) / 2`, from Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)" (2016). The
/// approximation is `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))`.
///
/// Args:
///     {floating}
///     approximate: "none", or "tanh" for the approximation.
///
/// Raises:
///     ArgumentError: `approximate` has another value.
///
/// Example:
///     >>> functional.gelu(interlock.tensor([-1.0, 0.0, 1.0]))
///     tensor([-0.1587,  0.0000,  0.8413])
#[tensor_op(function, out(exact), namespace = "nn.functional", example = "x - 1; x - 1, 'tanh'")]
fn gelu(
    input: &CoreTensor,
    #[default(GeluApproximation::None, "'none'")] approximate: GeluApproximation,
) -> Result<CoreTensor>;

/// Return each element times its logistic function, `x / (1 + exp(-x))`, also called swish.
///
/// Args:
///     {floating}
///
/// Example:
///     >>> functional.silu(interlock.tensor([-1.0, 0.0, 1.0]))
///     tensor([-0.2689,  0.0000,  0.7311])
#[tensor_op(function, or_self, namespace = "nn.functional", example = "x - 1; x - 1, True")]
fn silu(input: &CoreTensor, #[default(false)] inplace: bool) -> Result<CoreTensor> {
    if inplace { input.silu_().cloned() } else { input.silu() }
}

/// Return each element x, or `alpha * (exp(x) - 1)` where x is not positive.
///
/// From Clevert et al., "Fast and Accurate Deep Network Learning by Exponential Linear Units (ELUs)" (2015).
///
/// Args:
///     {floating}
///     alpha: The limit for negative elements is `-alpha`.
///
/// Example:
///     >>> functional.elu(interlock.tensor([-1.0, 0.0, 1.0]))
///     tensor([-0.6321,  0.0000,  1.0000])
#[tensor_op(function, or_self, namespace = "nn.functional", example = "x - 1; x - 1, 2.0; x - 1, 0.5, True")]
fn elu(
    input: &CoreTensor,
    #[default(1.0)] alpha: f64,
    #[default(false)] inplace: bool,
) -> Result<CoreTensor> {
    if inplace { input.elu_(alpha).cloned() } else { input.elu(alpha) }
}

/// Return each element, multiplied by a slope where it is not positive.
///
/// Args:
///     {floating}
///     negative_slope: The slope.
///
/// Example:
///     >>> functional.leaky_relu(interlock.tensor([-1.0, 0.0, 1.0]))
///     tensor([-0.0100,  0.0000,  1.0000])
#[tensor_op(function, or_self, namespace = "nn.functional", example = "x - 1; x - 1, 0.5; x - 1, 0.5, True")]
fn leaky_relu(
    input: &CoreTensor,
    #[default(0.01)] negative_slope: f64,
    #[default(false)] inplace: bool,
) -> Result<CoreTensor> {
    if inplace { input.leaky_relu_(negative_slope).cloned() } else { input.leaky_relu(negative_slope) }
}

/// Return a smooth form of `relu`, `log(1 + exp(beta * x)) / beta` of each element x.
///
/// Args:
///     {floating}
///     beta: The sharpness. The result approaches `relu` as it grows.
///     threshold: Elements x with `beta * x` above it are returned as they are.
///
/// Example:
///     >>> functional.softplus(interlock.tensor([-1.0, 0.0, 30.0]))
///     tensor([ 0.3133,  0.6931, 30.0000])
#[tensor_op(function, out(exact), namespace = "nn.functional", example = "x - 1, 2, 0.5")]
fn softplus(
    input: &CoreTensor,
    #[default(Float::new(1.0), "1")] beta: Float,
    #[default(Float::new(20.0), "20")] threshold: Float,
) -> Result<CoreTensor>;

/// Return the logarithm of the logistic function of each element, `-log(1 + exp(-x))`.
///
/// It is accurate also where the logistic function underflows.
///
/// Args:
///     {floating}
///
/// Example:
///     >>> functional.logsigmoid(interlock.tensor([-1000.0, 0.0]))
///     tensor([-1.0000e+03, -6.9315e-01])
#[tensor_op(function, out(exact), namespace = "nn.functional", example = "x - 1")]
fn logsigmoid(input: &CoreTensor) -> Result<CoreTensor> {
    input.log_sigmoid()
}

impl Choice for GeluApproximation {
    const ANNOTATION: &'static str = "Literal['none', 'tanh']";
    const CHOICES: &'static [(&'static str, Self)] =
        &[("none", GeluApproximation::None), ("tanh", GeluApproximation::Tanh)];
    const ALLOWED: &'static str = "'none' or 'tanh'";
}
