//! Views with dimensions in another order.

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::{Ints, tensor_op};

/// Return a view with two dimensions exchanged.
///
/// Args:
///     dim0: The first dimension. Negative dimensions count from the last.
///     dim1: The second dimension.
///
/// Raises:
///     {no_dims}
///
/// Example:
///     >>> interlock.transpose(interlock.zeros(2, 3, 4), 0, -1).shape
///     (4, 3, 2)
#[tensor_op(function, method, view, alias(swapdims), example = "x, 0, 1")]
fn transpose(input: &CoreTensor, dim0: i64, dim1: i64) -> Result<CoreTensor>;

/// Return a view with two dimensions exchanged, as `transpose`.
///
/// Args:
///     axis0: The first dimension. Negative dimensions count from the last.
///     axis1: The second dimension.
///
/// Raises:
///     {no_dims}
///
/// Example:
///     >>> interlock.swapaxes(interlock.zeros(2, 3, 4), 0, -1).shape
///     (4, 3, 2)
#[tensor_op(function, method, view, example = "x, 0, 1")]
fn swapaxes(input: &CoreTensor, axis0: i64, axis1: i64) -> Result<CoreTensor> {
    let result = input.transpose(axis0, axis1);
    result.map_err(|error| error.rename_argument("dim0", "axis0").rename_argument("dim1", "axis1"))
}

/// Return a view with permuted dimensions.
///
/// Args:
///     dims: The dimensions of the tensor in their new order.
///
/// Raises:
///     {no_dims}
///     ArgumentError: A dimension is missing or named twice.
///
/// Example:
///     >>> interlock.permute(interlock.zeros(2, 3, 4), (2, 0, 1)).shape
///     (4, 2, 3)
#[tensor_op(function, method, view, example = "x, (1, 0)")]
fn permute(input: &CoreTensor, #[variadic(method)] dims: &Ints) -> Result<CoreTensor>;

/// Return a view with dimensions at other positions. The other dimensions keep their order.
///
/// Args:
///     source: The dimension or dimensions that are moved.
///     destination: The new position of each of them.
///
/// Raises:
///     {no_dims}
///     ArgumentError: A dimension is named twice, or the numbers of dimensions differ.
///
/// Example:
///     >>> interlock.movedim(interlock.zeros(2, 3, 4), 0, -1).shape
///     (3, 4, 2)
#[tensor_op(function, method, view, alias(moveaxis), example = "x, (0, 1), (1, 0)")]
fn movedim(input: &CoreTensor, source: &Ints, destination: &Ints) -> Result<CoreTensor>;

/// Return the transpose of a matrix, as a view. A tensor with fewer dimensions is unchanged.
///
/// Raises:
///     ShapeError: The tensor has more than two dimensions.
///
/// Example:
///     >>> interlock.t(interlock.zeros(2, 3)).shape
///     (3, 2)
#[tensor_op(function, method, view, example = "x")]
fn t(input: &CoreTensor) -> Result<CoreTensor>;

/// Return the conjugate transpose of a matrix, or of each matrix of a batch. All dtypes are real, so it is `mT`.
///
/// Raises:
///     ShapeError: The tensor has one dimension.
///
/// Example:
///     >>> interlock.adjoint(interlock.zeros(2, 3)).shape
///     (3, 2)
#[tensor_op(function, method, view, or_self, example = "x")]
fn adjoint(input: &CoreTensor) -> Result<CoreTensor> {
    input.matrix_transpose("adjoint")
}
