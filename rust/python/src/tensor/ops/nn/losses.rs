//! Loss functions. Those of `interlock.nn.functional` that accept deprecated arguments call these.

use interlock_tensor::{ClassLossOptions, Reduction, Result, Tensor as CoreTensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::tensor::operation::{Choice, Float, tensor_op};

/// Return the cross entropy of logits for target classes, or for probabilities of the classes.
///
/// The loss of a sample is `-weight[target] * log_softmax(input)[target]`. A target with probabilities has the loss
/// `-sum(weight * target * log_softmax(input))`.
///
/// Args:
///     input: Logits of shape [classes], [samples, classes] or [samples, classes, ...], floating point.
///     target: Class indices, int64 or uint8, of the shape of `input` without the dimension of classes; or
///         probabilities of the shape of `input`, floating point.
///     weight: A weight for each class, of shape [classes] and of the dtype of `input`, or None.
///     ignore_index: The class index of samples that do not count. For probabilities it must be negative.
///     reduction: "sum" of the losses, "none" for the loss of each sample, or "mean": the sum, divided by the sum of
///         the weights of the target classes, or by the number of samples if targets are probabilities.
///     label_smoothing: The share from 0 to 1 of the uniform distribution with which targets are mixed, from Szegedy et
///         al., "Rethinking the Inception Architecture for Computer Vision" (2016).
///
/// Returns:
///     A tensor of the shape of class indices if `reduction` is "none", else a 0-d tensor.
///
/// Raises:
///     IndexError: An index in `target` is not a class. On a device this error is reported asynchronously.
///     ShapeError: The shapes are incompatible.
///     DTypeError: `input` is not floating point, or another tensor has a wrong dtype.
///     ArgumentError: `label_smoothing` is not from 0 to 1, or `weight` requires grad.
///
/// Example:
///     >>> interlock.cross_entropy(interlock.zeros(2, 3), interlock.tensor([0, 2]))
///     tensor(1.0986)
#[tensor_op(function, example = "x, classes, label_smoothing=0.1; square, rows")]
fn cross_entropy(
    input: &CoreTensor,
    target: &CoreTensor,
    weight: Option<&CoreTensor>,
    #[keyword(default = -100)] ignore_index: i64,
    #[default(Reduction::Mean, "'mean'")] reduction: Reduction,
    #[default(Float::new(0.0), "0.0")] label_smoothing: Float,
) -> Result<CoreTensor> {
    let options = ClassLossOptions { weight, ignore_index, reduction };
    input.cross_entropy(target, &options, label_smoothing.get())
}

/// Return the negative log-likelihood of target classes, `-weight[target] * input[target]` of each sample.
///
/// Args:
///     input: Log-probabilities of shape [classes], [samples, classes] or [samples, classes, ...], floating point.
///     target: Class indices, int64 or uint8, of the shape of `input` without the dimension of classes.
///     weight: A weight for each class, of shape [classes] and of the dtype of `input`, or None.
///     ignore_index: The class index of samples that do not count.
///     reduction: "sum" of the losses, "none" for the loss of each sample, or "mean": the sum, divided by the sum of
///         the weights of the target classes.
///
/// Returns:
///     A tensor of the shape of `target` if `reduction` is "none", else a 0-d tensor.
///
/// Raises:
///     IndexError: An index in `target` is not a class. On a device this error is reported asynchronously.
///     ShapeError: The shapes are incompatible.
///     DTypeError: `input` is not floating point, `target` is not int64 or uint8, or `weight` has another dtype than
///         `input`.
///     ArgumentError: `weight` requires grad.
///
/// Example:
///     >>> x = interlock.tensor([[0.0, 1.0]])
///     >>> functional.nll_loss(functional.log_softmax(x, 1), interlock.tensor([0]))
///     tensor(1.3133)
#[tensor_op(function, namespace = "nn.functional", example = "x.log_softmax(1), classes")]
fn nll_loss(
    input: &CoreTensor,
    target: &CoreTensor,
    weight: Option<&CoreTensor>,
    #[keyword(default = -100)] ignore_index: i64,
    #[default(Reduction::Mean, "'mean'")] reduction: Reduction,
) -> Result<CoreTensor> {
    input.nll_loss(target, &ClassLossOptions { weight, ignore_index, reduction })
}

/// Return the binary cross entropy of probabilities.
///
/// The loss of a probability x for the target t is `-t * log(x) - (1 - t) * log(1 - x)`. Logarithms are at least -100,
/// so that losses are finite.
///
/// Args:
///     input: Probabilities from 0 to 1, floating point.
///     target: Probabilities from 0 to 1, of the shape and dtype of `input`.
///     weight: Factors of the losses, which are broadcast to the shape of `input`, or None.
///     reduction: "mean" or "sum" of the losses, or "none" for the loss of each element.
///
/// Returns:
///     A tensor of the shape of `input` if `reduction` is "none", else a 0-d tensor.
///
/// Raises:
///     ArgumentError: An element is not from 0 to 1, or `weight` requires grad. On a device an error of the elements is
///         reported asynchronously.
///     ShapeError: The shapes are incompatible.
///     DTypeError: `input` is not floating point, or `target` has another dtype.
///
/// Example:
///     >>> functional.binary_cross_entropy(interlock.tensor([0.5, 0.9]), interlock.tensor([0.0, 1.0]))
///     tensor(0.3993)
#[tensor_op(function, namespace = "nn.functional", example = "(x / 2).to(x.dtype), (z / 2).to(x.dtype)")]
fn binary_cross_entropy(
    input: &CoreTensor,
    target: &CoreTensor,
    weight: Option<&CoreTensor>,
    #[keyword(default = Reduction::Mean, "'mean'")] reduction: Reduction,
) -> Result<CoreTensor>;

/// Return the binary cross entropy of the logistic function of logits, also where that underflows.
///
/// The loss of a logit x for the target t is `-p * t * log(s) - (1 - t) * log(1 - s)` with `s = sigmoid(x)` and p from
/// `pos_weight`.
///
/// Args:
///     input: Logits, floating point.
///     target: Probabilities of the shape of `input`, floating point.
///     weight: Factors of the losses, which are broadcast to the shape of `input`, or None.
///     pos_weight: Factors of the losses of targets of 1, which are broadcast to the shape of `input`, or None.
///     reduction: "mean" or "sum" of the losses, or "none" for the loss of each element.
///
/// Returns:
///     A tensor of the shape of `input` if `reduction` is "none", else a 0-d tensor.
///
/// Raises:
///     ArgumentError: `weight` or `pos_weight` requires grad.
///     ShapeError: The shapes are incompatible.
///     DTypeError: `input` or `target` is not floating point.
///
/// Example:
///     >>> x, y = interlock.tensor([0.0, 1000.0]), interlock.tensor([1.0, 1.0])
///     >>> functional.binary_cross_entropy_with_logits(x, y, reduction="none")
///     tensor([0.6931, 0.0000])
#[tensor_op(function, namespace = "nn.functional", example = "x, z / 2")]
fn binary_cross_entropy_with_logits(
    input: &CoreTensor,
    target: &CoreTensor,
    weight: Option<&CoreTensor>,
    #[keyword] pos_weight: Option<&CoreTensor>,
    #[default(Reduction::Mean, "'mean'")] reduction: Reduction,
) -> Result<CoreTensor>;

/// Return the squared error: the squares of the differences of two tensors.
///
/// Args:
///     input: A tensor.
///     target: A tensor that is broadcast to the shape of `input`, or the reverse. One of the two is floating point.
///     weight: Factors of the squares, of the shape of `input`, or None.
///     reduction: "sum" of the squares, "none" for each of them, or "mean": the sum, divided by the number of squares,
///         or by the sum of the weights.
///
/// Returns:
///     A tensor of the broadcast shape if `reduction` is "none", else a 0-d tensor.
///
/// Raises:
///     DTypeError: No tensor is floating point.
///     ShapeError: The shapes are incompatible.
///
/// Example:
///     >>> functional.mse_loss(interlock.tensor([1.0, 3.0]), interlock.zeros(2))
///     tensor(5.)
#[tensor_op(function, namespace = "nn.functional", example = "x, 2 * z")]
fn mse_loss(
    input: &CoreTensor,
    target: &CoreTensor,
    weight: Option<&CoreTensor>,
    #[keyword(default = Reduction::Mean, "'mean'")] reduction: Reduction,
) -> Result<CoreTensor>;

/// Return the L1 loss: the absolute values of the differences of two tensors.
///
/// Args:
///     input: A tensor, of any dtype except bool.
///     target: A tensor that is broadcast to the shape of `input`, or the reverse.
///     weight: Factors of the absolute values, of the shape of `input`, or None.
///     reduction: "sum" of the absolute values, "none" for each of them, or "mean": the sum, divided by the number of
///         absolute values, or by the sum of the weights. Integers have no mean.
///
/// Returns:
///     A tensor of the broadcast shape if `reduction` is "none", else a 0-d tensor.
///
/// Raises:
///     DTypeError: The tensors are bool, or integers with `reduction` "mean".
///     ShapeError: The shapes are incompatible.
///
/// Example:
///     >>> functional.l1_loss(interlock.tensor([1.0, -3.0]), interlock.zeros(2))
///     tensor(2.)
#[tensor_op(function, namespace = "nn.functional", example = "x, 2 * z, reduction='sum'")]
fn l1_loss(
    input: &CoreTensor,
    target: &CoreTensor,
    weight: Option<&CoreTensor>,
    #[keyword(default = Reduction::Mean, "'mean'")] reduction: Reduction,
) -> Result<CoreTensor>;

impl Choice for Reduction {
    const ANNOTATION: &'static str = "Literal['mean', 'sum', 'none']";
    const CHOICES: &'static [(&'static str, Self)] =
        &[("none", Reduction::None), ("mean", Reduction::Mean), ("sum", Reduction::Sum)];
    const ALLOWED: &'static str = "'none', 'mean' or 'sum'";

    /// As in PyTorch.
    fn error(_py: Python<'_>, message: String) -> PyErr {
        PyValueError::new_err(message)
    }
}
