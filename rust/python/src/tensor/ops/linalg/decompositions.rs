//! Decompositions with orthogonal matrices.
#![allow(non_snake_case, reason = "PyTorch's names of arguments")]

use interlock::accelerator::DeviceType;
use interlock_tensor::{Error, QrMode, Result, Tensor as CoreTensor};

use crate::tensor::operation::{Choice, LinalgPair, LinalgTriple, tensor_op};

/// The triangle of symmetric matrices that is read.
#[derive(Clone, Copy, PartialEq)]
enum Triangle {
    Lower,
    Upper,
}

impl Choice for Triangle {
    const ANNOTATION: &'static str = "Literal['L', 'U', 'l', 'u']";
    const CHOICES: &'static [(&'static str, Self)] =
        &[("L", Triangle::Lower), ("U", Triangle::Upper), ("l", Triangle::Lower), ("u", Triangle::Upper)];
    const ALLOWED: &'static str = "'L' or 'U'";
}

impl Choice for QrMode {
    const ANNOTATION: &'static str = "Literal['reduced', 'complete', 'r']";
    const CHOICES: &'static [(&'static str, Self)] =
        &[("reduced", QrMode::Reduced), ("complete", QrMode::Complete), ("r", QrMode::OnlyR)];
    const ALLOWED: &'static str = "'reduced', 'complete' or 'r'";
}

/// An algorithm of cuSOLVER for singular values.
#[derive(Clone, Copy)]
struct Driver(&'static str);

impl Choice for Driver {
    const ANNOTATION: &'static str = "Literal['gesvd', 'gesvdj', 'gesvda']";
    const CHOICES: &'static [(&'static str, Self)] =
        &[("gesvd", Driver("gesvd")), ("gesvdj", Driver("gesvdj")), ("gesvda", Driver("gesvda"))];
    const ALLOWED: &'static str = "'gesvd', 'gesvdj', 'gesvda' or None";
}

/// Returns an error for a driver on the CPU. Devices have one algorithm, which every driver selects.
fn check_driver(op: &'static str, matrices: &CoreTensor, driver: Option<Driver>) -> Result<()> {
    match driver {
        Some(Driver(name)) if matrices.device().kind() == DeviceType::Cpu => {
            Err(Error::value(op, "driver", "be None on the CPU", format_args!("'{name}'")))
        }
        _ => Ok(()),
    }
}

/// Return the QR factors of matrices.
///
/// Args:
///     mode: "reduced" for a factor Q with as many columns as the smaller size of the matrix, "complete" for a square
///         one, or "r" for R only; Q is then empty.
///
/// Returns:
///     A named tuple `(Q, R)` for which `Q @ R` is `A`. The columns of Q are orthonormal, and R is upper triangular.
///     Both have a gradient if `mode` is "reduced", or "complete" for at most as many rows as columns.
///
/// Raises:
///     ArgumentError: `mode` has another value.
///
/// Example:
///     >>> linalg.qr(interlock.tensor([[3.0], [4.0]])).R
///     tensor([[-5.]])
#[tensor_op(
    function,
    long,
    out,
    namespace = "linalg",
    explain = A.explain_qr(mode),
    example = "square; x; x.mT; x, mode='complete'"
)]
fn qr(A: &CoreTensor, #[default(QrMode::Reduced, "'reduced'")] mode: QrMode) -> Result<LinalgPair>;

/// Return the eigenvalues and eigenvectors of symmetric matrices.
///
/// Args:
///     {matrices}
///
/// Returns:
///     A named tuple `(eigenvalues, eigenvectors)`. The eigenvalues are in ascending order, and the eigenvectors are
///     the columns of orthogonal matrices, whose signs are arbitrary. Vectors of equal eigenvalues have no gradient: it
///     is infinite or NaN. Every result for a matrix that is not finite is NaN.
///
/// Example:
///     >>> linalg.eigh(interlock.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
///     tensor([1., 3.])
#[tensor_op(
    function,
    long,
    out,
    namespace = "linalg",
    explain = input.explain_eigh(),
    example = "square + square.mT; square + square.mT, 'U'"
)]
fn eigh(input: &CoreTensor, #[default(Triangle::Lower, "'L'")] UPLO: Triangle) -> Result<LinalgPair> {
    Ok(input.eigh(UPLO == Triangle::Upper)?.into())
}

/// Return the eigenvalues of symmetric matrices in ascending order; NaN for a matrix that is not finite.
///
/// Args:
///     {matrices}
///
/// Example:
///     >>> linalg.eigvalsh(interlock.tensor([[2.0, 1.0], [1.0, 2.0]]))
///     tensor([1., 3.])
#[tensor_op(function, long, out(exact), namespace = "linalg", example = "square + square.mT")]
fn eigvalsh(input: &CoreTensor, #[default(Triangle::Lower, "'L'")] UPLO: Triangle) -> Result<CoreTensor> {
    input.eigvalsh(UPLO == Triangle::Upper)
}

/// Return the singular value decomposition of matrices.
///
/// Args:
///     full_matrices: Whether U and Vh are square, else they have as many vectors as there are singular values.
///
/// Returns:
///     A named tuple `(U, S, Vh)`. The singular values S are in descending order, and the vectors, whose signs are
///     arbitrary, are the columns of U and the rows of Vh. Vectors of equal singular values have no gradient: it is
///     infinite or NaN. Gradients of the vectors beyond the values are ignored.
///
/// Raises:
///     LinAlgError: An element is infinite or NaN; the message has the position of the matrix in the batch.
///
/// Example:
///     >>> linalg.svd(interlock.tensor([[3.0], [4.0]])).S
///     tensor([5.])
#[tensor_op(
    function,
    long,
    out,
    namespace = "linalg",
    explain = A.explain_svd(),
    example = "square; x, False; x.mT, full_matrices=False"
)]
fn svd(
    A: &CoreTensor,
    #[default(true)] full_matrices: bool,
    #[keyword] driver: Option<Driver>,
) -> Result<LinalgTriple> {
    check_driver("svd", A, driver)?;
    Ok(A.svd(full_matrices)?.into())
}

/// Return the singular values of matrices in descending order.
///
/// Raises:
///     LinAlgError: An element is infinite or NaN; the message has the position of the matrix in the batch.
///
/// Example:
///     >>> linalg.svdvals(interlock.tensor([[3.0], [4.0]]))
///     tensor([5.])
#[tensor_op(function, long, out(exact), namespace = "linalg", example = "square; x")]
fn svdvals(A: &CoreTensor, #[keyword] driver: Option<Driver>) -> Result<CoreTensor> {
    check_driver("svdvals", A, driver)?;
    A.svdvals()
}
