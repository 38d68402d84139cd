//! Maxima and minima, and their indices.

use interlock_tensor::{Tensor as CoreTensor, elementwise};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::args::{OptionalArg, extract_tensor};
use super::reduce::{dim, dims};
use super::return_types::pair;
use super::{Tensor, run_op, work_size, work_size_of};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(max, module)?)?;
    module.add_function(wrap_pyfunction!(min, module)?)?;
    module.add_function(wrap_pyfunction!(amax, module)?)?;
    module.add_function(wrap_pyfunction!(amin, module)?)?;
    module.add_function(wrap_pyfunction!(aminmax, module)?)
}

fn max_of<'py>(
    py: Python<'py>,
    input: &CoreTensor,
    dim: OptionalArg<'_, '_>,
    keepdim: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(other) = dim.and_then(|dim| dim.cast::<Tensor>().ok()) {
        let other = other.get().0.clone();
        let size = work_size_of(&[input, &other]);
        return run_op(py, "max", size, || elementwise::maximum(input, &other))?.into_bound_py_any(py);
    }
    match self::dim("max: dim", dim)? {
        Some(dim) => pair(py, "max", work_size(input), || input.max_along(dim, keepdim)),
        None if keepdim => Err(PyTypeError::new_err("max: keepdim needs a dim; amax() and amin() take both")),
        None => run_op(py, "max", work_size(input), || input.max())?.into_bound_py_any(py),
    }
}

fn min_of<'py>(
    py: Python<'py>,
    input: &CoreTensor,
    dim: OptionalArg<'_, '_>,
    keepdim: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(other) = dim.and_then(|dim| dim.cast::<Tensor>().ok()) {
        let other = other.get().0.clone();
        let size = work_size_of(&[input, &other]);
        return run_op(py, "min", size, || elementwise::minimum(input, &other))?.into_bound_py_any(py);
    }
    match self::dim("min: dim", dim)? {
        Some(dim) => pair(py, "min", work_size(input), || input.min_along(dim, keepdim)),
        None if keepdim => Err(PyTypeError::new_err("min: keepdim needs a dim; amax() and amin() take both")),
        None => run_op(py, "min", work_size(input), || input.min())?.into_bound_py_any(py),
    }
}

fn amax_of(py: Python<'_>, input: &CoreTensor, dim: OptionalArg<'_, '_>, keepdim: bool) -> PyResult<Tensor> {
    let dims = dims("amax: dim", dim)?;
    run_op(py, "amax", work_size(input), || input.amax(dims.as_deref(), keepdim))
}

fn amin_of(py: Python<'_>, input: &CoreTensor, dim: OptionalArg<'_, '_>, keepdim: bool) -> PyResult<Tensor> {
    let dims = dims("amin: dim", dim)?;
    run_op(py, "amin", work_size(input), || input.amin(dims.as_deref(), keepdim))
}

fn aminmax_of<'py>(
    py: Python<'py>,
    input: &CoreTensor,
    dim: OptionalArg<'_, '_>,
    keepdim: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let dim = self::dim("aminmax: dim", dim)?;
    pair(py, "aminmax", work_size(input), || input.aminmax(dim, keepdim))
}

#[pymethods]
impl Tensor {
    /// Return the maximum of all elements, or along a dimension, or of each pair of elements of two tensors.
    ///
    /// Args:
    ///     dim: The dimension, or a tensor. None means all elements.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///
    /// Returns:
    ///     The maximum of all elements, which share the gradient if they are equal. With a dimension a named tuple
    ///     `(values, indices)` in which the first of equal elements counts and receives the gradient. With a tensor
    ///     the larger elements of both, as `maximum`. NaN counts as the maximum.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ShapeError: There are no elements.
    ///     IndexError: The dimension has size 0.
    ///     TypeError: `keepdim` is set without `dim`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[1, 5], [7, 2]])
    ///     >>> x.max()
    ///     tensor(7)
    ///     >>> x.max(1).values
    ///     tensor([5, 7])
    #[pyo3(signature = (dim = None, keepdim = false))]
    fn max<'py>(
        &self,
        py: Python<'py>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::max::keepdim)] keepdim: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        max_of(py, &self.0, dim, keepdim)
    }

    /// Return the minimum of all elements, or along a dimension, or of each pair of elements of two tensors.
    ///
    /// Args:
    ///     dim: The dimension, or a tensor. None means all elements.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///
    /// Returns:
    ///     The minimum of all elements, which share the gradient if they are equal. With a dimension a named tuple
    ///     `(values, indices)` in which the first of equal elements counts and receives the gradient. With a tensor
    ///     the smaller elements of both, as `minimum`. NaN counts as the minimum.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ShapeError: There are no elements.
    ///     IndexError: The dimension has size 0.
    ///     TypeError: `keepdim` is set without `dim`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[1, 5], [7, 2]])
    ///     >>> x.min()
    ///     tensor(1)
    ///     >>> x.min(1).values
    ///     tensor([1, 2])
    #[pyo3(signature = (dim = None, keepdim = false))]
    fn min<'py>(
        &self,
        py: Python<'py>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::min::keepdim)] keepdim: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        min_of(py, &self.0, dim, keepdim)
    }

    /// Return the maximum of all elements, or over one or several dimensions.
    ///
    /// The result is NaN where an element is NaN. Equal maxima share the gradient.
    ///
    /// Args:
    ///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ArgumentError: `dim` names a dimension twice.
    ///     IndexError: A reduced dimension has size 0.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[1, 5], [7, 2]])
    ///     >>> x.amax(0)
    ///     tensor([7, 5])
    #[pyo3(signature = (dim = None, keepdim = false))]
    fn amax(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::amax::keepdim)] keepdim: bool,
    ) -> PyResult<Tensor> {
        amax_of(py, &self.0, dim, keepdim)
    }

    /// Return the minimum of all elements, or over one or several dimensions.
    ///
    /// The result is NaN where an element is NaN. Equal minima share the gradient.
    ///
    /// Args:
    ///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ArgumentError: `dim` names a dimension twice.
    ///     IndexError: A reduced dimension has size 0.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[1, 5], [7, 2]])
    ///     >>> x.amin(0)
    ///     tensor([1, 2])
    #[pyo3(signature = (dim = None, keepdim = false))]
    fn amin(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::amin::keepdim)] keepdim: bool,
    ) -> PyResult<Tensor> {
        amin_of(py, &self.0, dim, keepdim)
    }

    /// Return the minimum and the maximum of all elements, or along a dimension.
    ///
    /// Args:
    ///     dim: The dimension. None means all elements.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///
    /// Returns:
    ///     A named tuple `(min, max)`. Both are NaN if an element is NaN. Equal extremes share the gradient.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     IndexError: The reduced dimension has size 0.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[1, 5], [7, 2]])
    ///     >>> low, high = x.aminmax()
    ///     >>> low, high
    ///     (tensor(1), tensor(7))
    #[pyo3(signature = (*, dim = None, keepdim = false))]
    fn aminmax<'py>(
        &self,
        py: Python<'py>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::aminmax::keepdim)] keepdim: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        aminmax_of(py, &self.0, dim, keepdim)
    }
}

/// Return the maximum of all elements, or along a dimension, or of each pair of elements of two tensors.
///
/// Args:
///     input: The tensor.
///     dim: The dimension, or a tensor. None means all elements.
///     keepdim: Whether reduced dimensions remain, with size 1.
///
/// Returns:
///     The maximum of all elements, which share the gradient if they are equal. With a dimension a named tuple
///     `(values, indices)` in which the first of equal elements counts and receives the gradient. With a tensor the
///     larger elements of both, as `maximum`. NaN counts as the maximum.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ShapeError: There are no elements.
///     IndexError: The dimension has size 0.
///     TypeError: `keepdim` is set without `dim`.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[1, 5], [7, 2]])
///     >>> interlock.max(x)
///     tensor(7)
///     >>> interlock.max(x, 1).values
///     tensor([5, 7])
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false))]
fn max<'py>(
    input: &Bound<'py, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::max::keepdim)] keepdim: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor = extract_tensor("max: input", input)?;
    max_of(input.py(), &tensor, dim, keepdim)
}

/// Return the minimum of all elements, or along a dimension, or of each pair of elements of two tensors.
///
/// Args:
///     input: The tensor.
///     dim: The dimension, or a tensor. None means all elements.
///     keepdim: Whether reduced dimensions remain, with size 1.
///
/// Returns:
///     The minimum of all elements, which share the gradient if they are equal. With a dimension a named tuple
///     `(values, indices)` in which the first of equal elements counts and receives the gradient. With a tensor the
///     smaller elements of both, as `minimum`. NaN counts as the minimum.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ShapeError: There are no elements.
///     IndexError: The dimension has size 0.
///     TypeError: `keepdim` is set without `dim`.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[1, 5], [7, 2]])
///     >>> interlock.min(x)
///     tensor(1)
///     >>> interlock.min(x, 1).values
///     tensor([1, 2])
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false))]
fn min<'py>(
    input: &Bound<'py, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::min::keepdim)] keepdim: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor = extract_tensor("min: input", input)?;
    min_of(input.py(), &tensor, dim, keepdim)
}

/// Return the maximum of all elements, or over one or several dimensions.
///
/// The result is NaN where an element is NaN. Equal maxima share the gradient.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
///     keepdim: Whether reduced dimensions remain, with size 1.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///     IndexError: A reduced dimension has size 0.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[1, 5], [7, 2]])
///     >>> interlock.amax(x, 0)
///     tensor([7, 5])
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false))]
fn amax(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::amax::keepdim)] keepdim: bool,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("amax: input", input)?;
    amax_of(input.py(), &tensor, dim, keepdim)
}

/// Return the minimum of all elements, or over one or several dimensions.
///
/// The result is NaN where an element is NaN. Equal minima share the gradient.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
///     keepdim: Whether reduced dimensions remain, with size 1.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///     IndexError: A reduced dimension has size 0.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[1, 5], [7, 2]])
///     >>> interlock.amin(x, 0)
///     tensor([1, 2])
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false))]
fn amin(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::amin::keepdim)] keepdim: bool,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("amin: input", input)?;
    amin_of(input.py(), &tensor, dim, keepdim)
}

/// Return the minimum and the maximum of all elements, or along a dimension.
///
/// Args:
///     input: The tensor.
///     dim: The dimension. None means all elements.
///     keepdim: Whether reduced dimensions remain, with size 1.
///
/// Returns:
///     A named tuple `(min, max)`. Both are NaN if an element is NaN. Equal extremes share the gradient.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     IndexError: The reduced dimension has size 0.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[1, 5], [7, 2]])
///     >>> low, high = interlock.aminmax(x)
///     >>> low, high
///     (tensor(1), tensor(7))
#[pyfunction]
#[pyo3(signature = (input, *, dim = None, keepdim = false))]
fn aminmax<'py>(
    input: &Bound<'py, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::aminmax::keepdim)] keepdim: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor = extract_tensor("aminmax: input", input)?;
    aminmax_of(input.py(), &tensor, dim, keepdim)
}
