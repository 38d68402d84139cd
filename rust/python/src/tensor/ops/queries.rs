//! What a tensor is.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use crate::tensor::Tensor;
use crate::tensor::operation::{WriteTo, tensor_op};

pub(in crate::tensor) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(is_tensor, module)?)
}

/// Return whether an object is a `Tensor`.
///
/// Args:
///     obj: Any object.
///
/// Example:
///     >>> import interlock
///     >>> interlock.is_tensor(interlock.zeros(2)), interlock.is_tensor([0.0])
///     (True, False)
#[pyfunction]
fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_instance_of::<Tensor>()
}

/// Return the number of elements.
///
/// Example:
///     >>> interlock.numel(interlock.zeros(2, 3))
///     6
#[tensor_op(function, method, attached, example = "x")]
fn numel(_py: Python<'_>, _op: &'static str, input: &CoreTensor) -> PyResult<usize> {
    Ok(input.numel())
}

/// Return the number of elements, as `numel`.
#[tensor_op(method, attached, example = "x")]
fn nelement(_py: Python<'_>, _op: &'static str, input: &CoreTensor) -> PyResult<usize> {
    Ok(input.numel())
}

/// Return whether the elements are floating-point numbers.
///
/// Example:
///     >>> interlock.is_floating_point(interlock.zeros(2))
///     True
#[tensor_op(function, method, attached, example = "x")]
fn is_floating_point(_py: Python<'_>, _op: &'static str, input: &CoreTensor) -> PyResult<bool> {
    Ok(input.dtype().is_floating_point())
}

/// Return whether the elements can be negative.
///
/// Example:
///     >>> interlock.is_signed(interlock.zeros(2, dtype=interlock.uint8))
///     False
#[tensor_op(function, method, attached, example = "x")]
fn is_signed(_py: Python<'_>, _op: &'static str, input: &CoreTensor) -> PyResult<bool> {
    Ok(input.dtype().is_signed())
}

/// Return whether a tensor was created in inference mode.
///
/// Example:
///     >>> interlock.is_inference(interlock.zeros(2))
///     False
#[tensor_op(function, method, attached, example = "x")]
fn is_inference(_py: Python<'_>, _op: &'static str, input: &CoreTensor) -> PyResult<bool> {
    Ok(input.is_inference())
}

/// Remove the history of a tensor in place: it becomes a leaf that does not require grad.
///
/// Raises:
///     ArgumentError: The tensor is a view, which shares the history of its base.
///
/// Example:
///     >>> x = interlock.ones(2, requires_grad=True) * 2
///     >>> x.detach_().is_leaf
///     True
#[tensor_op(inplace_function, view, example = "x")]
fn detach_(_to: WriteTo, input: &CoreTensor) -> Result<CoreTensor> {
    input.detach_()?;
    Ok(input.clone())
}
