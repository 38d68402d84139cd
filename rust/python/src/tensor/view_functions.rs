//! Functions for views and copies that are also methods.

use pyo3::prelude::*;

use super::args::{OptionalArg, extract_tensor};
use super::numeric_args::{ints, lists};
use super::views;
use super::{Tensor, reduce, run_op, work_size};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(reshape, module)?)?;
    module.add_function(wrap_pyfunction!(permute, module)?)?;
    module.add_function(wrap_pyfunction!(transpose, module)?)?;
    module.add_function(wrap_pyfunction!(t, module)?)?;
    module.add_function(wrap_pyfunction!(unsqueeze, module)?)?;
    module.add_function(wrap_pyfunction!(squeeze, module)?)?;
    module.add_function(wrap_pyfunction!(select, module)?)?;
    module.add_function(wrap_pyfunction!(as_strided, module)?)?;
    module.add_function(wrap_pyfunction!(clone, module)?)?;
    module.add_function(wrap_pyfunction!(detach, module)?)
}

/// Return the elements in another shape: a view if possible, else a copy.
///
/// Args:
///     input: The tensor.
///     shape: The sizes. One may be -1, and is inferred.
///
/// Raises:
///     ShapeError: The number of elements differs.
///
/// Example:
///     >>> import interlock
///     >>> interlock.reshape(interlock.arange(4), (2, -1))
///     tensor([[0, 1],
///             [2, 3]])
#[pyfunction]
fn reshape(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = lists::reshape::shape)] shape: Vec<i64>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("reshape: input", input)?;
    run_op(py, "reshape", work_size(x), || x.reshape(&shape))
}

/// Return a view with permuted dimensions.
///
/// Args:
///     input: The tensor.
///     dims: The dimensions of the tensor in their new order.
///
/// Raises:
///     IndexError: The tensor does not have one of the dimensions.
///     ArgumentError: A dimension is missing or named twice.
///
/// Example:
///     >>> import interlock
///     >>> interlock.permute(interlock.zeros(2, 3, 4), (2, 0, 1)).shape
///     (4, 2, 3)
#[pyfunction]
fn permute(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = lists::permute::dims)] dims: Vec<i64>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("permute: input", input)?;
    run_op(py, "permute", 0, || x.permute(&dims))
}

/// Return a view with two dimensions exchanged.
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
///     >>> interlock.transpose(interlock.zeros(2, 3, 4), 0, -1).shape
///     (4, 3, 2)
#[pyfunction]
fn transpose(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::transpose::dim0)] dim0: i64,
    #[pyo3(from_py_with = ints::transpose::dim1)] dim1: i64,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("transpose: input", input)?;
    run_op(py, "transpose", 0, || x.transpose(dim0, dim1))
}

/// Return the transpose of a matrix, as a view. A tensor with fewer dimensions is unchanged.
///
/// Args:
///     input: The tensor.
///
/// Raises:
///     ShapeError: The tensor has more than two dimensions.
///
/// Example:
///     >>> import interlock
///     >>> interlock.t(interlock.zeros(2, 3)).shape
///     (3, 2)
#[pyfunction]
fn t(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("t: input", input)?;
    run_op(py, "t", 0, || x.t())
}

/// Return a view with a new dimension of size 1.
///
/// Args:
///     input: The tensor.
///     dim: The position of the new dimension, from -ndim - 1 to ndim.
///
/// Raises:
///     IndexError: `dim` is out of range.
///
/// Example:
///     >>> import interlock
///     >>> interlock.unsqueeze(interlock.zeros(2, 3), 1).shape
///     (2, 1, 3)
#[pyfunction]
fn unsqueeze(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::unsqueeze::dim)] dim: i64,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("unsqueeze: input", input)?;
    run_op(py, "unsqueeze", 0, || x.unsqueeze(dim))
}

/// Return a view without dimensions of size 1.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to remove; those of other sizes stay. None means all of size 1.
///
/// Raises:
///     IndexError: The tensor does not have one of the dimensions.
///     ArgumentError: A dimension is named twice.
///
/// Example:
///     >>> import interlock
///     >>> interlock.squeeze(interlock.zeros(1, 2, 1), (0, 1)).shape
///     (2, 1)
#[pyfunction]
#[pyo3(signature = (input, dim = None))]
fn squeeze(input: &Bound<'_, PyAny>, dim: OptionalArg<'_, '_>) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("squeeze: input", input)?;
    let dims = reduce::dims("squeeze: dim", dim)?;
    run_op(py, "squeeze", 0, || views::squeezed(x, dims.as_deref()))
}

/// Return a view at one index of a dimension, without that dimension.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///     index: The index. Negative indices count from the end.
///
/// Raises:
///     IndexError: `dim` or `index` is out of range, or the tensor has no dimensions.
///
/// Example:
///     >>> import interlock
///     >>> interlock.select(interlock.tensor([[1, 2], [3, 4]]), 1, -1)
///     tensor([2, 4])
#[pyfunction]
fn select(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::select::dim)] dim: i64,
    #[pyo3(from_py_with = ints::select::index)] index: i64,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("select: input", input)?;
    run_op(py, "select", 0, || x.select(dim, index))
}

/// Return a view of the storage with any sizes and strides.
///
/// Args:
///     input: The tensor.
///     size: The sizes, as an int or as a tuple or list.
///     stride: The stride of each dimension in elements, not negative.
///     storage_offset: The offset of the first element in the storage, in elements. None means that of the tensor.
///
/// Raises:
///     ShapeError: The view exceeds the storage.
///     ArgumentError: A number is negative, or there are not as many strides as sizes.
///
/// Example:
///     >>> import interlock
///     >>> interlock.as_strided(interlock.arange(4), (3, 2), (1, 1))
///     tensor([[0, 1],
///             [1, 2],
///             [2, 3]])
#[pyfunction]
#[pyo3(signature = (input, size, stride, storage_offset = None))]
fn as_strided(
    input: &Bound<'_, PyAny>,
    size: &Bound<'_, PyAny>,
    stride: &Bound<'_, PyAny>,
    storage_offset: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("as_strided: input", input)?;
    views::strided(py, x, size, stride, storage_offset)
}

/// Return a copy of the tensor, as a recorded operation.
///
/// Args:
///     input: The tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.ones(2)
///     >>> interlock.clone(x) is x
///     False
#[pyfunction]
fn clone(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("clone: input", input)?;
    run_op(py, "clone", work_size(x), || x.copy())
}

/// Return a tensor that shares memory with another and has no history.
///
/// Args:
///     input: The tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.detach(interlock.ones(2, requires_grad=True)).requires_grad
///     False
#[pyfunction]
fn detach(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("detach: input", input)?;
    run_op(py, "detach", 0, || Ok(x.detach()))
}
