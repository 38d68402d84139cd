//! Functions that read and write elements at the positions of an index.

use interlock_tensor::WriteTo;
use pyo3::prelude::*;

use super::args::{Arg, OptionalArg, extract_tensor, extract_tensor_object};
use super::{Tensor, index_ops};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(gather, module)?)?;
    module.add_function(wrap_pyfunction!(index_select, module)?)?;
    module.add_function(wrap_pyfunction!(take, module)?)?;
    module.add_function(wrap_pyfunction!(take_along_dim, module)?)?;
    module.add_function(wrap_pyfunction!(masked_select, module)?)?;
    module.add_function(wrap_pyfunction!(nonzero, module)?)?;
    module.add_function(wrap_pyfunction!(index_add, module)?)?;
    module.add_function(wrap_pyfunction!(index_copy, module)?)?;
    module.add_function(wrap_pyfunction!(index_fill, module)?)?;
    module.add_function(wrap_pyfunction!(index_put, module)?)?;
    module.add_function(wrap_pyfunction!(index_put_, module)?)?;
    module.add_function(wrap_pyfunction!(masked_fill, module)?)?;
    module.add_function(wrap_pyfunction!(masked_scatter, module)?)?;
    module.add_function(wrap_pyfunction!(put, module)?)?;
    module.add_function(wrap_pyfunction!(scatter, module)?)?;
    module.add_function(wrap_pyfunction!(scatter_add, module)?)?;
    module.add_function(wrap_pyfunction!(index_ops::embedding, module)?)?;
    module.add_function(wrap_pyfunction!(index_ops::one_hot, module)?)
}

/// Return the elements at `index` along dimension `dim`.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///     index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of the result is the element
///         of the tensor at `index[j]` along `dim` and at j in the other dimensions.
///
/// Returns:
///     A tensor of the shape of `index`.
///
/// Raises:
///     ShapeError: `index` has another number of dimensions, or is larger than the tensor in another dimension.
///     DTypeError: `index` is not int64.
///     IndexError: The tensor does not have dimension `dim`.
///     RuntimeError: An index is negative or out of bounds.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[1, 2], [3, 4]])
///     >>> interlock.gather(x, 1, interlock.tensor([[1], [0]]))
///     tensor([[2],
///             [3]])
#[pyfunction]
fn gather(input: Arg<'_, '_>, dim: Arg<'_, '_>, index: Arg<'_, '_>) -> PyResult<Tensor> {
    index_ops::gather(&extract_tensor("gather: input", input)?, dim, index)
}

/// Return the slices `index` of dimension `dim`.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///     index: Indices of slices, int64, of at most one dimension. Not negative.
///
/// Returns:
///     A new tensor, whose size in `dim` is the size of `index`.
///
/// Raises:
///     IndexError: An index is out of bounds, `index` has two dimensions, or the tensor does not have `dim`.
///     DTypeError: `index` is not int64.
///
/// Example:
///     >>> import interlock
///     >>> interlock.index_select(interlock.tensor([5, 6, 7]), 0, interlock.tensor([2, 0]))
///     tensor([7, 5])
#[pyfunction]
fn index_select(input: Arg<'_, '_>, dim: Arg<'_, '_>, index: Arg<'_, '_>) -> PyResult<Tensor> {
    index_ops::index_select(&extract_tensor("index_select: input", input)?, dim, index)
}

/// Return the elements at flat (row-major) indices.
///
/// Args:
///     input: The tensor.
///     index: Flat indices of elements in row-major order, int64. Negative indices count from the end.
///
/// Returns:
///     A tensor of the shape of `index`.
///
/// Raises:
///     IndexError: An index is out of bounds.
///     DTypeError: `index` is not int64.
///
/// Example:
///     >>> import interlock
///     >>> interlock.take(interlock.tensor([[5, 6], [7, 8]]), interlock.tensor([0, -1]))
///     tensor([5, 8])
#[pyfunction]
fn take(input: Arg<'_, '_>, index: Arg<'_, '_>) -> PyResult<Tensor> {
    index_ops::take(&extract_tensor("take: input", input)?, index)
}

/// Return the elements at `indices` along dimension `dim`, such as the result of `argmax`.
///
/// Args:
///     input: The tensor.
///     indices: The indices, int64. Broadcast with the tensor in the other dimensions. With `dim` they are taken modulo
///         the size of the dimension, so that -1 is the last one.
///     dim: The dimension; None flattens both tensors first.
///
/// Returns:
///     A tensor of the shape of `indices` after broadcasting.
///
/// Raises:
///     ShapeError: The shapes cannot be broadcast, or have different numbers of dimensions.
///     DTypeError: `indices` is not int64.
///     RuntimeError: `dim` is None, and an index is negative or out of bounds.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[1, 5], [7, 2]])
///     >>> interlock.take_along_dim(x, interlock.argmax(x, 1, True), 1)
///     tensor([[5],
///             [7]])
#[pyfunction]
#[pyo3(signature = (input, indices, dim = None))]
fn take_along_dim(input: Arg<'_, '_>, indices: Arg<'_, '_>, dim: OptionalArg<'_, '_>) -> PyResult<Tensor> {
    index_ops::take_along_dim(&extract_tensor("take_along_dim: input", input)?, indices, dim)
}

/// Return the elements where a mask is True, in row-major order. Waits for a device.
///
/// Args:
///     input: The tensor.
///     mask: The mask, bool. Broadcast with the tensor.
///
/// Returns:
///     A tensor with one dimension.
///
/// Raises:
///     DTypeError: `mask` is not bool.
///     ShapeError: The shapes cannot be broadcast.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1, -2, 3])
///     >>> interlock.masked_select(x, x > 0)
///     tensor([1, 3])
#[pyfunction]
fn masked_select(input: Arg<'_, '_>, mask: Arg<'_, '_>) -> PyResult<Tensor> {
    index_ops::masked_select(&extract_tensor("masked_select: input", input)?, mask)
}

/// Return the coordinates of the elements that are not zero. Waits for a device.
///
/// Args:
///     input: The tensor.
///     as_tuple: Whether a tuple with one tensor for each dimension is returned.
///
/// Returns:
///     An int64 tensor of shape [elements, dimensions], in row-major order, or a tuple.
///
/// Example:
///     >>> import interlock
///     >>> interlock.nonzero(interlock.tensor([[0, 2], [3, 0]]))
///     tensor([[0, 1],
///             [1, 0]])
#[pyfunction]
#[pyo3(signature = (input, *, as_tuple = false))]
fn nonzero(
    input: Arg<'_, '_>,
    #[pyo3(from_py_with = switches::nonzero::as_tuple)] as_tuple: bool,
) -> PyResult<Py<PyAny>> {
    index_ops::nonzero(&extract_tensor("nonzero: input", input)?, input.py(), as_tuple)
}

/// Return a copy with the slices of `source` added to the slices `index` of dimension `dim`.
///
/// Sums of several floating-point values for one element have no fixed order, unless
/// `backends.deterministic_algorithms` is set.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///     index: Indices of slices, int64, of at most one dimension. Not negative.
///     source: The slices, of the dtype of the tensor. It has the shape of the tensor, but in `dim` the size of
///         `index`.
///     alpha: A number by which `source` is multiplied first; None means 1.
///
/// Raises:
///     IndexError: An index is out of bounds, or the tensor does not have dimension `dim`.
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
///
/// Example:
///     >>> import interlock
///     >>> index = interlock.tensor([0, 2, 0])
///     >>> interlock.index_add(interlock.zeros(3), 0, index, interlock.ones(3), alpha=2)
///     tensor([4., 0., 2.])
#[pyfunction]
#[pyo3(signature = (input, dim, index, source, *, alpha = None))]
fn index_add(
    input: Arg<'_, '_>,
    dim: Arg<'_, '_>,
    index: Arg<'_, '_>,
    source: Arg<'_, '_>,
    alpha: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    index_ops::index_add(
        WriteTo::Copy,
        &extract_tensor("index_add: input", input)?,
        dim,
        index,
        source,
        alpha,
    )
}

/// Return a copy with the slices of `source` written to the slices `index` of dimension `dim`.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///     index: Indices of slices, int64, of at most one dimension. Not negative. Of several slices for one position the
///         last is stored.
///     source: The slices, of the dtype of the tensor. It has the shape of the tensor, but in `dim` the size of
///         `index`.
///
/// Raises:
///     IndexError: An index is out of bounds, or the tensor does not have dimension `dim`.
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
///
/// Example:
///     >>> import interlock
///     >>> interlock.index_copy(interlock.zeros(3), 0, interlock.tensor([2]), interlock.ones(1))
///     tensor([0., 0., 1.])
#[pyfunction]
fn index_copy(
    input: Arg<'_, '_>,
    dim: Arg<'_, '_>,
    index: Arg<'_, '_>,
    source: Arg<'_, '_>,
) -> PyResult<Tensor> {
    index_ops::index_copy(WriteTo::Copy, &extract_tensor("index_copy: input", input)?, dim, index, source)
}

/// Return a copy with `value` written to the slices `index` of dimension `dim`.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///     index: Indices of slices, int64, of at most one dimension. Negative indices count from the end.
///     value: A number, or a 0-d tensor.
///
/// Raises:
///     IndexError: An index is out of bounds, or the tensor does not have dimension `dim`.
///     DTypeError: `index` is not int64.
///     ArgumentError: The dtype cannot hold the number.
///
/// Example:
///     >>> import interlock
///     >>> interlock.index_fill(interlock.zeros(3), 0, interlock.tensor([-1]), 7)
///     tensor([0., 0., 7.])
#[pyfunction]
fn index_fill(
    input: Arg<'_, '_>,
    dim: Arg<'_, '_>,
    index: Arg<'_, '_>,
    value: Arg<'_, '_>,
) -> PyResult<Tensor> {
    index_ops::index_fill(WriteTo::Copy, &extract_tensor("index_fill: input", input)?, dim, index, value)
}

/// Return a copy with `values` written at `indices`, as by `copy[indices] = values`.
///
/// Sums of several floating-point values for one element have no fixed order, unless
/// `backends.deterministic_algorithms` is set.
///
/// Args:
///     input: The tensor.
///     indices: A tuple or list of tensors that index the first dimensions: int64 indices, which may be negative, or
///         bool masks. None means a whole dimension.
///     values: The values, of the dtype of the tensor. Broadcast to the indexed part.
///     accumulate: Whether the values are added to the elements. If it is False, the last of several values for one
///         element is stored.
///
/// Raises:
///     IndexError: An index is out of bounds, or there are more indices than dimensions.
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes of the tensor and of `values` differ.
///
/// Example:
///     >>> import interlock
///     >>> index = (interlock.tensor([0, 0]),)
///     >>> interlock.index_put(interlock.zeros(2), index, interlock.ones(2), accumulate=True)
///     tensor([2., 0.])
#[pyfunction]
#[pyo3(signature = (input, indices, values, accumulate = false))]
fn index_put(
    input: Arg<'_, '_>,
    indices: Arg<'_, '_>,
    values: Arg<'_, '_>,
    #[pyo3(from_py_with = switches::index_put::accumulate)] accumulate: bool,
) -> PyResult<Tensor> {
    index_ops::index_put(
        WriteTo::Copy,
        &extract_tensor("index_put: input", input)?,
        indices,
        values,
        accumulate,
    )
}

/// In-place version of `index_put`, as `input[indices] = values`.
///
/// Args:
///     input: The tensor, which is changed.
///     indices: A tuple or list of tensors that index the first dimensions: int64 indices, which may be negative, or
///         bool masks. None means a whole dimension.
///     values: The values, of the dtype of the tensor. Broadcast to the indexed part.
///     accumulate: Whether the values are added to the elements. If it is False, the last of several values for one
///         element is stored.
///
/// Returns:
///     `input` itself.
///
/// Raises:
///     IndexError: An index is out of bounds, or there are more indices than dimensions.
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes of the tensor and of `values` differ.
///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
///
/// Example:
///     >>> import interlock
///     >>> index = (interlock.tensor([0, 2]),)
///     >>> interlock.index_put_(interlock.zeros(3), index, interlock.ones(2))
///     tensor([1., 0., 1.])
#[pyfunction]
#[pyo3(signature = (input, indices, values, accumulate = false))]
fn index_put_<'py>(
    input: Arg<'_, 'py>,
    indices: Arg<'_, 'py>,
    values: Arg<'_, 'py>,
    #[pyo3(from_py_with = switches::index_put_::accumulate)] accumulate: bool,
) -> PyResult<Bound<'py, Tensor>> {
    let target = extract_tensor_object("index_put_: input", input)?;
    index_ops::index_put(WriteTo::InPlace, &target.get().0, indices, values, accumulate)?;
    Ok(target)
}

/// Return a copy with `value` written where `mask` is True.
///
/// Args:
///     input: The tensor.
///     mask: The mask, bool. Broadcast with the tensor.
///     value: A number, or a 0-d tensor.
///
/// Raises:
///     DTypeError: `mask` is not bool.
///     ShapeError: The shapes cannot be broadcast.
///     ArgumentError: The dtype cannot hold the number.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1, -2, 3])
///     >>> interlock.masked_fill(x, x < 0, 0)
///     tensor([1, 0, 3])
#[pyfunction]
fn masked_fill(input: Arg<'_, '_>, mask: Arg<'_, '_>, value: Arg<'_, '_>) -> PyResult<Tensor> {
    index_ops::masked_fill(WriteTo::Copy, &extract_tensor("masked_fill: input", input)?, mask, value)
}

/// Return a copy with the first elements of `source` written where `mask` is True. Waits for a device.
///
/// Args:
///     input: The tensor.
///     mask: The mask, bool. Broadcast to the tensor.
///     source: The elements, in row-major order, of the dtype of the tensor. At least as many as the mask is True.
///
/// Raises:
///     DTypeError: `mask` is not bool, or the dtypes differ.
///     ShapeError: The shapes are incompatible.
///
/// Example:
///     >>> import interlock
///     >>> mask = interlock.tensor([True, False, True])
///     >>> interlock.masked_scatter(interlock.zeros(3), mask, interlock.ones(2))
///     tensor([1., 0., 1.])
#[pyfunction]
fn masked_scatter(input: Arg<'_, '_>, mask: Arg<'_, '_>, source: Arg<'_, '_>) -> PyResult<Tensor> {
    index_ops::masked_scatter(WriteTo::Copy, &extract_tensor("masked_scatter: input", input)?, mask, source)
}

/// Return a copy with `source` written at flat (row-major) indices.
///
/// Args:
///     input: The tensor.
///     index: Flat indices of elements in row-major order, int64. Negative indices count from the end.
///     source: The values, of the dtype of the tensor. As many elements as `index`.
///     accumulate: Whether the values are added to the elements. If it is False, and several values target one element,
///         which one is stored is unspecified.
///
/// Raises:
///     IndexError: An index is out of bounds, or the numbers of elements differ.
///     DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
///     RuntimeError: `accumulate` is False while `backends.deterministic_algorithms` is set. With
///         `deterministic_algorithms_warn_only` it is a UserWarning.
///
/// Example:
///     >>> import interlock
///     >>> interlock.put(interlock.zeros(3), interlock.tensor([0, -1]), interlock.ones(2))
///     tensor([1., 0., 1.])
#[pyfunction]
#[pyo3(signature = (input, index, source, accumulate = false))]
fn put(
    input: Arg<'_, '_>,
    index: Arg<'_, '_>,
    source: Arg<'_, '_>,
    #[pyo3(from_py_with = switches::put::accumulate)] accumulate: bool,
) -> PyResult<Tensor> {
    index_ops::put(WriteTo::Copy, &extract_tensor("put: input", input)?, index, source, accumulate)
}

/// Return a copy with `src` or `value` written to the elements at `index` along dimension `dim`.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///     index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of `src` is written at
///         `index[j]` along `dim` and at j in the other dimensions. Of several values for one element the last is
///         stored.
///     src: The values, of the dtype of the tensor and at least as large as `index`; or a number.
///     value: A number, instead of `src`.
///     reduce: "add" or "multiply" combines the values with the elements; None replaces these. "multiply" has no
///         gradient.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes of the tensor and of `src` differ, or `index` is not int64.
///     RuntimeError: An index is negative or out of bounds.
///     ArgumentError: `reduce` has another value.
///
/// Example:
///     >>> import interlock
///     >>> interlock.scatter(interlock.zeros(2, 2), 1, interlock.tensor([[1], [0]]), 5)
///     tensor([[0., 5.],
///             [5., 0.]])
#[pyfunction]
#[pyo3(signature = (input, dim, index, src = None, *, value = None, reduce = None))]
fn scatter(
    input: Arg<'_, '_>,
    dim: Arg<'_, '_>,
    index: Arg<'_, '_>,
    src: OptionalArg<'_, '_>,
    value: OptionalArg<'_, '_>,
    reduce: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    index_ops::scatter(
        WriteTo::Copy,
        &extract_tensor("scatter: input", input)?,
        dim,
        index,
        src,
        value,
        reduce,
    )
}

/// Return a copy with `src` added to the elements at `index` along dimension `dim`.
///
/// Sums of several floating-point values for one element have no fixed order, unless
/// `backends.deterministic_algorithms` is set.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///     index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of `src` is written at
///         `index[j]` along `dim` and at j in the other dimensions.
///     src: The values, of the dtype of the tensor and at least as large as `index`.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes of the tensor and of `src` differ, or `index` is not int64.
///     RuntimeError: An index is negative or out of bounds.
///
/// Example:
///     >>> import interlock
///     >>> index = interlock.tensor([0, 1, 0])
///     >>> interlock.scatter_add(interlock.zeros(2), 0, index, interlock.ones(3))
///     tensor([2., 1.])
#[pyfunction]
fn scatter_add(
    input: Arg<'_, '_>,
    dim: Arg<'_, '_>,
    index: Arg<'_, '_>,
    src: Arg<'_, '_>,
) -> PyResult<Tensor> {
    index_ops::scatter_add(WriteTo::Copy, &extract_tensor("scatter_add: input", input)?, dim, index, src)
}
