//! Concatenations side by side and as rows.

use interlock_tensor::{hstack as hstack_all, vstack as vstack_all};
use pyo3::prelude::*;

use super::products_old::{extract_tensors, total_work_size};
use super::{Tensor, run_op};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(hstack, module)?)?;
    module.add_function(wrap_pyfunction!(vstack, module)?)
}

/// Concatenate tensors along the second dimension, or along the only one of vectors.
///
/// Args:
///     tensors: The tensors, as an iterable.
///
/// Returns:
///     A tensor of the widest dtype of `tensors`.
///
/// Raises:
///     ShapeError: The other sizes differ.
///     ArgumentError: `tensors` is empty.
///     RuntimeError: `tensors` contains tensors on different devices.
///
/// Example:
///     >>> import interlock
///     >>> interlock.hstack([interlock.tensor([1, 2]), interlock.tensor([3])])
///     tensor([1, 2, 3])
#[pyfunction]
fn hstack(tensors: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let parts = extract_tensors("hstack: tensors", "hstack: each item of tensors", tensors)?;
    run_op(tensors.py(), "hstack", total_work_size(&parts), || hstack_all(&parts))
}

/// Concatenate tensors along the first dimension. Vectors are the rows of a matrix.
///
/// Args:
///     tensors: The tensors, as an iterable.
///
/// Returns:
///     A tensor of the widest dtype of `tensors`.
///
/// Raises:
///     ShapeError: The other sizes differ.
///     ArgumentError: `tensors` is empty.
///     RuntimeError: `tensors` contains tensors on different devices.
///
/// Example:
///     >>> import interlock
///     >>> interlock.vstack([interlock.tensor([1, 2]), interlock.tensor([3, 4])])
///     tensor([[1, 2],
///             [3, 4]])
#[pyfunction]
fn vstack(tensors: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let parts = extract_tensors("vstack: tensors", "vstack: each item of tensors", tensors)?;
    run_op(tensors.py(), "vstack", total_work_size(&parts), || vstack_all(&parts))
}
