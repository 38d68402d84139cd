//! Systems of equations, inverses and determinants.
#![allow(non_snake_case, reason = "PyTorch's names of arguments")]

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::{LinalgPair, tensor_op};

/// Return the solutions of systems of equations.
///
/// Args:
///     {square_a}
///     B: The right sides: the columns of a matrix or of a batch of them, or a vector, or a batch of vectors if it has
///         the shape of `A` without the last dimension. Batches are broadcast.
///
/// Returns:
///     A tensor of the broadcast shape of `B`.
///
/// Raises:
///     {singular}
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes differ, or are not float32 or float64.
///
/// Example:
///     >>> A = interlock.tensor([[2.0, 0.0], [0.0, 4.0]])
///     >>> linalg.solve(A, interlock.tensor([2.0, 2.0]))
///     tensor([1.0000, 0.5000])
#[tensor_op(
    function,
    long,
    out(exact),
    namespace = "linalg",
    example = "square, y; square, x.mT; square, x, left=False"
)]
fn solve(A: &CoreTensor, B: &CoreTensor, #[keyword(default = true)] left: bool) -> Result<CoreTensor>;

/// Return the solutions of systems of equations, and whether the matrices are invertible.
///
/// Args:
///     {square_a}
///     B: The right sides, as those of `solve`.
///     check_errors: Whether to raise for a singular matrix.
///
/// Returns:
///     A named tuple `(result, info)`. `info` is an int32 tensor with an element for each matrix: 0, or the number of a
///     pivot that is 0, counted from 1; the result is then infinite or NaN.
///
/// Raises:
///     LinAlgError: `check_errors` is set, and a matrix is singular.
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes differ, or are not float32 or float64.
///
/// Example:
///     >>> linalg.solve_ex(interlock.zeros(2, 2), interlock.ones(2)).info
///     tensor(1, dtype=interlock.int32)
#[tensor_op(function, long, out, namespace = "linalg", example = "square, x.mT")]
fn solve_ex(
    A: &CoreTensor,
    B: &CoreTensor,
    #[keyword(default = true)] left: bool,
    #[default(false)] check_errors: bool,
) -> Result<LinalgPair>;

/// Return the solutions of systems of equations with triangular matrices.
///
/// The result has infinite or NaN elements if an element of the diagonal is 0.
///
/// Args:
///     A: A triangular matrix of float32 or float64, or a batch of them. The other triangle is not read.
///     B: The right sides, the columns of a matrix or of a batch of them. Batches are broadcast.
///     upper: Whether the upper triangle is read, else the lower one.
///     unitriangular: Whether the diagonal counts as ones and is not read.
///
/// Returns:
///     A tensor of the broadcast shape of `B`.
///
/// Raises:
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes differ, or are not float32 or float64.
///
/// Example:
///     >>> A = interlock.tensor([[2.0, 0.0], [1.0, 4.0]])
///     >>> linalg.solve_triangular(A, interlock.tensor([[2.0], [5.0]]), upper=False)
///     tensor([[1.],
///             [1.]])
#[tensor_op(
    function,
    long,
    out(exact),
    namespace = "linalg",
    explain = A.explain_solve_triangular(B, left),
    example = "square, x.mT, upper=True; square, x, upper=False, left=False, unitriangular=True"
)]
fn solve_triangular(
    A: &CoreTensor,
    B: &CoreTensor,
    #[keyword] upper: bool,
    #[default(true)] left: bool,
    #[default(false)] unitriangular: bool,
) -> Result<CoreTensor>;

/// Return the inverses of matrices.
///
/// Args:
///     {square_a}
///
/// Raises:
///     {singular}
///
/// Example:
///     >>> linalg.inv(interlock.tensor([[2.0, 0.0], [0.0, 4.0]]))
///     tensor([[0.5000, 0.0000],
///             [0.0000, 0.2500]])
#[tensor_op(function, long, out(exact), namespace = "linalg", example = "square")]
fn inv(A: &CoreTensor) -> Result<CoreTensor>;

/// Return the inverses of matrices, and whether they exist.
///
/// Args:
///     {square_a}
///     check_errors: Whether to raise for a singular matrix.
///
/// Returns:
///     A named tuple `(inverse, info)`. `info` is an int32 tensor with an element for each matrix: 0, or the number of a
///     pivot that is 0, counted from 1; the inverse is then infinite or NaN.
///
/// Raises:
///     LinAlgError: `check_errors` is set, and a matrix is singular.
///
/// Example:
///     >>> linalg.inv_ex(interlock.zeros(2, 2)).info
///     tensor(1, dtype=interlock.int32)
#[tensor_op(function, long, out, namespace = "linalg", example = "square")]
fn inv_ex(A: &CoreTensor, #[keyword(default = false)] check_errors: bool) -> Result<LinalgPair>;

/// Return the determinants of matrices.
///
/// Args:
///     {square_a}
///
/// Returns:
///     A tensor of the shape of the batch.
///
/// Example:
///     >>> linalg.det(interlock.tensor([[2.0, 1.0], [0.0, 4.0]]))
///     tensor(8.)
#[tensor_op(function, long, out(exact), namespace = "linalg", example = "square")]
fn det(A: &CoreTensor) -> Result<CoreTensor>;

/// Return the signs of the determinants of matrices, and the logarithms of their absolute values.
///
/// Args:
///     {square_a}
///
/// Returns:
///     A named tuple `(sign, logabsdet)`, of the shape of the batch. They are 0 and minus infinity for a singular
///     matrix.
///
/// Example:
///     >>> linalg.slogdet(interlock.tensor([[0.0, 1.0], [1.0, 0.0]])).sign
///     tensor(-1.)
#[tensor_op(function, long, out, namespace = "linalg", example = "square")]
fn slogdet(A: &CoreTensor) -> Result<LinalgPair>;
