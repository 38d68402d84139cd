//! Dimensions that are added, removed, merged and divided.

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::{Ints, tensor_op};

/// Return a view with a new dimension of size 1.
///
/// Args:
///     dim: The position of the new dimension, from -ndim - 1 to ndim.
///
/// Raises:
///     IndexError: `dim` is out of range.
///
/// Example:
///     >>> interlock.unsqueeze(interlock.zeros(2, 3), 1).shape
///     (2, 1, 3)
#[tensor_op(function, method, view, example = "x, 1")]
fn unsqueeze(input: &CoreTensor, dim: i64) -> Result<CoreTensor>;

/// Return a view without dimensions of size 1.
///
/// Args:
///     dim: The dimension or dimensions to remove; those of other sizes stay. None means all of size 1.
///
/// Example:
///     >>> interlock.squeeze(interlock.zeros(1, 2, 1), (0, 1)).shape
///     (2, 1)
#[tensor_op(function, method, view, example = "x.reshape(2, 1, 3), 1")]
fn squeeze(input: &CoreTensor, dim: &Option<Ints>) -> Result<CoreTensor> {
    match dim.as_deref() {
        None => input.squeeze(None),
        Some(&[dim]) => input.squeeze(Some(dim)),
        Some(dims) => input.squeeze_dims(dims),
    }
}

/// Return the elements with some or all dimensions merged into one: a view if possible.
///
/// Args:
///     start_dim: The first of the merged dimensions.
///     end_dim: The last of the merged dimensions.
///
/// Returns:
///     The tensor itself if `start_dim` is `end_dim`.
///
/// Raises:
///     {no_dims}
///     ArgumentError: `end_dim` is before `start_dim`.
///
/// Example:
///     >>> interlock.flatten(interlock.zeros(2, 3, 4), 1).shape
///     (2, 12)
#[tensor_op(function, method, or_self, example = "x")]
fn flatten(
    input: &CoreTensor,
    #[default(0)] start_dim: i64,
    #[default(-1)] end_dim: i64,
) -> Result<CoreTensor> {
    input.flatten_dims(start_dim, end_dim)
}

/// Return a view with a dimension divided into several.
///
/// Args:
///     sizes: The sizes of the new dimensions. One may be -1, and is inferred.
///
/// Raises:
///     ShapeError: The sizes do not multiply to the size of the dimension, or the tensor has no dimensions.
///
/// Example:
///     >>> interlock.unflatten(interlock.zeros(2, 12), 1, (3, -1)).shape
///     (2, 3, 4)
#[tensor_op(function, method, view, example = "x, 1, (3, 1)")]
fn unflatten(input: &CoreTensor, dim: i64, sizes: &Ints) -> Result<CoreTensor>;

/// Return the elements in one dimension: a view if the tensor is contiguous, else a copy.
///
/// Example:
///     >>> interlock.ravel(interlock.zeros(2, 3)).shape
///     (6,)
#[tensor_op(function, method, example = "x")]
fn ravel(input: &CoreTensor) -> Result<CoreTensor>;
