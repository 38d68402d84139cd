//! Functions of layers: layer normalization and dropout.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::shown;
use crate::tensor::operation::{Arg, ArgumentName, Float, FromArgument, Sizes, is_list, tensor_op};

/// Normalize the elements of the last dimensions to a mean of 0 and a variance of 1.
///
/// `(x - mean) / sqrt(variance + eps) * weight + bias`, with the biased variance, from Ba, Kiros and Hinton, "Layer
/// Normalization" (2016).
///
/// Args:
///     input: A floating-point tensor of shape [..., *normalized_shape].
///     normalized_shape: The sizes of the last dimensions, as a tuple or list.
///     weight: Factors of shape `normalized_shape`, or None. Of the dtype of `input`, or float32 for float16 and
///         bfloat16.
///     bias: Summands of shape `normalized_shape`, or None. Of the dtype of `weight`.
///     eps: A number that is added to the variance.
///
/// Returns:
///     A tensor of the shape and dtype of `input`.
///
/// Raises:
///     DTypeError: `input` is not floating point, or a parameter has another dtype.
///     ShapeError: `normalized_shape` is empty or does not end the shape of `input`, or a parameter has another shape.
///     RuntimeError: The tensors are on different devices.
///
/// Example:
///     >>> functional.layer_norm(interlock.tensor([[1.0, 3.0], [0.0, 8.0]]), (2,))
///     tensor([[-1.0000,  1.0000],
///             [-1.0000,  1.0000]])
#[tensor_op(function, namespace = "nn.functional", example = "x, (3,), y, 2 * y")]
fn layer_norm(
    input: &CoreTensor,
    normalized_shape: &NormalizedShape,
    weight: Option<&CoreTensor>,
    bias: Option<&CoreTensor>,
    #[default(Float::new(1e-5), "1e-5")] eps: Float,
) -> Result<CoreTensor> {
    input.layer_norm(&normalized_shape.0, weight, bias, eps.get())
}

/// Set each element to 0 with a probability, and divide the others by the probability of keeping them.
///
/// The elements are drawn from the generator that `manual_seed` seeds: after one seed they are the same on every
/// device. From Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting" (2014).
///
/// Args:
///     {floating}
///     p: The probability of 0.
///     training: Whether elements are dropped. Otherwise `input` itself is returned.
///
/// Returns:
///     A tensor of the shape and dtype of `input`, or `input` itself if `training` is False or `p` is 0.
///
/// Raises:
///     ValueError: `p` is not from 0 to 1.
///
/// Example:
///     >>> x = functional.dropout(interlock.ones(1000), p=0.75)
///     >>> set(x.tolist()) == {0.0, 4.0}
///     True
///     >>> functional.dropout(interlock.ones(3), training=False)
///     tensor([1., 1., 1.])
#[tensor_op(function, or_self, namespace = "nn.functional", example = "x")]
fn dropout(
    input: &CoreTensor,
    #[default(Probability(0.5), "0.5")] p: Probability,
    #[default(true)] training: bool,
    #[default(false)] inplace: bool,
) -> Result<CoreTensor> {
    match p {
        Probability(p) if !training || p == 0.0 => Ok(input.clone()),
        Probability(p) if inplace => input.dropout_(p).cloned(),
        Probability(p) => input.dropout(p),
    }
}

/// The sizes of the last dimensions, as a tuple or list.
struct NormalizedShape(Sizes);

impl FromArgument<'_, '_> for NormalizedShape {
    const ANNOTATION: &'static str = "_Sizes";
    const WANTED: &'static str = "a tuple or list of ints";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        if !is_list(given) {
            return Ok(None);
        }
        Ok(Sizes::try_from_argument(name, given)?.map(NormalizedShape))
    }
}

/// A probability.
#[derive(Clone, Copy)]
struct Probability(f64);

impl FromArgument<'_, '_> for Probability {
    const ANNOTATION: &'static str = Float::ANNOTATION;
    const WANTED: &'static str = Float::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        let Some(p) = Float::try_from_argument(name, given)?.map(Float::get) else { return Ok(None) };
        if (0.0..=1.0).contains(&p) {
            return Ok(Some(Probability(p)));
        }
        Err(PyValueError::new_err(format!("{name} must be from 0 to 1, got {}", shown(given)?)))
    }
}
