//! Views with dimensions in another order.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::args::extract_tensor;
use super::numeric_args::{ints, lists};
use super::views::run_or_self;
use super::{Tensor, run_op};
use crate::errors::new_exception;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(movedim, module)?)?;
    module.add_function(wrap_pyfunction!(moveaxis, module)?)?;
    module.add_function(wrap_pyfunction!(swapaxes, module)?)?;
    module.add_function(wrap_pyfunction!(swapdims, module)?)?;
    module.add_function(wrap_pyfunction!(adjoint, module)?)
}

#[pymethods]
impl Tensor {
    /// Return a view with dimensions at other positions. The other dimensions keep their order.
    ///
    /// Args:
    ///     source: The dimension or dimensions that are moved.
    ///     destination: The new position of each of them.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have one of the dimensions.
    ///     ArgumentError: A dimension is named twice, or the numbers of dimensions differ.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2, 3, 4).movedim(0, -1).shape
    ///     (3, 4, 2)
    fn movedim(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = lists::movedim::source)] source: Vec<i64>,
        #[pyo3(from_py_with = lists::movedim::destination)] destination: Vec<i64>,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "movedim", 0, || x.movedim(&source, &destination))
    }

    /// Return a view with dimensions at other positions, as `movedim`.
    ///
    /// Args:
    ///     source: The dimension or dimensions that are moved.
    ///     destination: The new position of each of them.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have one of the dimensions.
    ///     ArgumentError: A dimension is named twice, or the numbers of dimensions differ.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2, 3, 4).moveaxis(0, -1).shape
    ///     (3, 4, 2)
    fn moveaxis(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = lists::moveaxis::source)] source: Vec<i64>,
        #[pyo3(from_py_with = lists::moveaxis::destination)] destination: Vec<i64>,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "moveaxis", 0, || x.movedim(&source, &destination))
    }

    /// Return a view with two dimensions exchanged, as `transpose`.
    ///
    /// Args:
    ///     axis0: The first dimension. Negative dimensions count from the last.
    ///     axis1: The second dimension.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have one of the dimensions.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2, 3, 4).swapaxes(0, -1).shape
    ///     (4, 3, 2)
    fn swapaxes(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = ints::swapaxes::axis0)] axis0: i64,
        #[pyo3(from_py_with = ints::swapaxes::axis1)] axis1: i64,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "swapaxes", 0, || x.transpose(axis0, axis1))
    }

    /// Return a view with two dimensions exchanged, as `transpose`.
    ///
    /// Args:
    ///     dim0: The first dimension. Negative dimensions count from the last.
    ///     dim1: The second dimension.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have one of the dimensions.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2, 3, 4).swapdims(0, -1).shape
    ///     (4, 3, 2)
    fn swapdims(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = ints::swapdims::dim0)] dim0: i64,
        #[pyo3(from_py_with = ints::swapdims::dim1)] dim1: i64,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "swapdims", 0, || x.transpose(dim0, dim1))
    }

    /// A view with the last two dimensions exchanged: the transpose of a matrix, or of each matrix of a batch.
    ///
    /// Raises:
    ///     ShapeError: The tensor has one dimension.
    #[getter(mT)]
    fn matrix_transposed(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        run_or_self("mT", slf, 0, &|x| x.matrix_transpose("mT"))
    }

    /// The conjugate transpose of a matrix, or of each matrix of a batch: that of real numbers is `mT`.
    ///
    /// Raises:
    ///     ShapeError: The tensor has one dimension.
    #[getter(mH)]
    fn matrix_adjoint(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        run_or_self("mH", slf, 0, &|x| x.matrix_transpose("mH"))
    }

    /// The conjugate transpose of a matrix: that of real numbers is `mT`.
    ///
    /// Raises:
    ///     ShapeError: The tensor is not a matrix.
    #[getter(H)]
    fn conjugate_transposed(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let (py, x) = (slf.py(), &slf.get().0);
        if x.ndim() > 2 {
            let given = PyTuple::new(py, x.shape())?;
            let message = format!("H: the tensor must be a matrix (mH accepts batches), got shape {given}");
            return Err(new_exception(py, "ShapeError", message));
        }
        run_or_self("H", slf, 0, &|x| x.matrix_transpose("H"))
    }

    /// Return the conjugate transpose of a matrix, or of each matrix of a batch: that of real numbers is `mT`.
    ///
    /// Raises:
    ///     ShapeError: The tensor has one dimension.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2, 3).adjoint().shape
    ///     (3, 2)
    fn adjoint(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        run_or_self("adjoint", slf, 0, &|x| x.matrix_transpose("adjoint"))
    }
}

/// Return a view with dimensions at other positions. The other dimensions keep their order.
///
/// Args:
///     input: The tensor.
///     source: The dimension or dimensions that are moved.
///     destination: The new position of each of them.
///
/// Raises:
///     IndexError: The tensor does not have one of the dimensions.
///     ArgumentError: A dimension is named twice, or the numbers of dimensions differ.
///
/// Example:
///     >>> import interlock
///     >>> interlock.movedim(interlock.zeros(2, 3, 4), (0, 1), (1, 0)).shape
///     (3, 2, 4)
#[pyfunction]
fn movedim(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = lists::movedim::source)] source: Vec<i64>,
    #[pyo3(from_py_with = lists::movedim::destination)] destination: Vec<i64>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("movedim: input", input)?;
    run_op(py, "movedim", 0, || x.movedim(&source, &destination))
}

/// Return a view with dimensions at other positions, as `movedim`.
///
/// Args:
///     input: The tensor.
///     source: The dimension or dimensions that are moved.
///     destination: The new position of each of them.
///
/// Raises:
///     IndexError: The tensor does not have one of the dimensions.
///     ArgumentError: A dimension is named twice, or the numbers of dimensions differ.
///
/// Example:
///     >>> import interlock
///     >>> interlock.moveaxis(interlock.zeros(2, 3, 4), 0, -1).shape
///     (3, 4, 2)
#[pyfunction]
fn moveaxis(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = lists::moveaxis::source)] source: Vec<i64>,
    #[pyo3(from_py_with = lists::moveaxis::destination)] destination: Vec<i64>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("moveaxis: input", input)?;
    run_op(py, "moveaxis", 0, || x.movedim(&source, &destination))
}

/// Return a view with two dimensions exchanged, as `transpose`.
///
/// Args:
///     input: The tensor.
///     axis0: The first dimension. Negative dimensions count from the last.
///     axis1: The second dimension.
///
/// Raises:
///     IndexError: The tensor does not have one of the dimensions.
///
/// Example:
///     >>> import interlock
///     >>> interlock.swapaxes(interlock.zeros(2, 3, 4), 0, -1).shape
///     (4, 3, 2)
#[pyfunction]
fn swapaxes(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::swapaxes::axis0)] axis0: i64,
    #[pyo3(from_py_with = ints::swapaxes::axis1)] axis1: i64,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("swapaxes: input", input)?;
    run_op(py, "swapaxes", 0, || x.transpose(axis0, axis1))
}

/// Return a view with two dimensions exchanged, as `transpose`.
///
/// Args:
///     input: The tensor.
///     dim0: The first dimension. Negative dimensions count from the last.
///     dim1: The second dimension.
///
/// Raises:
///     IndexError: The tensor does not have one of the dimensions.
///
/// Example:
///     >>> import interlock
///     >>> interlock.swapdims(interlock.zeros(2, 3, 4), 0, -1).shape
///     (4, 3, 2)
#[pyfunction]
fn swapdims(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::swapdims::dim0)] dim0: i64,
    #[pyo3(from_py_with = ints::swapdims::dim1)] dim1: i64,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("swapdims: input", input)?;
    run_op(py, "swapdims", 0, || x.transpose(dim0, dim1))
}

/// Return the conjugate transpose of a matrix, or of each matrix of a batch: that of real numbers is `mT`.
///
/// Args:
///     input: The tensor.
///
/// Raises:
///     ShapeError: The tensor has one dimension.
///
/// Example:
///     >>> import interlock
///     >>> interlock.adjoint(interlock.zeros(2, 3)).shape
///     (3, 2)
#[pyfunction]
fn adjoint<'py>(input: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Tensor>> {
    extract_tensor("adjoint: input", input)?;
    run_or_self("adjoint", input.cast::<Tensor>()?.clone(), 0, &|x| x.matrix_transpose("adjoint"))
}
