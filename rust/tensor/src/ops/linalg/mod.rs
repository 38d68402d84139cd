//! Linear algebra: factorizations of matrices, and what is computed with them, as `torch.linalg`.
//!
//! Sources of the gradients: Giles, "An extended collection of matrix derivative results for forward and reverse mode
//! algorithmic differentiation" (2008); Murray, "Differentiation of the Cholesky decomposition" (2016); Walter and Lehmann,
//! "Algorithmic Differentiation of Linear Algebra Functions" (2010), for QR; Wan and Zhang, "Automatic differentiation for
//! complex valued SVD" (2019). Backward functions consist of recorded operations, so gradients have gradients.

pub(crate) mod cholesky;
pub(crate) mod det;
pub(crate) mod eigh;
pub(crate) mod kernels;
pub(crate) mod lu;
pub(crate) mod qr;
pub(crate) mod solve;
pub(crate) mod svd;

use crate::layout::{broadcast, signed_sizes};
use crate::ops::elementwise::operand::{check_device, check_same_dtype};
use crate::{DType, Error, ErrorKind, Result, Tensor, iterate};

/// The name of the first argument of most functions in errors.
const A: &str = "A";

/// Returns an error unless a tensor has matrices of float32 or float64.
fn check_matrices(op: &'static str, argument: &'static str, tensor: &Tensor) -> Result<()> {
    if tensor.ndim() < 2 {
        return Err(Error::shape(op, argument, "have at least 2 dimensions", tensor.shape()));
    }
    check_float(op, argument, tensor)
}

/// Returns an error unless a tensor is float32 or float64.
fn check_float(op: &'static str, argument: &'static str, tensor: &Tensor) -> Result<()> {
    if matches!(tensor.dtype(), DType::Float32 | DType::Float64) {
        return Ok(());
    }
    let error = Error::dtype(op, argument, "float32 or float64", tensor.dtype());
    Err(error.with_hint("; float() converts it"))
}

/// Returns the size of square matrices of float32 or float64.
fn check_square(op: &'static str, argument: &'static str, tensor: &Tensor) -> Result<usize> {
    check_matrices(op, argument, tensor)?;
    match *tensor.shape() {
        [.., rows, columns] if rows == columns => Ok(rows),
        _ => Err(Error::shape(op, argument, "be a square matrix or a batch of them", tensor.shape())),
    }
}

/// Returns an error unless two operands have one device and dtype.
fn check_operands(op: &'static str, a: &Tensor, b: &Tensor) -> Result<()> {
    check_device(op, a, b)?;
    check_same_dtype(op, a, b)
}

/// Returns the rows and columns of matrices.
fn matrix_sizes(tensor: &Tensor) -> [usize; 2] {
    match *tensor.shape() {
        [.., rows, columns] => [rows, columns],
        _ => [0, 0],
    }
}

/// Returns the sizes of the dimensions before those of matrices.
fn batch_of(tensor: &Tensor) -> &[usize] {
    tensor.shape().split_last_chunk::<2>().map_or(&[], |(batch, _)| batch)
}

/// Returns operands whose batches were broadcast to each other.
fn broadcast_batches(op: &'static str, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let batch =
        broadcast(op, batch_of(a), batch_of(b)).map_err(|_| Error::broadcast(op, a.shape(), b.shape()))?;
    let both = [a, b].map(|tensor| expanded(tensor, &[&batch[..], &matrix_sizes(tensor)].concat()));
    let [a, b] = both;
    Ok((a?, b?))
}

/// Returns the operand with the sizes of a shape, to which it is broadcast.
fn expanded(tensor: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if tensor.shape() == shape {
        return Ok(tensor.clone());
    }
    tensor.expand(&signed_sizes(shape))
}

/// Returns the transposed matrices.
fn transposed(tensor: &Tensor) -> Result<Tensor> {
    tensor.transpose(-1, -2)
}

/// Returns transposed matrices that are no view, of a new tensor.
fn as_transposed(tensor: &Tensor) -> Result<Tensor> {
    Ok(tensor.alias(transposed(&tensor.detach())?.layout().clone()))
}

/// Returns the identity matrix, with the dtype and device of a tensor.
fn identity_like(tensor: &Tensor, rows: usize, columns: usize) -> Result<Tensor> {
    Tensor::eye(rows, columns, tensor.options())
}

/// Returns the difference of square matrices and the transposed ones.
fn skew(matrices: &Tensor) -> Result<Tensor> {
    matrices.sub(&transposed(matrices)?)
}

/// Multiplies the columns of matrices by the elements of vectors.
fn scale_columns(matrices: &Tensor, factors: &Tensor) -> Result<Tensor> {
    matrices.mul(&factors.unsqueeze(-2)?)
}

/// Multiplies each matrix by an element.
fn scale_matrices(matrices: &Tensor, factors: &Tensor) -> Result<Tensor> {
    matrices.mul(&factors.unsqueeze(-1)?.unsqueeze(-1)?)
}

/// Returns the `info` of a function as int32.
fn shown_info(info: &Tensor) -> Result<Tensor> {
    iterate::cast(info, DType::Int32)
}

/// Returns an error if a matrix could not be factored. `describe` returns what is wrong with it from its number in `info`.
/// Waits for a device.
fn check_info(
    op: &'static str,
    (argument, expected): (&'static str, &'static str),
    info: &Tensor,
    describe: impl FnOnce(i64) -> String,
) -> Result<()> {
    let failures = info.to_vec::<i32>().map_err(|error| error.during(op))?;
    let Some((element, &failure)) = failures.iter().enumerate().find(|&(_, &failure)| failure != 0) else {
        return Ok(());
    };
    let position = if info.ndim() == 0 { String::new() } else { format!(" (batch element {element})") };
    let message = format!("must be {expected}, got {}{position}", describe(failure.into()));
    Err(Error::argument(ErrorKind::LinAlg, op, argument, message))
}

/// Returns the `info` of an LU factorization as int32: for each matrix 0 or the number of the first pivot that is 0. With
/// `checks` a singular matrix is an error.
fn lu_info(op: &'static str, info: &Tensor, checks: bool) -> Result<Tensor> {
    let info = shown_info(info)?;
    if checks {
        check_info(op, (A, "invertible"), &info, |pivot| {
            format!("a singular matrix, whose pivot {pivot} is 0")
        })?;
    }
    Ok(info)
}
