//! Functions that return attributes of a tensor, or change its attributes of autograd.

use pyo3::prelude::*;

use super::Tensor;
use super::args::{extract_object, extract_tensor};
use crate::context::sync;
use crate::errors::IntoPyResult;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(numel, module)?)?;
    module.add_function(wrap_pyfunction!(is_floating_point, module)?)?;
    module.add_function(wrap_pyfunction!(is_signed, module)?)?;
    module.add_function(wrap_pyfunction!(detach_, module)?)
}

/// Return the number of elements.
///
/// Args:
///     input: The tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.numel(interlock.zeros(2, 3))
///     6
#[pyfunction]
fn numel(input: &Bound<'_, PyAny>) -> PyResult<usize> {
    Ok(extract_tensor("numel: input", input)?.numel())
}

/// Return whether the elements are floating-point numbers.
///
/// Args:
///     input: The tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.is_floating_point(interlock.zeros(2))
///     True
#[pyfunction]
fn is_floating_point(input: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(extract_tensor("is_floating_point: input", input)?.dtype().is_floating_point())
}

/// Return whether the elements can be negative.
///
/// Args:
///     input: The tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.is_signed(interlock.zeros(2, dtype=interlock.uint8))
///     False
#[pyfunction]
fn is_signed(input: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(extract_tensor("is_signed: input", input)?.dtype().is_signed())
}

/// Remove the history of a tensor in place: it becomes a leaf that does not require grad.
///
/// Args:
///     input: The tensor.
///
/// Returns:
///     `input` itself.
///
/// Raises:
///     ArgumentError: The tensor is a view, which shares the history of its base.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.ones(2, requires_grad=True) * 2
///     >>> interlock.detach_(x).is_leaf
///     True
#[pyfunction]
fn detach_<'py>(input: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Tensor>> {
    let tensor = extract_object("detach_: input", input)?;
    sync(input.py());
    tensor.get().0.detach_().into_py_result(input.py())?;
    Ok(tensor)
}
