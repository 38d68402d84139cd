//! Views that merge or divide dimensions, and diagonals.

use pyo3::prelude::*;

use super::args::{extract_object, extract_tensor};
use super::numeric_args::{ints, lists};
use super::views::run_or_self;
use super::{Tensor, run_op, work_size};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(flatten, module)?)?;
    module.add_function(wrap_pyfunction!(unflatten, module)?)?;
    module.add_function(wrap_pyfunction!(ravel, module)?)?;
    module.add_function(wrap_pyfunction!(diagonal, module)?)
}

#[pymethods]
impl Tensor {
    /// Return the elements with some or all dimensions merged into one: a view if possible.
    ///
    /// Args:
    ///     start_dim: The first of the merged dimensions.
    ///     end_dim: The last of the merged dimensions.
    ///
    /// Returns:
    ///     The tensor itself if `start_dim` is `end_dim`.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have one of the dimensions.
    ///     ArgumentError: `end_dim` is before `start_dim`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2, 3, 4).flatten(1).shape
    ///     (2, 12)
    #[pyo3(signature = (start_dim = 0, end_dim = -1), text_signature = "($self, start_dim=0, end_dim=-1)")]
    fn flatten(
        slf: Bound<'_, Self>,
        #[pyo3(from_py_with = ints::flatten::start_dim)] start_dim: i64,
        #[pyo3(from_py_with = ints::flatten::end_dim)] end_dim: i64,
    ) -> PyResult<Bound<'_, Self>> {
        run_or_self("flatten", slf, 0, &|x| x.flatten_dims(start_dim, end_dim))
    }

    /// Return a view with a dimension divided into several.
    ///
    /// Args:
    ///     dim: The dimension.
    ///     sizes: The sizes of the new dimensions. One may be -1, and is inferred.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ShapeError: The sizes do not multiply to the size of the dimension, or the tensor has no dimensions.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2, 12).unflatten(1, (3, -1)).shape
    ///     (2, 3, 4)
    fn unflatten(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = ints::unflatten::dim)] dim: i64,
        #[pyo3(from_py_with = lists::unflatten::sizes)] sizes: Vec<i64>,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "unflatten", 0, || x.unflatten(dim, &sizes))
    }

    /// Return the elements in one dimension: a view if the tensor is contiguous, else a copy.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2, 3).ravel().shape
    ///     (6,)
    fn ravel(&self, py: Python<'_>) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "ravel", work_size(x), || x.ravel())
    }

    /// Return a view of the diagonals of matrices. The diagonal is the last dimension of the view.
    ///
    /// Args:
    ///     offset: The distance from the main diagonal: positive above it and negative below it.
    ///     dim1: The dimension of the rows.
    ///     dim2: The dimension of the columns.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have one of the dimensions.
    ///     ArgumentError: The dimensions are equal.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.arange(6).view(2, 3).diagonal(1)
    ///     tensor([1, 5])
    #[pyo3(signature = (offset = 0, dim1 = 0, dim2 = 1))]
    fn diagonal(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = ints::diagonal::offset)] offset: i64,
        #[pyo3(from_py_with = ints::diagonal::dim1)] dim1: i64,
        #[pyo3(from_py_with = ints::diagonal::dim2)] dim2: i64,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "diagonal", 0, || x.diagonal(offset, dim1, dim2))
    }
}

/// Return the elements with some or all dimensions merged into one: a view if possible.
///
/// Args:
///     input: The tensor.
///     start_dim: The first of the merged dimensions.
///     end_dim: The last of the merged dimensions.
///
/// Returns:
///     The tensor itself if `start_dim` is `end_dim`.
///
/// Raises:
///     IndexError: The tensor does not have one of the dimensions.
///     ArgumentError: `end_dim` is before `start_dim`.
///
/// Example:
///     >>> import interlock
///     >>> interlock.flatten(interlock.zeros(2, 3, 4), 1).shape
///     (2, 12)
#[pyfunction]
#[pyo3(signature = (input, start_dim = 0, end_dim = -1), text_signature = "(input, start_dim=0, end_dim=-1)")]
fn flatten<'py>(
    input: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = ints::flatten::start_dim)] start_dim: i64,
    #[pyo3(from_py_with = ints::flatten::end_dim)] end_dim: i64,
) -> PyResult<Bound<'py, Tensor>> {
    run_or_self("flatten", extract_object("flatten: input", input)?, 0, &|x| {
        x.flatten_dims(start_dim, end_dim)
    })
}

/// Return a view with a dimension divided into several.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///     sizes: The sizes of the new dimensions. One may be -1, and is inferred.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ShapeError: The sizes do not multiply to the size of the dimension, or the tensor has no dimensions.
///
/// Example:
///     >>> import interlock
///     >>> interlock.unflatten(interlock.zeros(2, 12), 1, (3, -1)).shape
///     (2, 3, 4)
#[pyfunction]
fn unflatten(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::unflatten::dim)] dim: i64,
    #[pyo3(from_py_with = lists::unflatten::sizes)] sizes: Vec<i64>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("unflatten: input", input)?;
    run_op(py, "unflatten", 0, || x.unflatten(dim, &sizes))
}

/// Return the elements in one dimension: a view if the tensor is contiguous, else a copy.
///
/// Args:
///     input: The tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.ravel(interlock.zeros(2, 3)).shape
///     (6,)
#[pyfunction]
fn ravel(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("ravel: input", input)?;
    run_op(py, "ravel", work_size(x), || x.ravel())
}

/// Return a view of the diagonals of matrices. The diagonal is the last dimension of the view.
///
/// Args:
///     input: The tensor.
///     offset: The distance from the main diagonal: positive above it and negative below it.
///     dim1: The dimension of the rows.
///     dim2: The dimension of the columns.
///
/// Raises:
///     IndexError: The tensor does not have one of the dimensions.
///     ArgumentError: The dimensions are equal.
///
/// Example:
///     >>> import interlock
///     >>> interlock.diagonal(interlock.arange(6).view(2, 3))
///     tensor([0, 4])
#[pyfunction]
#[pyo3(signature = (input, offset = 0, dim1 = 0, dim2 = 1))]
fn diagonal(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::diagonal::offset)] offset: i64,
    #[pyo3(from_py_with = ints::diagonal::dim1)] dim1: i64,
    #[pyo3(from_py_with = ints::diagonal::dim2)] dim2: i64,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("diagonal: input", input)?;
    run_op(py, "diagonal", 0, || x.diagonal(offset, dim1, dim2))
}
