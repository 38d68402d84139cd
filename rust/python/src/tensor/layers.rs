//! Functions of layers: layer normalization and dropout.

use interlock_tensor::Tensor as CoreTensor;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::args::{
    OptionalArg, checked_sizes, extract_float, extract_int_or_ints, extract_optional_tensor, extract_tensor,
};
use super::inplace::{PySelf, run_inplace};
use super::{Tensor, run_op, work_size};
use crate::errors::{new_type_error, shown};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(layer_norm, module)?)?;
    module.add_function(wrap_pyfunction!(dropout, module)?)
}

fn eps(given: &Bound<'_, PyAny>) -> PyResult<f64> {
    extract_float("layer_norm: eps", given)
}

/// Extracts the argument `normalized_shape` of `layer_norm`.
fn normalized_shape(given: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let what = "layer_norm: normalized_shape";
    if !given.is_instance_of::<PyTuple>() && !given.is_instance_of::<PyList>() {
        return Err(new_type_error(what, "a tuple or list of ints", given));
    }
    checked_sizes(given.py(), what, &extract_int_or_ints(what, given)?)
}

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
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> functional.layer_norm(interlock.tensor([[1.0, 3.0], [0.0, 8.0]]), (2,))
///     tensor([[-1.0000,  1.0000],
///             [-1.0000,  1.0000]])
#[pyfunction]
#[pyo3(signature = (input, normalized_shape, weight = None, bias = None, eps = 1e-5))]
fn layer_norm(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = self::normalized_shape)] normalized_shape: Vec<usize>,
    weight: OptionalArg<'_, '_>,
    bias: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = self::eps)] eps: f64,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("layer_norm: input", input)?;
    let weight = extract_optional_tensor("layer_norm: weight", weight)?;
    let bias = extract_optional_tensor("layer_norm: bias", bias)?;
    run_op(input.py(), "layer_norm", work_size(&tensor), || {
        tensor.layer_norm(&normalized_shape, weight.as_ref(), bias.as_ref(), eps)
    })
}

/// Extracts the argument `p` of `dropout`.
fn probability(given: &Bound<'_, PyAny>) -> PyResult<f64> {
    let p = extract_float("dropout: p", given)?;
    if (0.0..=1.0).contains(&p) {
        return Ok(p);
    }
    Err(PyValueError::new_err(format!("dropout: p must be from 0 to 1, got {}", shown(given)?)))
}

/// Set each element to 0 with a probability, and divide the others by the probability of keeping them.
///
/// The elements are drawn from the generator that `manual_seed` seeds: after one seed they are the same on every
/// device. From Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting" (2014).
///
/// Args:
///     input: A floating-point tensor.
///     p: The probability of 0.
///     training: Whether elements are dropped. Otherwise `input` itself is returned.
///     inplace: Whether `input` itself is changed and returned.
///
/// Returns:
///     A tensor of the shape and dtype of `input`, or `input` itself if `training` is False or `p` is 0.
///
/// Raises:
///     ValueError: `p` is not from 0 to 1.
///     DTypeError: `input` is not floating point.
///     RuntimeError: `inplace` is True for a leaf that requires grad while gradients are enabled, or for a tensor whose
///         elements overlap.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> x = functional.dropout(interlock.ones(1000), p=0.75)
///     >>> set(x.tolist()) == {0.0, 4.0}
///     True
///     >>> functional.dropout(interlock.ones(3), training=False)
///     tensor([1., 1., 1.])
#[pyfunction]
#[pyo3(signature = (input, p = 0.5, training = true, inplace = false))]
fn dropout<'py>(
    input: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = probability)] p: f64,
    #[pyo3(from_py_with = switches::dropout::training)] training: bool,
    #[pyo3(from_py_with = switches::dropout::inplace)] inplace: bool,
) -> PySelf<'py> {
    let Ok(object) = input.cast::<Tensor>() else {
        return Err(new_type_error("dropout: input", "a Tensor", input));
    };
    if !training || p == 0.0 {
        return Ok(object.clone());
    }
    if inplace {
        return run_inplace("dropout", object.clone(), &|target| target.dropout_(p).map(drop));
    }
    let tensor: &CoreTensor = &object.get().0;
    Bound::new(input.py(), run_op(input.py(), "dropout", work_size(tensor), || tensor.dropout(p))?)
}
