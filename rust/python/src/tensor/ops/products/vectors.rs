//! Products of vectors.

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::tensor_op;

/// Return the dot product of two vectors.
///
/// Args:
///     input: A vector.
///     tensor: A vector of the same size and dtype.
///
/// Returns:
///     A 0-d tensor.
///
/// Raises:
///     ShapeError: A tensor is not a vector, or the sizes differ.
///     DTypeError: The dtypes differ or are bool.
///
/// Example:
///     >>> interlock.dot(interlock.tensor([1, 2]), interlock.tensor([3, 4]))
///     tensor(11)
#[tensor_op(function, method, long, out(exact, overlap), example = "y, y")]
fn dot(input: &CoreTensor, tensor: &CoreTensor) -> Result<CoreTensor>;

/// Return the outer product of two vectors.
///
/// As in PyTorch the elements are multiplied as by `*`: dtypes are promoted, and no precision flag affects the result.
///
/// Args:
///     input: The vector whose elements are the rows of the result.
///     vec2: The vector whose elements are the columns of the result.
///
/// Returns:
///     A matrix with a row for each element of this vector.
///
/// Raises:
///     ShapeError: A tensor is not a vector.
///
/// Example:
///     >>> interlock.outer(interlock.tensor([1, 2]), interlock.tensor([3, 4]))
///     tensor([[3, 4],
///             [6, 8]])
#[tensor_op(function, method, long, out, example = "y, y")]
fn outer(input: &CoreTensor, vec2: &CoreTensor) -> Result<CoreTensor>;
