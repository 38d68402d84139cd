//! The LU factorization.
#![allow(non_snake_case, reason = "PyTorch's names of arguments")]

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::{LinalgPair, LinalgTriple, tensor_op};

/// Return the LU factors of matrices in one matrix each, and the pivots.
///
/// Returns:
///     A named tuple `(LU, pivots)`. The upper triangle of `LU` is the upper factor; the other elements are those of
///     the lower one, whose diagonal is ones. Row i of the matrix was swapped with row `pivots[i]`, counted from 1.
///
/// Raises:
///     LinAlgError: A pivot is 0; the message has the position of the matrix in the batch.
///
/// Example:
///     >>> linalg.lu_factor(interlock.tensor([[1.0, 2.0], [2.0, 2.0]])).LU
///     tensor([[2.0000, 2.0000],
///             [0.5000, 1.0000]])
#[tensor_op(
    function,
    long,
    out,
    namespace = "linalg",
    explain = A.explain_lu_factor(),
    example = "square; x; x.mT"
)]
fn lu_factor(A: &CoreTensor, #[keyword(default = true)] pivot: bool) -> Result<LinalgPair>;

/// Return the LU factors of matrices in one matrix each, the pivots, and whether a pivot is 0.
///
/// Args:
///     check_errors: Whether to raise for a pivot of 0.
///
/// Returns:
///     A named tuple `(LU, pivots, info)`, the first two as those of `lu_factor`. `info` is an int32 tensor with an
///     element for each matrix: 0, or the number of the first pivot that is 0, counted from 1.
///
/// Raises:
///     LinAlgError: `check_errors` is set, and a pivot is 0.
///
/// Example:
///     >>> linalg.lu_factor_ex(interlock.zeros(2, 2)).info
///     tensor(1, dtype=interlock.int32)
#[tensor_op(function, long, out, namespace = "linalg", example = "square")]
fn lu_factor_ex(
    A: &CoreTensor,
    #[keyword(default = true)] pivot: bool,
    #[default(false)] check_errors: bool,
) -> Result<LinalgTriple>;

/// Return the permutation and the LU factors of matrices.
///
/// Returns:
///     A named tuple `(P, L, U)` for which `P @ L @ U` is `A`. P has no gradient.
///
/// Example:
///     >>> linalg.lu(interlock.tensor([[1.0, 2.0], [2.0, 2.0]])).U
///     tensor([[2., 2.],
///             [0., 1.]])
#[tensor_op(function, long, out, namespace = "linalg", example = "square; x; x.mT")]
fn lu(A: &CoreTensor, #[keyword(default = true)] pivot: bool) -> Result<LinalgTriple>;

/// Return the solutions of systems of equations whose LU factors are known.
///
/// Args:
///     LU: The factors that `lu_factor` returns, of a matrix `A` or a batch.
///     pivots: The pivots that it returns.
///     B: The right sides, the columns of a matrix or of a batch of them. Batches are broadcast.
///     adjoint: Whether to solve with the transposed `A`.
///
/// Returns:
///     A tensor of the broadcast shape of `B`.
///
/// Raises:
///     ArgumentError: A pivot is not the number of a row. On a device the error is reported asynchronously.
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes differ, are not float32 or float64, or `pivots` is not int32.
///
/// Example:
///     >>> LU, pivots = linalg.lu_factor(interlock.tensor([[1.0, 2.0], [2.0, 2.0]]))
///     >>> linalg.lu_solve(LU, pivots, interlock.tensor([[3.0], [4.0]]))
///     tensor([[1.],
///             [1.]])
#[tensor_op(
    function,
    long,
    out(exact),
    namespace = "linalg",
    example = "square, classes[[0, 0, 0]].int() + 1, x.mT; \
        square, classes[[0, 0, 0]].int() + 1, x, left=False, adjoint=True"
)]
fn lu_solve(
    LU: &CoreTensor,
    pivots: &CoreTensor,
    B: &CoreTensor,
    #[keyword(default = true)] left: bool,
    #[default(false)] adjoint: bool,
) -> Result<CoreTensor>;
