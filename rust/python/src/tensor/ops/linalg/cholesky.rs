//! The Cholesky factorization.

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::{LinalgPair, tensor_op};

/// Return the Cholesky factor of symmetric positive-definite matrices.
///
/// Args:
///     {matrices}
///     upper: Whether to read the upper triangle and return the upper factor, else the lower one.
///
/// Returns:
///     A triangular tensor `L` of the shape of `input` for which `L @ L.mT`, or `L.mT @ L` if `upper`, is `input`.
///
/// Raises:
///     LinAlgError: A matrix is not positive-definite; the message has its position in the batch.
///
/// Example:
///     >>> linalg.cholesky(interlock.tensor([[4.0, 2.0], [2.0, 5.0]]))
///     tensor([[2., 0.],
///             [1., 2.]])
#[tensor_op(
    function,
    long,
    out(exact),
    namespace = "linalg",
    explain = input.explain_cholesky(),
    example = "square @ square.mT; square @ square.mT, upper=True"
)]
fn cholesky(input: &CoreTensor, #[keyword(default = false)] upper: bool) -> Result<CoreTensor>;

/// Return the Cholesky factor of symmetric matrices, and whether it exists.
///
/// Args:
///     {matrices}
///     upper: Whether to read the upper triangle and return the upper factor, else the lower one.
///     check_errors: Whether to raise for a matrix that is not positive-definite.
///
/// Returns:
///     A named tuple `(L, info)`. `info` is an int32 tensor with an element for each matrix: 0, or the order of the
///     leading minor that is not positive; the factor is then incomplete.
///
/// Raises:
///     LinAlgError: `check_errors` is set, and a matrix is not positive-definite.
///
/// Example:
///     >>> linalg.cholesky_ex(interlock.tensor([[1.0, 2.0], [2.0, 1.0]])).info
///     tensor(2, dtype=interlock.int32)
#[tensor_op(function, long, out, namespace = "linalg", example = "square @ square.mT")]
fn cholesky_ex(
    input: &CoreTensor,
    #[keyword(default = false)] upper: bool,
    #[default(false)] check_errors: bool,
) -> Result<LinalgPair>;

/// Return the solutions of systems of equations with symmetric positive-definite matrices whose Cholesky factor is known.
///
/// Args:
///     input: The right sides, the columns of a matrix or of a batch of them.
///     input2: The Cholesky factor of the matrices. Batches are broadcast.
///     upper: Whether it is the upper factor.
///
/// Returns:
///     A tensor `X` for which `A @ X` is `input`, where `A` is `input2 @ input2.mT`, or `input2.mT @ input2` if `upper`.
///
/// Raises:
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes differ, or are not float32 or float64.
///
/// Example:
///     >>> interlock.cholesky_solve(interlock.tensor([[8.0]]), interlock.tensor([[2.0]]))
///     tensor([[2.]])
#[tensor_op(function, method, long, out(exact), example = "x.mT, square; x.mT, square, True")]
fn cholesky_solve(
    input: &CoreTensor,
    input2: &CoreTensor,
    #[default(false)] upper: bool,
) -> Result<CoreTensor>;

/// Return the inverses of symmetric positive-definite matrices whose Cholesky factor is known.
///
/// Args:
///     input: The Cholesky factor of the matrices.
///     upper: Whether it is the upper factor.
///
/// Returns:
///     The inverse of `input @ input.mT`, or of `input.mT @ input` if `upper`.
///
/// Raises:
///     ShapeError: The last two sizes differ, or there are fewer than 2 dimensions.
///     DTypeError: The dtype is not float32 or float64.
///
/// Example:
///     >>> interlock.cholesky_inverse(interlock.tensor([[2.0]]))
///     tensor([[0.2500]])
#[tensor_op(function, method, long, out(exact), example = "square; square, True")]
fn cholesky_inverse(input: &CoreTensor, #[default(false)] upper: bool) -> Result<CoreTensor>;
