//! Gradients in the shape, type and device of what they belong to.

use crate::error::Tuple;
use crate::layout::is_expandable_to;
use crate::ops::conversion::transfer::to_device;
use crate::ops::reduction::sums::sum_to;
use crate::tensor::{Edge, GradDType, GradientKind};
use crate::{Error, ErrorKind, Result, Tensor};

/// Returns the shape, type and device of the gradient of an edge.
pub(super) fn kind(edge: &Edge) -> GradientKind<'_> {
    GradientKind { shape: edge.shape(), dtype: edge.dtype(), device: edge.device() }
}

/// Converts a gradient that `source` has computed to the shape, type and device of the tensor that it belongs to.
pub(super) fn convert(source: &str, edge: &Edge, gradient: &Tensor) -> Result<Tensor> {
    let grad_dtype = match edge {
        Edge::Leaf(_) => GradDType::OfResult,
        Edge::Node(grad_fn) => grad_fn.result().grad_dtype,
    };
    let (shape, given) = (edge.shape(), gradient.shape());
    if given != shape && !is_expandable_to(given, shape) {
        return Err(err_incompatible(source, shape, given));
    }
    let gradient = sum_to(gradient, shape)?;
    let gradient = match grad_dtype {
        GradDType::OfResult => gradient.cast(edge.dtype())?,
        GradDType::As(dtype) => gradient.cast(dtype)?,
        GradDType::Any => gradient,
    };
    to_device(edge.device(), gradient)
}

/// Returns a tensor with its current data, and its gradient in the dtype and on the device of them. Returns an error if the
/// tensor had data of another shape when an operation used it.
pub(super) fn of_current_data(tensor: &Tensor, gradient: Tensor) -> Result<(Tensor, Tensor)> {
    let Some(tensor) = tensor.replaced() else { return Ok((tensor.clone(), gradient)) };
    Error::when(gradient.shape() != tensor.shape(), || err_replaced(tensor.shape(), &gradient))?;
    let gradient = to_device(tensor.device(), gradient.cast(tensor.dtype())?)?;
    Ok((tensor, gradient))
}

/// Returns the error for a gradient that cannot be reduced to the shape of the tensor that it belongs to.
#[cold]
fn err_incompatible(source: &str, expected: &[usize], given: &[usize]) -> Error {
    let (expected, given) = (Tuple(expected), Tuple(given));
    let message = format!(
        "a gradient must be of shape {expected}, or have more dimensions to sum over, got {given}: a hook or backward() \
         has resized a gradient, or the data of a tensor was replaced"
    );
    Error::of(source, ErrorKind::Shape, message)
}

/// Returns the error for a gradient that does not have the shape of the tensor that it belongs to.
fn err_replaced(shape: &[usize], gradient: &Tensor) -> Error {
    let argument = "the gradient of a tensor whose data was replaced";
    Error::shape("backward", argument, format!("be of shape {}", Tuple(shape)), gradient.shape())
}
