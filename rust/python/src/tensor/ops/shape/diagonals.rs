//! Diagonals of matrices, and what is above or below them.

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::{WriteTo, tensor_op};

/// Return a view of the diagonals of matrices. The diagonal is the last dimension of the view.
///
/// Args:
///     offset: The distance from the main diagonal: positive above it and negative below it.
///     dim1: The dimension of the rows.
///     dim2: The dimension of the columns.
///
/// Raises:
///     {no_dims}
///     ArgumentError: The dimensions are equal.
///
/// Example:
///     >>> interlock.diagonal(interlock.arange(6).view(2, 3))
///     tensor([0, 4])
#[tensor_op(function, method, view, example = "x, 1")]
fn diagonal(
    input: &CoreTensor,
    #[default(0)] offset: i64,
    #[default(0)] dim1: i64,
    #[default(1)] dim2: i64,
) -> Result<CoreTensor>;

/// Return the lower triangle of a matrix, or of each matrix of a batch: a copy with zeros above a diagonal.
///
/// Args:
///     diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.
///
/// Raises:
///     ShapeError: The tensor has fewer than two dimensions.
///
/// Example:
///     >>> interlock.tril(interlock.tensor([[1, 2], [3, 4]]), -1)
///     tensor([[0, 0],
///             [3, 0]])
#[tensor_op(function, method, out(exact, overlap), inplace, example = "x")]
fn tril(to: WriteTo, input: &CoreTensor, #[default(0)] diagonal: i64) -> Result<CoreTensor> {
    match to {
        WriteTo::Copy => input.tril(diagonal),
        WriteTo::InPlace => input.tril_(diagonal).cloned(),
    }
}

/// Return the upper triangle of a matrix, or of each matrix of a batch: a copy with zeros below a diagonal.
///
/// Args:
///     diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.
///
/// Raises:
///     ShapeError: The tensor has fewer than two dimensions.
///
/// Example:
///     >>> interlock.triu(interlock.tensor([[1, 2], [3, 4]]), 1)
///     tensor([[0, 2],
///             [0, 0]])
#[tensor_op(function, method, out(exact, overlap), inplace, example = "x, 1")]
fn triu(to: WriteTo, input: &CoreTensor, #[default(0)] diagonal: i64) -> Result<CoreTensor> {
    match to {
        WriteTo::Copy => input.triu(diagonal),
        WriteTo::InPlace => input.triu_(diagonal).cloned(),
    }
}

/// Return the sum of the diagonal of a matrix.
///
/// Raises:
///     ShapeError: The tensor is not a matrix.
///     DTypeError: The tensor is a bool tensor.
///
/// Example:
///     >>> interlock.trace(interlock.tensor([[1, 2], [3, 4]]))
///     tensor(5)
#[tensor_op(function, method, example = "x")]
fn trace(input: &CoreTensor) -> Result<CoreTensor>;
