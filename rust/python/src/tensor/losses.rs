//! Loss functions. Those of `interlock.nn.functional` that accept deprecated arguments call these.

use interlock_tensor::{ClassLossOptions, Reduction, Tensor as CoreTensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::args::{Arg, OptionalArg, extract_float, extract_int, extract_optional_tensor, extract_tensor};
use super::{Tensor, run_op, work_size, work_size_of};
use crate::errors::{new_type_error, shown};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(nll_loss, module)?)?;
    module.add_function(wrap_pyfunction!(cross_entropy, module)?)?;
    module.add_function(wrap_pyfunction!(binary_cross_entropy, module)?)?;
    module.add_function(wrap_pyfunction!(binary_cross_entropy_with_logits, module)?)?;
    module.add_function(wrap_pyfunction!(mse_loss, module)?)?;
    module.add_function(wrap_pyfunction!(l1_loss, module)?)
}

fn extract_reduction(what: &str, given: Arg<'_, '_>) -> PyResult<Reduction> {
    let Ok(name) = given.cast::<PyString>() else { return Err(new_type_error(what, "a str", given)) };
    match &*name.to_string_lossy() {
        "none" => Ok(Reduction::None),
        "mean" => Ok(Reduction::Mean),
        "sum" => Ok(Reduction::Sum),
        _ => {
            let message = format!("{what} must be 'none', 'mean' or 'sum', got {}", shown(name)?);
            Err(PyValueError::new_err(message))
        }
    }
}

/// Defines an extractor of the argument `reduction` for each function.
macro_rules! reductions {
    ($($function:ident)+) => {
        mod reduction_of {
            use super::{Arg, PyResult, Reduction, extract_reduction};

            $(pub(super) fn $function(given: Arg<'_, '_>) -> PyResult<Reduction> {
                extract_reduction(concat!(stringify!($function), ": reduction"), given)
            })+
        }
    };
}

reductions! { nll_loss cross_entropy binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss }

/// Extracts the input and the target of a loss function.
fn extract_pair(function: &str, input: Arg<'_, '_>, target: Arg<'_, '_>) -> PyResult<[CoreTensor; 2]> {
    Ok([
        extract_tensor(&format!("{function}: input"), input)?,
        extract_tensor(&format!("{function}: target"), target)?,
    ])
}

fn nll_ignore_index(given: Arg<'_, '_>) -> PyResult<i64> {
    extract_int("nll_loss: ignore_index", given)
}

fn ignore_index(given: Arg<'_, '_>) -> PyResult<i64> {
    extract_int("cross_entropy: ignore_index", given)
}

fn label_smoothing(given: Arg<'_, '_>) -> PyResult<f64> {
    extract_float("cross_entropy: label_smoothing", given)
}

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
///     ValueError: `reduction` has another value.
///
/// Example:
///     >>> import interlock
///     >>> interlock.cross_entropy(interlock.zeros(2, 3), interlock.tensor([0, 2]))
///     tensor(1.0986)
#[pyfunction]
#[pyo3(
    signature = (input, target, weight = None, *, ignore_index = -100, reduction = Reduction::Mean, label_smoothing = 0.0),
    text_signature = "(input, target, weight=None, *, ignore_index=-100, reduction='mean', label_smoothing=0.0)"
)]
fn cross_entropy(
    input: Arg<'_, '_>,
    target: Arg<'_, '_>,
    weight: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = self::ignore_index)] ignore_index: i64,
    #[pyo3(from_py_with = reduction_of::cross_entropy)] reduction: Reduction,
    #[pyo3(from_py_with = self::label_smoothing)] label_smoothing: f64,
) -> PyResult<Tensor> {
    let [scores, target] = extract_pair("cross_entropy", input, target)?;
    let weight = extract_optional_tensor("cross_entropy: weight", weight)?;
    run_op(input.py(), "cross_entropy", work_size(&scores), || {
        let options = ClassLossOptions { weight: weight.as_ref(), ignore_index, reduction };
        scores.cross_entropy(&target, &options, label_smoothing)
    })
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
///     ValueError: `reduction` has another value.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> x = interlock.tensor([[0.0, 1.0]])
///     >>> functional.nll_loss(functional.log_softmax(x, 1), interlock.tensor([0]))
///     tensor(1.3133)
#[pyfunction]
#[pyo3(
    signature = (input, target, weight = None, *, ignore_index = -100, reduction = Reduction::Mean),
    text_signature = "(input, target, weight=None, *, ignore_index=-100, reduction='mean')"
)]
fn nll_loss(
    input: Arg<'_, '_>,
    target: Arg<'_, '_>,
    weight: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = nll_ignore_index)] ignore_index: i64,
    #[pyo3(from_py_with = reduction_of::nll_loss)] reduction: Reduction,
) -> PyResult<Tensor> {
    let [scores, target] = extract_pair("nll_loss", input, target)?;
    let weight = extract_optional_tensor("nll_loss: weight", weight)?;
    run_op(input.py(), "nll_loss", work_size(&scores), || {
        scores.nll_loss(&target, &ClassLossOptions { weight: weight.as_ref(), ignore_index, reduction })
    })
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
///     ValueError: `reduction` has another value.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> functional.binary_cross_entropy(interlock.tensor([0.5, 0.9]), interlock.tensor([0.0, 1.0]))
///     tensor(0.3993)
#[pyfunction]
#[pyo3(
    signature = (input, target, weight = None, *, reduction = Reduction::Mean),
    text_signature = "(input, target, weight=None, *, reduction='mean')"
)]
fn binary_cross_entropy(
    input: Arg<'_, '_>,
    target: Arg<'_, '_>,
    weight: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = reduction_of::binary_cross_entropy)] reduction: Reduction,
) -> PyResult<Tensor> {
    let [tensor, target] = extract_pair("binary_cross_entropy", input, target)?;
    let weight = extract_optional_tensor("binary_cross_entropy: weight", weight)?;
    let operation = || tensor.binary_cross_entropy(&target, weight.as_ref(), reduction);
    run_op(input.py(), "binary_cross_entropy", work_size_of(&[&tensor, &target]), operation)
}

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
///     ValueError: `reduction` has another value.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> x, y = interlock.tensor([0.0, 1000.0]), interlock.tensor([1.0, 1.0])
///     >>> functional.binary_cross_entropy_with_logits(x, y, reduction="none")
///     tensor([0.6931, 0.0000])
#[pyfunction]
#[pyo3(
    signature = (input, target, weight = None, *, pos_weight = None, reduction = Reduction::Mean),
    text_signature = "(input, target, weight=None, *, pos_weight=None, reduction='mean')"
)]
fn binary_cross_entropy_with_logits(
    input: Arg<'_, '_>,
    target: Arg<'_, '_>,
    weight: OptionalArg<'_, '_>,
    pos_weight: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = reduction_of::binary_cross_entropy_with_logits)] reduction: Reduction,
) -> PyResult<Tensor> {
    let function = "binary_cross_entropy_with_logits";
    let [logits, target] = extract_pair(function, input, target)?;
    let weight = extract_optional_tensor(&format!("{function}: weight"), weight)?;
    let pos_weight = extract_optional_tensor(&format!("{function}: pos_weight"), pos_weight)?;
    run_op(input.py(), "binary_cross_entropy_with_logits", work_size_of(&[&logits, &target]), || {
        logits.binary_cross_entropy_with_logits(&target, weight.as_ref(), pos_weight.as_ref(), reduction)
    })
}

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
///     ValueError: `reduction` has another value.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> functional.mse_loss(interlock.tensor([1.0, 3.0]), interlock.zeros(2))
///     tensor(5.)
#[pyfunction]
#[pyo3(
    signature = (input, target, weight = None, *, reduction = Reduction::Mean),
    text_signature = "(input, target, weight=None, *, reduction='mean')"
)]
fn mse_loss(
    input: Arg<'_, '_>,
    target: Arg<'_, '_>,
    weight: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = reduction_of::mse_loss)] reduction: Reduction,
) -> PyResult<Tensor> {
    let [tensor, target] = extract_pair("mse_loss", input, target)?;
    let weight = extract_optional_tensor("mse_loss: weight", weight)?;
    run_op(input.py(), "mse_loss", work_size_of(&[&tensor, &target]), || {
        tensor.mse_loss(&target, weight.as_ref(), reduction)
    })
}

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
///     ValueError: `reduction` has another value.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> functional.l1_loss(interlock.tensor([1.0, -3.0]), interlock.zeros(2))
///     tensor(2.)
#[pyfunction]
#[pyo3(
    signature = (input, target, weight = None, *, reduction = Reduction::Mean),
    text_signature = "(input, target, weight=None, *, reduction='mean')"
)]
fn l1_loss(
    input: Arg<'_, '_>,
    target: Arg<'_, '_>,
    weight: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = reduction_of::l1_loss)] reduction: Reduction,
) -> PyResult<Tensor> {
    let [tensor, target] = extract_pair("l1_loss", input, target)?;
    let weight = extract_optional_tensor("l1_loss: weight", weight)?;
    run_op(input.py(), "l1_loss", work_size_of(&[&tensor, &target]), || {
        tensor.l1_loss(&target, weight.as_ref(), reduction)
    })
}
