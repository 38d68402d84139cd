//! The transposes that are properties.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::call::run_op;
use super::operation::{Call, compute_or_self};
use super::{ReadTensor, Tensor};
use crate::errors::new_exception;

#[pymethods]
impl Tensor {
    /// A view with the dimensions in reverse order.
    #[getter(T)]
    fn reversed(&self, py: Python<'_>) -> PyResult<Tensor> {
        let mut order: Vec<i64> = (0i64..).take(self.core(py).ndim()).collect();
        order.reverse();
        let x = &*self.core(py);
        run_op(py, "T", 0, || x.permute(&order))
    }

    /// A view with the last two dimensions exchanged: the transpose of a matrix, or of each matrix of a batch.
    ///
    /// Raises:
    ///     ShapeError: The tensor has one dimension.
    #[getter(mT)]
    fn matrix_transposed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        matrix_transpose("mT", slf)
    }

    /// The conjugate transpose of a matrix, or of each matrix of a batch: that of real numbers is `mT`.
    ///
    /// Raises:
    ///     ShapeError: The tensor has one dimension.
    #[getter(mH)]
    fn matrix_adjoint<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        matrix_transpose("mH", slf)
    }

    /// The conjugate transpose of a matrix: that of real numbers is `mT`.
    ///
    /// Raises:
    ///     ShapeError: The tensor is not a matrix.
    #[getter(H)]
    fn conjugate_transposed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, x) = (slf.py(), &*slf.core());
        if x.ndim() > 2 {
            let given = PyTuple::new(py, x.shape())?;
            let message = format!("H: the tensor must be a matrix (mH accepts batches), got shape {given}");
            return Err(new_exception(py, "ShapeError", message));
        }
        matrix_transpose("H", slf)
    }
}

/// Returns a matrix property of a tensor: its object itself if nothing changes.
fn matrix_transpose<'py>(op: &'static str, tensor: &Bound<'py, Tensor>) -> PyResult<Bound<'py, PyAny>> {
    let x = &*tensor.core();
    let call = Call::new(tensor.py(), op, &[]).view();
    Ok(compute_or_self(call, tensor.as_any(), &mut || x.matrix_transpose(op))?)
}
