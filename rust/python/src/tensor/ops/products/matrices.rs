//! Products of matrices, of matrices and vectors, and of batches of matrices.

use interlock_tensor::{Result, Scalar, Tensor as CoreTensor};

use crate::tensor::operation::tensor_op;

/// The number by which a summand is multiplied.
fn factor(given: Option<Scalar>) -> Scalar {
    given.unwrap_or(Scalar::Int(1))
}

/// Return the matrix product of two tensors.
///
/// A one-dimensional tensor is a row vector on the left and a column vector on the right. The dimensions before the
/// last two are broadcast.
///
/// Args:
///     input: The left tensor, of shape [..., n, k] or [k]. Floating point or int64.
///     other: The right tensor, of shape [..., k, m] or [k], of the same dtype.
///
/// Returns:
///     A tensor of shape [..., n, m], without the dimension of a one-dimensional operand.
///
/// Raises:
///     DTypeError: The dtypes differ or are bool.
///     ShapeError: The shapes are incompatible.
///
/// Example:
///     >>> interlock.matmul(interlock.ones(2, 3), interlock.ones(3))
///     tensor([3., 3.])
#[tensor_op(
    function,
    method,
    long,
    out(exact, overlap),
    explain = input.explain_matmul(other),
    example = "x, y"
)]
fn matmul(input: &CoreTensor, other: &CoreTensor) -> Result<CoreTensor>;

/// Return the matrix product of two matrices.
///
/// Args:
///     input: The left matrix, of shape [n, k]. Floating point or int64.
///     mat2: The right matrix, of shape [k, m], of the same dtype.
///
/// Returns:
///     A matrix of shape [n, m].
///
/// Raises:
///     DTypeError: The dtypes differ or are bool.
///     ShapeError: A tensor is not a matrix, or the inner sizes differ.
///
/// Example:
///     >>> interlock.mm(interlock.ones(2, 3), interlock.ones(3, 1))
///     tensor([[3.],
///             [3.]])
#[tensor_op(function, method, long, out(exact, overlap), example = "x, square")]
fn mm(input: &CoreTensor, mat2: &CoreTensor) -> Result<CoreTensor>;

/// Return the matrix products of two batches of matrices.
///
/// Args:
///     input: The left batch, of shape [b, n, k]. Floating point or int64.
///     mat2: The right batch, of shape [b, k, m], of the same dtype.
///
/// Returns:
///     A tensor of shape [b, n, m].
///
/// Raises:
///     DTypeError: The dtypes differ or are bool.
///     ShapeError: A tensor does not have 3 dimensions, or the sizes differ.
///
/// Example:
///     >>> interlock.bmm(interlock.ones(2, 1, 3), interlock.ones(2, 3, 1))
///     tensor([[[3.]],
///     <BLANKLINE>
///             [[3.]]])
#[tensor_op(function, method, long, out(exact, overlap), example = "x[None], square[None]")]
fn bmm(input: &CoreTensor, mat2: &CoreTensor) -> Result<CoreTensor>;

/// Return `beta * input + alpha * (mat1 @ mat2)`.
///
/// Args:
///     input: A tensor that is broadcast to the product. Its elements are ignored if `beta` is 0.
///     mat1: A matrix of shape [n, k], of the same dtype.
///     mat2: A matrix of shape [k, m], of the same dtype.
///     beta: A number; None means 1.
///     alpha: A number; None means 1. If it is 0, the elements of the matrix product are ignored.
///
/// Returns:
///     A matrix of shape [n, m].
///
/// Raises:
///     ArgumentError: The dtype cannot hold `beta` or `alpha`.
///     DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
///     ShapeError: The shapes are incompatible.
///
/// Example:
///     >>> interlock.addmm(interlock.ones(2), interlock.ones(1, 3), interlock.ones(3, 2), alpha=2)
///     tensor([[7., 7.]])
#[tensor_op(
    function,
    method,
    long,
    out(exact, overlap),
    example = "z, x, square; z, x, square, beta=0.5, alpha=2.0"
)]
fn addmm(
    input: &CoreTensor,
    mat1: &CoreTensor,
    mat2: &CoreTensor,
    #[keyword] beta: Option<Scalar>,
    alpha: Option<Scalar>,
) -> Result<CoreTensor> {
    input.addmm(mat1, mat2, factor(beta), factor(alpha))
}

/// Return `input @ weight.T + bias`, a linear layer.
///
/// Args:
///     input: A tensor of shape [..., inputs].
///     weight: A matrix of shape [outputs, inputs], or a vector of shape [inputs] for one output without a dimension.
///     bias: A tensor that is broadcast to the result, or None.
///
/// Returns:
///     A tensor of shape [..., outputs].
///
/// Raises:
///     DTypeError: The dtypes differ or are bool.
///     ShapeError: The shapes are incompatible.
///
/// Example:
///     >>> functional.linear(interlock.ones(1, 3), interlock.ones(2, 3), interlock.ones(2))
///     tensor([[4., 4.]])
#[tensor_op(function, long, out(exact, overlap), namespace = "nn.functional", example = "x, square, y")]
fn linear(input: &CoreTensor, weight: &CoreTensor, bias: Option<&CoreTensor>) -> Result<CoreTensor>;

/// Return the matrix-vector product.
///
/// Args:
///     input: A matrix.
///     vec: A vector of the size of a row of the matrix, of the same dtype.
///
/// Returns:
///     A vector with an element for each row.
///
/// Raises:
///     ShapeError: The tensors are not a matrix and a vector, or the sizes differ.
///     DTypeError: The dtypes differ or are bool.
///
/// Example:
///     >>> interlock.mv(interlock.tensor([[1, 2], [3, 4]]), interlock.tensor([1, 1]))
///     tensor([3, 7])
#[tensor_op(function, method, long, out(exact, overlap), example = "x, y")]
fn mv(input: &CoreTensor, vec: &CoreTensor) -> Result<CoreTensor>;

/// Return `beta * input + alpha * (mat @ vec)`.
///
/// Args:
///     input: A tensor that is broadcast to the product.
///     mat: A matrix of shape [n, k], of the same dtype.
///     vec: A vector of shape [k], of the same dtype.
///     beta: A number; None means 1. If it is 0, the elements of the tensor are ignored.
///     alpha: A number; None means 1. If it is 0, the elements of the matrix product are ignored.
///
/// Returns:
///     A vector of shape [n].
///
/// Raises:
///     ArgumentError: The dtype cannot hold `beta` or `alpha`.
///     DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
///     ShapeError: The shapes are incompatible.
///
/// Example:
///     >>> interlock.addmv(interlock.ones(1), interlock.ones(1, 3), interlock.ones(3), alpha=2)
///     tensor([7.])
#[tensor_op(
    function,
    method,
    long,
    out(exact, overlap),
    example = "x[:, 0], z, y; x[:, 0], z, y, beta=0.5, alpha=2.0"
)]
fn addmv(
    input: &CoreTensor,
    mat: &CoreTensor,
    vec: &CoreTensor,
    #[keyword] beta: Option<Scalar>,
    alpha: Option<Scalar>,
) -> Result<CoreTensor> {
    input.addmv(mat, vec, factor(beta), factor(alpha))
}

/// Return `beta * input + alpha * (batch1 @ batch2)` for batches of matrices.
///
/// Args:
///     input: A tensor that is broadcast to the products.
///     batch1: A tensor of shape [b, n, k], of the same dtype.
///     batch2: A tensor of shape [b, k, m], of the same dtype.
///     beta: A number; None means 1. If it is 0, the elements of the tensor are ignored.
///     alpha: A number; None means 1. If it is 0, the elements of the matrix product are ignored.
///
/// Returns:
///     A tensor of shape [b, n, m].
///
/// Raises:
///     ArgumentError: The dtype cannot hold `beta` or `alpha`.
///     DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
///     ShapeError: The shapes are incompatible.
///
/// Example:
///     >>> interlock.baddbmm(interlock.ones(1), interlock.ones(1, 1, 3), interlock.ones(1, 3, 2))
///     tensor([[[4., 4.]]])
#[tensor_op(
    function,
    method,
    long,
    out(exact, overlap),
    example = "z, x[None], square[None]; z, x[None], square[None], beta=0.5, alpha=2.0"
)]
fn baddbmm(
    input: &CoreTensor,
    batch1: &CoreTensor,
    batch2: &CoreTensor,
    #[keyword] beta: Option<Scalar>,
    alpha: Option<Scalar>,
) -> Result<CoreTensor> {
    input.baddbmm(batch1, batch2, factor(beta), factor(alpha))
}
