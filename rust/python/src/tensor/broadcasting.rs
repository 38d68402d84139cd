//! Views that are expanded, and views and copies with the shape of another tensor.

use interlock_tensor::broadcast_tensors as broadcast_all;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::args::{OptionalArg, extract_ints_or_named, extract_tensor};
use super::numeric_args::lists;
use super::parts::{run_views, run_views_or_selves};
use super::products_old::extract_tensors;
use super::views::run_or_self;
use super::{Tensor, run_op, work_size};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(broadcast_to, module)?)?;
    module.add_function(wrap_pyfunction!(broadcast_tensors, module)?)?;
    module.add_function(wrap_pyfunction!(atleast_1d, module)?)?;
    module.add_function(wrap_pyfunction!(atleast_2d, module)?)?;
    module.add_function(wrap_pyfunction!(atleast_3d, module)?)
}

/// Returns the arguments with at least `ndim` dimensions: a tuple, or one tensor if that is the only argument.
fn at_least<'py>(
    op: &'static str,
    ndim: usize,
    tensors: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = tensors.py();
    if tensors.len() == 1 {
        let first = tensors.get_item(0)?;
        if first.is_instance_of::<Tensor>() {
            return Ok(run_or_self(op, first.cast_into()?, 0, &|x| x.at_least(ndim))?.into_any());
        }
        let (what, item) = (format!("{op}: tensors"), format!("{op}: each item of tensors"));
        let parts = extract_tensors(&what, &item, &first)?;
        return Ok(run_views(py, op, || parts.iter().map(|part| part.at_least(ndim)).collect())?.into_any());
    }
    let parts = extract_tensors(&format!("{op}: tensors"), &format!("{op}: each argument"), tensors)?;
    Ok(run_views_or_selves(tensors, op, || parts.iter().map(|part| part.at_least(ndim)).collect())?
        .into_any())
}

#[pymethods]
impl Tensor {
    /// Return a view with the shape of another tensor.
    ///
    /// Args:
    ///     other: The tensor whose shape is used.
    ///
    /// Raises:
    ///     ShapeError: The number of elements differs, or a copy would be needed.
    ///     TypeError: `other` is not a tensor.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.arange(4).view_as(interlock.zeros(2, 2))
    ///     tensor([[0, 1],
    ///             [2, 3]])
    fn view_as(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let x = &self.0;
        let other = extract_tensor("view_as: other", other)?;
        run_op(py, "view_as", work_size(x), || x.view_as(&other))
    }

    /// Return the elements in the shape of another tensor: a view if possible, else a copy.
    ///
    /// Args:
    ///     other: The tensor whose shape is used.
    ///
    /// Raises:
    ///     ShapeError: The number of elements differs.
    ///     TypeError: `other` is not a tensor.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.arange(4).view(2, 2).t().reshape_as(interlock.zeros(4))
    ///     tensor([0, 2, 1, 3])
    fn reshape_as(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let x = &self.0;
        let other = extract_tensor("reshape_as: other", other)?;
        run_op(py, "reshape_as", work_size(x), || x.reshape_as(&other))
    }

    /// Return a view in which dimensions of size 1 are repeated to the shape of another tensor.
    ///
    /// Args:
    ///     other: The tensor whose shape is used.
    ///
    /// Raises:
    ///     ShapeError: A size other than 1 would change.
    ///     TypeError: `other` is not a tensor.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).expand_as(interlock.zeros(2, 2))
    ///     tensor([[1, 2],
    ///             [1, 2]])
    fn expand_as(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let x = &self.0;
        let other = extract_tensor("expand_as: other", other)?;
        run_op(py, "expand_as", work_size(x), || x.expand_as(&other))
    }

    /// Return a view in which dimensions of size 1 are repeated, as `expand`.
    ///
    /// Args:
    ///     args: The new sizes, as separate ints or as one tuple or list. -1 keeps a size; new dimensions come
    ///         first.
    ///     size: The sizes as a tuple or list, by name instead of `args`.
    ///
    /// Raises:
    ///     ShapeError: A size other than 1 would change.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).broadcast_to(2, 2)
    ///     tensor([[1, 2],
    ///             [1, 2]])
    #[pyo3(signature = (*args, size = None))]
    fn broadcast_to(&self, args: &Bound<'_, PyTuple>, size: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        let size = extract_ints_or_named("broadcast_to: size", args, size)?;
        let (py, x) = (args.py(), &self.0);
        run_op(py, "broadcast_to", 0, || x.expand(&size))
    }
}

/// Return a view in which dimensions of size 1 are repeated, as `expand`.
///
/// Args:
///     input: The tensor.
///     size: The new sizes. -1 keeps a size; new dimensions come first.
///
/// Raises:
///     ShapeError: A size other than 1 would change.
///
/// Example:
///     >>> import interlock
///     >>> interlock.broadcast_to(interlock.tensor([1, 2]), (2, 2))
///     tensor([[1, 2],
///             [1, 2]])
#[pyfunction]
fn broadcast_to(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = lists::broadcast_to::size)] size: Vec<i64>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("broadcast_to: input", input)?;
    run_op(py, "broadcast_to", 0, || x.expand(&size))
}

/// Return views of tensors that are expanded to their common shape.
///
/// Args:
///     tensors: The tensors, as separate arguments.
///
/// Returns:
///     A tuple of views.
///
/// Raises:
///     ShapeError: The shapes cannot be broadcast.
///     TypeError: An argument is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x, y = interlock.broadcast_tensors(interlock.zeros(2, 1), interlock.zeros(3))
///     >>> x.shape, y.shape
///     ((2, 3), (2, 3))
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn broadcast_tensors<'py>(tensors: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    let what = "broadcast_tensors: each argument";
    let parts = extract_tensors(what, what, tensors)?;
    run_views_or_selves(tensors, "broadcast_tensors", || broadcast_all(&parts))
}

/// Return tensors with at least 1 dimension.
///
/// Args:
///     tensors: The tensors, as separate arguments or as one tuple or list.
///
/// Returns:
///     A tuple of the tensors themselves, or views with additional dimensions of size 1. For one tensor, that tensor.
///
/// Raises:
///     TypeError: An argument is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.atleast_1d(interlock.tensor(3))
///     tensor([3])
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn atleast_1d<'py>(tensors: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    at_least("atleast_1d", 1, tensors)
}

/// Return tensors with at least 2 dimensions.
///
/// Args:
///     tensors: The tensors, as separate arguments or as one tuple or list.
///
/// Returns:
///     A tuple of the tensors themselves, or views with additional dimensions of size 1. For one tensor, that tensor.
///
/// Raises:
///     TypeError: An argument is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.atleast_2d(interlock.tensor([1, 2]))
///     tensor([[1, 2]])
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn atleast_2d<'py>(tensors: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    at_least("atleast_2d", 2, tensors)
}

/// Return tensors with at least 3 dimensions.
///
/// Args:
///     tensors: The tensors, as separate arguments or as one tuple or list.
///
/// Returns:
///     A tuple of the tensors themselves, or views with additional dimensions of size 1. For one tensor, that tensor.
///
/// Raises:
///     TypeError: An argument is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.atleast_3d(interlock.zeros(2, 3)).shape
///     (2, 3, 1)
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn atleast_3d<'py>(tensors: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    at_least("atleast_3d", 3, tensors)
}
