//! Products of vectors, and products that are added to a tensor.

use pyo3::prelude::*;

use super::args::{OptionalArg, extract_tensor};
use super::arithmetic::factor;
use super::{Tensor, run_op};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(dot, module)?)?;
    module.add_function(wrap_pyfunction!(mv, module)?)?;
    module.add_function(wrap_pyfunction!(outer, module)?)?;
    module.add_function(wrap_pyfunction!(addmv, module)?)?;
    module.add_function(wrap_pyfunction!(baddbmm, module)?)
}

#[pymethods]
impl Tensor {
    /// Return the dot product of two vectors.
    ///
    /// Args:
    ///     other: A vector of the same size and dtype.
    ///
    /// Returns:
    ///     A 0-d tensor.
    ///
    /// Raises:
    ///     ShapeError: A tensor is not a vector, or the sizes differ.
    ///     DTypeError: The dtypes differ or are bool.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).dot(interlock.tensor([3, 4]))
    ///     tensor(11)
    fn dot(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let x = &self.0;
        let other = extract_tensor("dot: other", other)?;
        run_op(py, "dot", super::DETACH_THRESHOLD, || x.dot(&other))
    }

    /// Return the matrix-vector product.
    ///
    /// Args:
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
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1, 2], [3, 4]]).mv(interlock.tensor([1, 1]))
    ///     tensor([3, 7])
    fn mv(&self, py: Python<'_>, vec: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let x = &self.0;
        let vector = extract_tensor("mv: vec", vec)?;
        run_op(py, "mv", super::DETACH_THRESHOLD, || x.mv(&vector))
    }

    /// Return the outer product of two vectors.
    ///
    /// As in PyTorch the elements are multiplied as by `*`: dtypes are promoted, and no precision flag affects the
    /// result.
    ///
    /// Args:
    ///     vec2: The vector whose elements are the columns of the result.
    ///
    /// Returns:
    ///     A matrix with a row for each element of this vector.
    ///
    /// Raises:
    ///     ShapeError: A tensor is not a vector.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).outer(interlock.tensor([3, 4]))
    ///     tensor([[3, 4],
    ///             [6, 8]])
    fn outer(&self, py: Python<'_>, vec2: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let x = &self.0;
        let other = extract_tensor("outer: vec2", vec2)?;
        run_op(py, "outer", super::DETACH_THRESHOLD, || x.outer(&other))
    }

    /// Return `beta * input + alpha * (mat @ vec)`.
    ///
    /// Args:
    ///     mat: A matrix of shape [n, k], of the same dtype.
    ///     vec: A vector of shape [k], of the same dtype.
    ///     beta: A number; None means 1. If it is 0, the elements of the tensor are ignored.
    ///     alpha: A number; None means 1. If it is 0, the elements of the matrix product are ignored.
    ///
    /// Returns:
    ///     A vector of shape [n].
    ///
    /// Raises:
    ///     DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
    ///     ShapeError: The shapes are incompatible.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.ones(1).addmv(interlock.ones(1, 3), interlock.ones(3), alpha=2)
    ///     tensor([7.])
    #[pyo3(signature = (mat, vec, *, beta = None, alpha = None))]
    fn addmv(
        &self,
        py: Python<'_>,
        mat: &Bound<'_, PyAny>,
        vec: &Bound<'_, PyAny>,
        beta: OptionalArg<'_, '_>,
        alpha: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        let (matrix, vector) = (extract_tensor("addmv: mat", mat)?, extract_tensor("addmv: vec", vec)?);
        let (beta, alpha) = (factor("addmv: beta", beta)?, factor("addmv: alpha", alpha)?);
        run_op(py, "addmv", super::DETACH_THRESHOLD, || x.addmv(&matrix, &vector, beta, alpha))
    }

    /// Return `beta * input + alpha * (batch1 @ batch2)` for batches of matrices.
    ///
    /// Args:
    ///     batch1: A tensor of shape [b, n, k], of the same dtype.
    ///     batch2: A tensor of shape [b, k, m], of the same dtype.
    ///     beta: A number; None means 1. If it is 0, the elements of the tensor are ignored.
    ///     alpha: A number; None means 1. If it is 0, the elements of the matrix product are ignored.
    ///
    /// Returns:
    ///     A tensor of shape [b, n, m].
    ///
    /// Raises:
    ///     DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
    ///     ShapeError: The shapes are incompatible.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.ones(1).baddbmm(interlock.ones(1, 1, 3), interlock.ones(1, 3, 2))
    ///     tensor([[[4., 4.]]])
    #[pyo3(signature = (batch1, batch2, *, beta = None, alpha = None))]
    fn baddbmm(
        &self,
        py: Python<'_>,
        batch1: &Bound<'_, PyAny>,
        batch2: &Bound<'_, PyAny>,
        beta: OptionalArg<'_, '_>,
        alpha: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        let left = extract_tensor("baddbmm: batch1", batch1)?;
        let right = extract_tensor("baddbmm: batch2", batch2)?;
        let (beta, alpha) = (factor("baddbmm: beta", beta)?, factor("baddbmm: alpha", alpha)?);
        run_op(py, "baddbmm", super::DETACH_THRESHOLD, || x.baddbmm(&left, &right, beta, alpha))
    }
}

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
///     >>> import interlock
///     >>> interlock.dot(interlock.tensor([1, 2]), interlock.tensor([3, 4]))
///     tensor(11)
#[pyfunction]
fn dot(input: &Bound<'_, PyAny>, tensor: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("dot: input", input)?;
    let other = extract_tensor("dot: tensor", tensor)?;
    run_op(py, "dot", super::DETACH_THRESHOLD, || x.dot(&other))
}

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
///     >>> import interlock
///     >>> interlock.mv(interlock.tensor([[1, 2], [3, 4]]), interlock.tensor([1, 1]))
///     tensor([3, 7])
#[pyfunction]
fn mv(input: &Bound<'_, PyAny>, vec: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("mv: input", input)?;
    let vector = extract_tensor("mv: vec", vec)?;
    run_op(py, "mv", super::DETACH_THRESHOLD, || x.mv(&vector))
}

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
///     >>> import interlock
///     >>> interlock.outer(interlock.tensor([1, 2]), interlock.tensor([3, 4]))
///     tensor([[3, 4],
///             [6, 8]])
#[pyfunction]
fn outer(input: &Bound<'_, PyAny>, vec2: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("outer: input", input)?;
    let other = extract_tensor("outer: vec2", vec2)?;
    run_op(py, "outer", super::DETACH_THRESHOLD, || x.outer(&other))
}

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
///     DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
///     ShapeError: The shapes are incompatible.
///
/// Example:
///     >>> import interlock
///     >>> interlock.addmv(interlock.ones(1), interlock.ones(1, 3), interlock.ones(3), alpha=2)
///     tensor([7.])
#[pyfunction]
#[pyo3(signature = (input, mat, vec, *, beta = None, alpha = None))]
fn addmv(
    input: &Bound<'_, PyAny>,
    mat: &Bound<'_, PyAny>,
    vec: &Bound<'_, PyAny>,
    beta: OptionalArg<'_, '_>,
    alpha: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("addmv: input", input)?;
    let (matrix, vector) = (extract_tensor("addmv: mat", mat)?, extract_tensor("addmv: vec", vec)?);
    let (beta, alpha) = (factor("addmv: beta", beta)?, factor("addmv: alpha", alpha)?);
    run_op(py, "addmv", super::DETACH_THRESHOLD, || x.addmv(&matrix, &vector, beta, alpha))
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
///     DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
///     ShapeError: The shapes are incompatible.
///
/// Example:
///     >>> import interlock
///     >>> interlock.baddbmm(interlock.ones(1), interlock.ones(1, 1, 3), interlock.ones(1, 3, 2))
///     tensor([[[4., 4.]]])
#[pyfunction]
#[pyo3(signature = (input, batch1, batch2, *, beta = None, alpha = None))]
fn baddbmm(
    input: &Bound<'_, PyAny>,
    batch1: &Bound<'_, PyAny>,
    batch2: &Bound<'_, PyAny>,
    beta: OptionalArg<'_, '_>,
    alpha: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("baddbmm: input", input)?;
    let left = extract_tensor("baddbmm: batch1", batch1)?;
    let right = extract_tensor("baddbmm: batch2", batch2)?;
    let (beta, alpha) = (factor("baddbmm: beta", beta)?, factor("baddbmm: alpha", alpha)?);
    run_op(py, "baddbmm", super::DETACH_THRESHOLD, || x.baddbmm(&left, &right, beta, alpha))
}
