//! Copies with dimensions in reverse order.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::args::extract_tensor;
use super::numeric_args::lists;
use super::rearrange::required_ints;
use super::{Tensor, run_op, work_size};

type OptionalArg<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(flip, module)?)?;
    module.add_function(wrap_pyfunction!(fliplr, module)?)?;
    module.add_function(wrap_pyfunction!(flipud, module)?)
}

#[pymethods]
impl Tensor {
    /// Return a copy with the elements of dimensions in reverse order.
    ///
    /// Args:
    ///     args: The dimensions, as separate ints or as one tuple or list.
    ///     dims: The dimensions as a tuple or list, by name instead of `args`.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have one of the dimensions.
    ///     ArgumentError: A dimension is named twice.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1, 2], [3, 4]]).flip(0)
    ///     tensor([[3, 4],
    ///             [1, 2]])
    #[pyo3(signature = (*args, dims = None))]
    fn flip(&self, py: Python<'_>, args: &Bound<'_, PyTuple>, dims: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        let x = &self.0;
        let dims = required_ints("flip: dims", args, dims)?;
        run_op(py, "flip", work_size(x), || x.flip(&dims))
    }

    /// Return a copy with the columns of a matrix, or of each matrix in the first two dimensions, in reverse order.
    ///
    /// Raises:
    ///     ShapeError: The tensor has fewer than two dimensions.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1, 2], [3, 4]]).fliplr()
    ///     tensor([[2, 1],
    ///             [4, 3]])
    fn fliplr(&self, py: Python<'_>) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "fliplr", work_size(x), || x.fliplr())
    }

    /// Return a copy with the rows, which are along the first dimension, in reverse order.
    ///
    /// Raises:
    ///     ShapeError: The tensor has no dimensions.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1, 2], [3, 4]]).flipud()
    ///     tensor([[3, 4],
    ///             [1, 2]])
    fn flipud(&self, py: Python<'_>) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "flipud", work_size(x), || x.flipud())
    }
}

/// Return a copy with the elements of dimensions in reverse order.
///
/// Args:
///     input: The tensor.
///     dims: The dimension or dimensions.
///
/// Raises:
///     IndexError: The tensor does not have one of the dimensions.
///     ArgumentError: A dimension is named twice.
///
/// Example:
///     >>> import interlock
///     >>> interlock.flip(interlock.tensor([[1, 2], [3, 4]]), (0, 1))
///     tensor([[4, 3],
///             [2, 1]])
#[pyfunction]
fn flip(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = lists::flip::dims)] dims: Vec<i64>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("flip: input", input)?;
    run_op(py, "flip", work_size(x), || x.flip(&dims))
}

/// Return a copy with the columns of a matrix, or of each matrix in the first two dimensions, in reverse order.
///
/// Args:
///     input: The tensor.
///
/// Raises:
///     ShapeError: The tensor has fewer than two dimensions.
///
/// Example:
///     >>> import interlock
///     >>> interlock.fliplr(interlock.tensor([[1, 2], [3, 4]]))
///     tensor([[2, 1],
///             [4, 3]])
#[pyfunction]
fn fliplr(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let x = &extract_tensor("fliplr: input", input)?;
    run_op(input.py(), "fliplr", work_size(x), || x.fliplr())
}

/// Return a copy with the rows, which are along the first dimension, in reverse order.
///
/// Args:
///     input: The tensor.
///
/// Raises:
///     ShapeError: The tensor has no dimensions.
///
/// Example:
///     >>> import interlock
///     >>> interlock.flipud(interlock.tensor([[1, 2], [3, 4]]))
///     tensor([[3, 4],
///             [1, 2]])
#[pyfunction]
fn flipud(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let x = &extract_tensor("flipud: input", input)?;
    run_op(input.py(), "flipud", work_size(x), || x.flipud())
}
