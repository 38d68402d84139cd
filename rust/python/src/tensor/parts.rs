//! Views of parts of a dimension.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::args::{extract_int, extract_int_or_ints, extract_tensor};
use super::fallible_alloc::try_tuple;
use super::numeric_args::{ints, lists};
use super::{Tensor, maybe_detach, run_op};
use crate::scope_debug;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(narrow, module)?)?;
    module.add_function(wrap_pyfunction!(split, module)?)?;
    module.add_function(wrap_pyfunction!(split_with_sizes, module)?)?;
    module.add_function(wrap_pyfunction!(chunk, module)?)?;
    module.add_function(wrap_pyfunction!(tensor_split, module)?)?;
    module.add_function(wrap_pyfunction!(unbind, module)?)
}

/// Runs an operation that returns several views.
pub(super) fn run_views<'py>(
    py: Python<'py>,
    op: &'static str,
    operation: impl FnOnce() -> Result<Vec<CoreTensor>> + Send,
) -> PyResult<Bound<'py, PyTuple>> {
    scope_debug::warn_suspended_scopes(py)?;
    tuple_of(py, maybe_detach(py, op, 0, operation)?)
}

/// Returns a tuple of tensors.
fn tuple_of(py: Python<'_>, views: Vec<CoreTensor>) -> PyResult<Bound<'_, PyTuple>> {
    try_tuple(py, views.into_iter().map(|view| Bound::new(py, Tensor(view)).map(Bound::into_any)))
}

/// Runs an operation that returns a view of each tensor, or the tensor itself, and returns the results. A tensor itself
/// is the Python object that was given.
pub(super) fn run_views_or_selves<'py>(
    tensors: &Bound<'py, PyTuple>,
    op: &'static str,
    operation: impl FnOnce() -> Result<Vec<CoreTensor>> + Send,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = tensors.py();
    scope_debug::warn_suspended_scopes(py)?;
    let results = maybe_detach(py, op, 0, operation)?;
    let object = |(result, given): (CoreTensor, Bound<'py, PyAny>)| match given.cast::<Tensor>() {
        Ok(tensor) if tensor.get().0.is(&result) => Ok(given),
        _ => Bound::new(py, Tensor(result)).map(Bound::into_any),
    };
    try_tuple(py, results.into_iter().zip(tensors.iter()).map(object))
}

/// Splits into parts of one size, or of the sizes of a tuple or list.
fn split_by<'py>(
    py: Python<'py>,
    x: &CoreTensor,
    size: &Bound<'_, PyAny>,
    dim: i64,
) -> PyResult<Bound<'py, PyTuple>> {
    if size.is_instance_of::<PyTuple>() || size.is_instance_of::<PyList>() {
        let sizes = extract_int_or_ints("split: split_size", size)?;
        return run_views(py, "split", || x.split_with_sizes(&sizes, dim));
    }
    let size = extract_int("split: split_size", size)?;
    run_views(py, "split", || x.split(size, dim))
}

/// Splits into a number of parts, or at the indices of a tuple, list or one-dimensional tensor.
fn split_at<'py>(
    py: Python<'py>,
    x: &CoreTensor,
    given: &Bound<'_, PyAny>,
    dim: i64,
) -> PyResult<Bound<'py, PyTuple>> {
    let what = "tensor_split: indices_or_sections";
    if let Ok(tensor) = given.cast::<Tensor>()
        && tensor.get().0.ndim() == 1
    {
        let tensor = &tensor.get().0;
        return run_views(py, "tensor_split", || x.tensor_split_at(&tensor.to_vec::<i64>()?, dim));
    }
    if given.is_instance_of::<PyTuple>() || given.is_instance_of::<PyList>() {
        let indices = extract_int_or_ints(what, given)?;
        return run_views(py, "tensor_split", || x.tensor_split_at(&indices, dim));
    }
    let sections = extract_int(what, given)?;
    run_views(py, "tensor_split", || x.tensor_split(sections, dim))
}

#[pymethods]
impl Tensor {
    /// Return a view of some consecutive indices of a dimension.
    ///
    /// Args:
    ///     dim: The dimension.
    ///     start: The first index. A negative index counts from the end.
    ///     length: The number of indices.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim` or index `start`.
    ///     ShapeError: The tensor has no dimensions.
    ///     ArgumentError: `length` is negative or exceeds the dimension.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.arange(5).narrow(0, 1, 3)
    ///     tensor([1, 2, 3])
    fn narrow(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = ints::narrow::dim)] dim: i64,
        #[pyo3(from_py_with = ints::narrow::start)] start: i64,
        #[pyo3(from_py_with = ints::narrow::length)] length: i64,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "narrow", 0, || x.narrow(dim, start, length))
    }

    /// Return views of consecutive parts of a dimension.
    ///
    /// The views are results of one node: while gradients are recorded they cannot be changed in place.
    ///
    /// Args:
    ///     split_size: The size of each part, or a tuple or list with the size of each. With one size the last part may be smaller.
    ///     dim: The dimension.
    ///
    /// Returns:
    ///     A tuple of views.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ShapeError: The tensor has no dimensions.
    ///     ArgumentError: A size is negative, the size is 0, or the sizes do not add up to the size of the dimension.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.arange(5).split(3)
    ///     (tensor([0, 1, 2]), tensor([3, 4]))
    ///     >>> interlock.arange(3).split([1, 2])
    ///     (tensor([0]), tensor([1, 2]))
    #[pyo3(signature = (split_size, dim = 0))]
    fn split<'py>(
        &self,
        py: Python<'py>,
        split_size: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = ints::split::dim)] dim: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let x = &self.0;
        split_by(py, x, split_size, dim)
    }

    /// Return views of consecutive parts of a dimension with given sizes, like `split`.
    ///
    /// Args:
    ///     split_sizes: The size of each part.
    ///     dim: The dimension.
    ///
    /// Returns:
    ///     A tuple of views.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ShapeError: The tensor has no dimensions.
    ///     ArgumentError: A size is negative, or the sizes do not add up to the size of the dimension.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.arange(3).split_with_sizes((1, 2))
    ///     (tensor([0]), tensor([1, 2]))
    #[pyo3(signature = (split_sizes, dim = 0))]
    fn split_with_sizes<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = lists::split_with_sizes::split_sizes)] split_sizes: Vec<i64>,
        #[pyo3(from_py_with = ints::split_with_sizes::dim)] dim: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let x = &self.0;
        run_views(py, "split_with_sizes", || x.split_with_sizes(&split_sizes, dim))
    }

    /// Return at most `chunks` views of consecutive parts of a dimension, of equal sizes except for the last.
    ///
    /// The views are results of one node: while gradients are recorded they cannot be changed in place.
    ///
    /// Args:
    ///     chunks: The number of parts. There are fewer if the rounded up size of a part leaves none for the last ones.
    ///     dim: The dimension.
    ///
    /// Returns:
    ///     A tuple of views.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ShapeError: The tensor has no dimensions.
    ///     ArgumentError: `chunks` is not positive.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.arange(5).chunk(2)
    ///     (tensor([0, 1, 2]), tensor([3, 4]))
    #[pyo3(signature = (chunks, dim = 0))]
    fn chunk<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = ints::chunk::chunks)] chunks: i64,
        #[pyo3(from_py_with = ints::chunk::dim)] dim: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let x = &self.0;
        run_views(py, "chunk", || x.chunk(chunks, dim))
    }

    /// Return views of consecutive parts of a dimension, which can be changed in place.
    ///
    /// Args:
    ///     indices_or_sections: The number of parts, the first of which are longer by 1 if the size is not a multiple; or a tuple,
    ///         list or one-dimensional tensor with the index at which each part after the first begins.
    ///     dim: The dimension.
    ///
    /// Returns:
    ///     A tuple of views.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ShapeError: The tensor has no dimensions.
    ///     ArgumentError: The number of parts is not positive.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.arange(5).tensor_split((1, 4))
    ///     (tensor([0]), tensor([1, 2, 3]), tensor([4]))
    #[pyo3(signature = (indices_or_sections, dim = 0))]
    fn tensor_split<'py>(
        &self,
        py: Python<'py>,
        indices_or_sections: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = ints::tensor_split::dim)] dim: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let x = &self.0;
        split_at(py, x, indices_or_sections, dim)
    }

    /// Return a view at each index of a dimension, without that dimension.
    ///
    /// The views are results of one node: while gradients are recorded they cannot be changed in place.
    ///
    /// Args:
    ///     dim: The dimension.
    ///
    /// Returns:
    ///     A tuple of views.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1, 2], [3, 4]]).unbind(1)
    ///     (tensor([1, 3]), tensor([2, 4]))
    #[pyo3(signature = (dim = 0))]
    fn unbind<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = ints::unbind::dim)] dim: i64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let x = &self.0;
        run_views(py, "unbind", || x.unbind(dim))
    }
}

/// Return a view of some consecutive indices of a dimension.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///     start: The first index. A negative index counts from the end.
///     length: The number of indices.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim` or index `start`.
///     ShapeError: The tensor has no dimensions.
///     ArgumentError: `length` is negative or exceeds the dimension.
///
/// Example:
///     >>> import interlock
///     >>> interlock.narrow(interlock.arange(5), 0, 1, 3)
///     tensor([1, 2, 3])
#[pyfunction]
fn narrow(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::narrow::dim)] dim: i64,
    #[pyo3(from_py_with = ints::narrow::start)] start: i64,
    #[pyo3(from_py_with = ints::narrow::length)] length: i64,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("narrow: input", input)?;
    run_op(py, "narrow", 0, || x.narrow(dim, start, length))
}

/// Return views of consecutive parts of a dimension.
///
/// The views are results of one node: while gradients are recorded they cannot be changed in place.
///
/// Args:
///     tensor: The tensor.
///     split_size_or_sections: The size of each part, or a tuple or list with the size of each. With one size the last part
///         may be smaller.
///     dim: The dimension.
///
/// Returns:
///     A tuple of views.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ShapeError: The tensor has no dimensions.
///     ArgumentError: A size is negative, the size is 0, or the sizes do not add up to the size of the dimension.
///
/// Example:
///     >>> import interlock
///     >>> interlock.split(interlock.arange(5), 3)
///     (tensor([0, 1, 2]), tensor([3, 4]))
#[pyfunction]
#[pyo3(signature = (tensor, split_size_or_sections, dim = 0))]
fn split<'py>(
    tensor: &Bound<'py, PyAny>,
    split_size_or_sections: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::split::dim)] dim: i64,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = tensor.py();
    let x = &extract_tensor("split: tensor", tensor)?;
    split_by(py, x, split_size_or_sections, dim)
}

/// Return views of consecutive parts of a dimension with given sizes, like `split`.
///
/// Args:
///     input: The tensor.
///     split_sizes: The size of each part.
///     dim: The dimension.
///
/// Returns:
///     A tuple of views.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ShapeError: The tensor has no dimensions.
///     ArgumentError: A size is negative, or the sizes do not add up to the size of the dimension.
///
/// Example:
///     >>> import interlock
///     >>> interlock.split_with_sizes(interlock.arange(3), (1, 2))
///     (tensor([0]), tensor([1, 2]))
#[pyfunction]
#[pyo3(signature = (input, split_sizes, dim = 0))]
fn split_with_sizes<'py>(
    input: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = lists::split_with_sizes::split_sizes)] split_sizes: Vec<i64>,
    #[pyo3(from_py_with = ints::split_with_sizes::dim)] dim: i64,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = input.py();
    let x = &extract_tensor("split_with_sizes: input", input)?;
    run_views(py, "split_with_sizes", || x.split_with_sizes(&split_sizes, dim))
}

/// Return at most `chunks` views of consecutive parts of a dimension, of equal sizes except for the last.
///
/// The views are results of one node: while gradients are recorded they cannot be changed in place.
///
/// Args:
///     input: The tensor.
///     chunks: The number of parts. There are fewer if the rounded up size of a part leaves none for the last ones.
///     dim: The dimension.
///
/// Returns:
///     A tuple of views.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ShapeError: The tensor has no dimensions.
///     ArgumentError: `chunks` is not positive.
///
/// Example:
///     >>> import interlock
///     >>> interlock.chunk(interlock.arange(5), 2)
///     (tensor([0, 1, 2]), tensor([3, 4]))
#[pyfunction]
#[pyo3(signature = (input, chunks, dim = 0))]
fn chunk<'py>(
    input: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = ints::chunk::chunks)] chunks: i64,
    #[pyo3(from_py_with = ints::chunk::dim)] dim: i64,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = input.py();
    let x = &extract_tensor("chunk: input", input)?;
    run_views(py, "chunk", || x.chunk(chunks, dim))
}

/// Return views of consecutive parts of a dimension, which can be changed in place.
///
/// Args:
///     input: The tensor.
///     indices_or_sections: The number of parts, the first of which are longer by 1 if the size is not a multiple; or a tuple,
///         list or one-dimensional tensor with the index at which each part after the first begins.
///     dim: The dimension.
///
/// Returns:
///     A tuple of views.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ShapeError: The tensor has no dimensions.
///     ArgumentError: The number of parts is not positive.
///
/// Example:
///     >>> import interlock
///     >>> interlock.tensor_split(interlock.arange(5), 2)
///     (tensor([0, 1, 2]), tensor([3, 4]))
#[pyfunction]
#[pyo3(signature = (input, indices_or_sections, dim = 0))]
fn tensor_split<'py>(
    input: &Bound<'py, PyAny>,
    indices_or_sections: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::tensor_split::dim)] dim: i64,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = input.py();
    let x = &extract_tensor("tensor_split: input", input)?;
    split_at(py, x, indices_or_sections, dim)
}

/// Return a view at each index of a dimension, without that dimension.
///
/// The views are results of one node: while gradients are recorded they cannot be changed in place.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///
/// Returns:
///     A tuple of views.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///
/// Example:
///     >>> import interlock
///     >>> interlock.unbind(interlock.tensor([[1, 2], [3, 4]]))
///     (tensor([1, 2]), tensor([3, 4]))
#[pyfunction]
#[pyo3(signature = (input, dim = 0))]
fn unbind<'py>(
    input: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = ints::unbind::dim)] dim: i64,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = input.py();
    let x = &extract_tensor("unbind: input", input)?;
    run_views(py, "unbind", || x.unbind(dim))
}
