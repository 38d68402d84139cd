//! Sorted elements.

use interlock_tensor::Tensor as CoreTensor;
use pyo3::prelude::*;

use super::args::{OptionalArg, extract_int, extract_tensor};
use super::reduce::dim;
use super::return_types::pair;
use super::{Tensor, run_op, work_size};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(sort, module)?)?;
    module.add_function(wrap_pyfunction!(argsort, module)?)?;
    module.add_function(wrap_pyfunction!(topk, module)?)
}

fn sort_of<'py>(
    py: Python<'py>,
    input: &CoreTensor,
    dim: OptionalArg<'_, '_>,
    descending: bool,
    stable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let dim = self::dim("sort: dim", dim)?.unwrap_or(-1);
    let _ = stable;
    pair(py, "sort", work_size(input), || input.sort(dim, descending))
}

fn argsort_of(
    py: Python<'_>,
    input: &CoreTensor,
    dim: OptionalArg<'_, '_>,
    descending: bool,
    stable: bool,
) -> PyResult<Tensor> {
    let dim = self::dim("argsort: dim", dim)?.unwrap_or(-1);
    let _ = stable;
    run_op(py, "argsort", work_size(input), || input.argsort(dim, descending))
}

fn topk_of<'py>(
    py: Python<'py>,
    input: &CoreTensor,
    k: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    largest: bool,
    sorted: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let count = extract_int("topk: k", k)?;
    let dim = self::dim("topk: dim", dim)?.unwrap_or(-1);
    let _ = sorted;
    pair(py, "topk", work_size(input), || input.topk(count, dim, largest))
}

#[pymethods]
impl Tensor {
    /// Return the sorted elements along a dimension, and their indices.
    ///
    /// Args:
    ///     dim: The dimension.
    ///     descending: Whether the largest element is first.
    ///     stable: Whether the order of equal elements is preserved, which it always is.
    ///
    /// Returns:
    ///     A named tuple `(values, indices)`. NaN is larger than all numbers.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([3, 1, 2])
    ///     >>> x.sort().values
    ///     tensor([1, 2, 3])
    ///     >>> x.sort().indices
    ///     tensor([1, 2, 0])
    #[pyo3(signature = (dim = None, descending = false, *, stable = false))]
    fn sort<'py>(
        &self,
        py: Python<'py>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::sort::descending)] descending: bool,
        #[pyo3(from_py_with = switches::sort::stable)] stable: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        sort_of(py, &self.0, dim, descending, stable)
    }

    /// Return the indices that sort the elements along a dimension.
    ///
    /// Args:
    ///     dim: The dimension.
    ///     descending: Whether the largest element is first.
    ///     stable: Whether the order of equal elements is preserved, which it always is.
    ///
    /// Returns:
    ///     An int64 tensor. NaN is larger than all numbers.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([3, 1, 2])
    ///     >>> x.argsort()
    ///     tensor([1, 2, 0])
    #[pyo3(signature = (dim = None, descending = false, *, stable = false))]
    fn argsort(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::argsort::descending)] descending: bool,
        #[pyo3(from_py_with = switches::argsort::stable)] stable: bool,
    ) -> PyResult<Tensor> {
        argsort_of(py, &self.0, dim, descending, stable)
    }

    /// Return the largest or smallest elements along a dimension, and their indices.
    ///
    /// Args:
    ///     k: The number of elements.
    ///     dim: The dimension.
    ///     largest: Whether to return the largest elements, or the smallest.
    ///     sorted: Whether the elements are in order, which they always are.
    ///
    /// Returns:
    ///     A named tuple `(values, indices)`, in order. Of equal elements the first are returned; NaN is larger
    ///     than all numbers.
    ///
    /// Raises:
    ///     ArgumentError: `k` is negative or larger than the dimension.
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     DTypeError: The tensor is a bool tensor.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([3, 1, 2])
    ///     >>> x.topk(2).values
    ///     tensor([3, 2])
    #[pyo3(signature = (k, dim = None, largest = true, sorted = true))]
    fn topk<'py>(
        &self,
        py: Python<'py>,
        k: &Bound<'_, PyAny>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::topk::largest)] largest: bool,
        #[pyo3(from_py_with = switches::topk::sorted)] sorted: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        topk_of(py, &self.0, k, dim, largest, sorted)
    }
}

/// Return the sorted elements along a dimension, and their indices.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///     descending: Whether the largest element is first.
///     stable: Whether the order of equal elements is preserved, which it always is.
///
/// Returns:
///     A named tuple `(values, indices)`. NaN is larger than all numbers.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([3, 1, 2])
///     >>> interlock.sort(x).values
///     tensor([1, 2, 3])
///     >>> interlock.sort(x).indices
///     tensor([1, 2, 0])
#[pyfunction]
#[pyo3(signature = (input, dim = None, descending = false, *, stable = false))]
fn sort<'py>(
    input: &Bound<'py, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::sort::descending)] descending: bool,
    #[pyo3(from_py_with = switches::sort::stable)] stable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor = extract_tensor("sort: input", input)?;
    sort_of(input.py(), &tensor, dim, descending, stable)
}

/// Return the indices that sort the elements along a dimension.
///
/// Args:
///     input: The tensor.
///     dim: The dimension.
///     descending: Whether the largest element is first.
///     stable: Whether the order of equal elements is preserved, which it always is.
///
/// Returns:
///     An int64 tensor. NaN is larger than all numbers.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([3, 1, 2])
///     >>> interlock.argsort(x)
///     tensor([1, 2, 0])
#[pyfunction]
#[pyo3(signature = (input, dim = None, descending = false, *, stable = false))]
fn argsort(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::argsort::descending)] descending: bool,
    #[pyo3(from_py_with = switches::argsort::stable)] stable: bool,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("argsort: input", input)?;
    argsort_of(input.py(), &tensor, dim, descending, stable)
}

/// Return the largest or smallest elements along a dimension, and their indices.
///
/// Args:
///     input: The tensor.
///     k: The number of elements.
///     dim: The dimension.
///     largest: Whether to return the largest elements, or the smallest.
///     sorted: Whether the elements are in order, which they always are.
///
/// Returns:
///     A named tuple `(values, indices)`, in order. Of equal elements the first are returned; NaN is larger than
///     all numbers.
///
/// Raises:
///     ArgumentError: `k` is negative or larger than the dimension.
///     IndexError: The tensor does not have dimension `dim`.
///     DTypeError: The tensor is a bool tensor.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([3, 1, 2])
///     >>> interlock.topk(x, 2).values
///     tensor([3, 2])
#[pyfunction]
#[pyo3(signature = (input, k, dim = None, largest = true, sorted = true))]
fn topk<'py>(
    input: &Bound<'py, PyAny>,
    k: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::topk::largest)] largest: bool,
    #[pyo3(from_py_with = switches::topk::sorted)] sorted: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor = extract_tensor("topk: input", input)?;
    topk_of(input.py(), &tensor, k, dim, largest, sorted)
}
