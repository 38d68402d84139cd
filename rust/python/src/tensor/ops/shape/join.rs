//! Concatenations and stacks.

use interlock_tensor::{self as core, Result, Tensor as CoreTensor};

use crate::tensor::operation::{Tensors, tensor_op};

/// Concatenate tensors along a dimension.
///
/// Args:
///     tensors: An iterable of tensors whose sizes are equal except in `dim`. Tensors of shape [0] are skipped.
///     dim: The dimension that is concatenated.
///
/// Returns:
///     A tensor of the widest dtype of `tensors`.
///
/// Raises:
///     ShapeError: Other sizes differ, or a tensor has no dimensions.
///     IndexError: The tensors do not have dimension `dim`.
///
/// Example:
///     >>> interlock.cat([interlock.zeros(1), interlock.ones(2)])
///     tensor([0., 1., 1.])
#[tensor_op(function, out, size = tensors.work_size(), example = "[x, z]")]
fn cat(tensors: &Tensors, #[default(0)] dim: i64) -> Result<CoreTensor> {
    core::cat(tensors, dim)
}

/// Stack tensors along a new dimension.
///
/// Args:
///     tensors: The tensors, as an iterable. Their shapes must be equal.
///     dim: The position of the new dimension; its size is the number of tensors.
///
/// Returns:
///     A tensor of the widest dtype of `tensors`.
///
/// Raises:
///     ShapeError: The shapes differ.
///     IndexError: The result does not have dimension `dim`.
///
/// Example:
///     >>> interlock.stack([interlock.tensor([1, 2]), interlock.tensor([3, 4])], dim=1)
///     tensor([[1, 3],
///             [2, 4]])
#[tensor_op(function, out, size = tensors.work_size(), example = "[x, z], 1")]
fn stack(tensors: &Tensors, #[default(0)] dim: i64) -> Result<CoreTensor> {
    core::stack(tensors, dim)
}

/// Concatenate tensors along the second dimension, or along the only one of vectors.
///
/// Returns:
///     A tensor of the widest dtype of `tensors`.
///
/// Raises:
///     ShapeError: The other sizes differ.
///
/// Example:
///     >>> interlock.hstack([interlock.tensor([1, 2]), interlock.tensor([3])])
///     tensor([1, 2, 3])
#[tensor_op(function, out, size = tensors.work_size(), example = "[x, z]")]
fn hstack(tensors: &Tensors) -> Result<CoreTensor> {
    core::hstack(tensors)
}

/// Concatenate tensors along the first dimension. Vectors are the rows of a matrix.
///
/// Returns:
///     A tensor of the widest dtype of `tensors`.
///
/// Raises:
///     ShapeError: The other sizes differ.
///
/// Example:
///     >>> interlock.vstack([interlock.tensor([1, 2]), interlock.tensor([3, 4])])
///     tensor([[1, 2],
///             [3, 4]])
#[tensor_op(function, out, size = tensors.work_size(), example = "[x, y]")]
fn vstack(tensors: &Tensors) -> Result<CoreTensor> {
    core::vstack(tensors)
}
