//! Copies with the elements in another order.

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::{Ints, tensor_op};

/// Return a copy with the elements of dimensions in reverse order.
///
/// Args:
///     dims: The dimension or dimensions.
///
/// Raises:
///     {no_dims}
///     ArgumentError: A dimension is named twice.
///
/// Example:
///     >>> interlock.flip(interlock.tensor([[1, 2], [3, 4]]), (0, 1))
///     tensor([[4, 3],
///             [2, 1]])
#[tensor_op(function, method, example = "x, (1,)")]
fn flip(input: &CoreTensor, #[variadic(method)] dims: &Ints) -> Result<CoreTensor>;

/// Return a copy with the columns of a matrix, or of each matrix in the first two dimensions, in reverse order.
///
/// Raises:
///     ShapeError: The tensor has fewer than two dimensions.
///
/// Example:
///     >>> interlock.fliplr(interlock.tensor([[1, 2], [3, 4]]))
///     tensor([[2, 1],
///             [4, 3]])
#[tensor_op(function, method, example = "x")]
fn fliplr(input: &CoreTensor) -> Result<CoreTensor>;

/// Return a copy with the rows, which are along the first dimension, in reverse order.
///
/// Raises:
///     ShapeError: The tensor has no dimensions.
///
/// Example:
///     >>> interlock.flipud(interlock.tensor([[1, 2], [3, 4]]))
///     tensor([[3, 4],
///             [1, 2]])
#[tensor_op(function, method, example = "x")]
fn flipud(input: &CoreTensor) -> Result<CoreTensor>;

/// Return a copy with the elements moved along dimensions. Those that are moved beyond the end come first.
///
/// Args:
///     shifts: The distance for each dimension; a negative one moves elements to the front.
///     dims: The dimension or dimensions. None means that the elements are moved in row-major order.
///
/// Raises:
///     {no_dims}
///     ArgumentError: The numbers of shifts and dimensions differ.
///
/// Example:
///     >>> interlock.roll(interlock.tensor([[1, 2], [3, 4]]), 1, 0)
///     tensor([[3, 4],
///             [1, 2]])
#[tensor_op(function, method, example = "x, (1, 2), (0, 1)")]
fn roll(input: &CoreTensor, shifts: &Ints, dims: &Option<Ints>) -> Result<CoreTensor> {
    input.roll(shifts, dims.as_deref().unwrap_or_default())
}
