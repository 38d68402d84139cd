//! Functions that operate on tensors.

use interlock_tensor::Tensor as CoreTensor;
use pyo3::prelude::*;

use super::args::{extract_int, extract_tensor, try_iter_arg};
use super::{Tensor, fallible_alloc, run_op, work_size};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(is_tensor, module)?)?;
    module.add_function(wrap_pyfunction!(is_inference, module)?)?;
    module.add_function(wrap_pyfunction!(cat, module)?)?;
    module.add_function(wrap_pyfunction!(stack, module)?)
}

/// Return whether an object is a `Tensor`.
///
/// Args:
///     obj: Any object.
#[pyfunction]
fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_instance_of::<Tensor>()
}

/// Return whether a tensor was created in inference mode.
///
/// Args:
///     input: The tensor.
///
/// Raises:
///     TypeError: `input` is not a tensor.
#[pyfunction]
fn is_inference(input: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(extract_tensor("is_inference: input", input)?.is_inference())
}

/// Extracts the tensors of an iterable.
pub(super) fn extract_tensors(
    what: &str,
    item: &str,
    tensors: &Bound<'_, PyAny>,
) -> PyResult<Vec<CoreTensor>> {
    let items = try_iter_arg(what, "a sequence of Tensors", tensors)?;
    fallible_alloc::try_collect(tensors.py(), items.map(|given| extract_tensor(item, &given?)))
}

fn cat_dim(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    extract_int("cat: dim", given)
}

fn stack_dim(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    extract_int("stack: dim", given)
}

/// Returns the number of elements of several tensors, as [`work_size`].
pub(super) fn total_work_size(tensors: &[CoreTensor]) -> usize {
    tensors.iter().map(work_size).fold(0, usize::saturating_add)
}

/// Concatenate tensors along a dimension.
///
/// Args:
///     tensors: An iterable of tensors whose sizes are equal except in `dim`. Tensors of shape [0] are skipped.
///     dim: The dimension that is concatenated.
///
/// Returns:
///     A tensor of the widest dtype of `tensors`.
///
/// Raises:
///     ShapeError: Other sizes differ, or a tensor has no dimensions.
///     IndexError: The tensors do not have dimension `dim`.
///     ArgumentError: `tensors` is empty.
///     RuntimeError: `tensors` contains tensors on different devices.
///
/// Example:
///     >>> import interlock
///     >>> interlock.cat([interlock.zeros(1), interlock.ones(2)])
///     tensor([0., 1., 1.])
#[pyfunction]
#[pyo3(signature = (tensors, dim = 0))]
fn cat(tensors: &Bound<'_, PyAny>, #[pyo3(from_py_with = cat_dim)] dim: i64) -> PyResult<Tensor> {
    let parts = extract_tensors("cat: tensors", "cat: each item of tensors", tensors)?;
    run_op(tensors.py(), "cat", total_work_size(&parts), || interlock_tensor::cat(&parts, dim))
}

/// Stack tensors along a new dimension.
///
/// Args:
///     tensors: The tensors, as an iterable. Their shapes must be equal.
///     dim: The position of the new dimension; its size is the number of tensors.
///
/// Returns:
///     A tensor of the widest dtype of `tensors`.
///
/// Raises:
///     ShapeError: The shapes differ.
///     IndexError: The result does not have dimension `dim`.
///     ArgumentError: `tensors` is empty.
///     RuntimeError: `tensors` contains tensors on different devices.
///
/// Example:
///     >>> import interlock
///     >>> interlock.stack([interlock.tensor([1, 2]), interlock.tensor([3, 4])], dim=1)
///     tensor([[1, 3],
///             [2, 4]])
#[pyfunction]
#[pyo3(signature = (tensors, dim = 0))]
fn stack(tensors: &Bound<'_, PyAny>, #[pyo3(from_py_with = stack_dim)] dim: i64) -> PyResult<Tensor> {
    let parts = extract_tensors("stack: tensors", "stack: each item of tensors", tensors)?;
    run_op(tensors.py(), "stack", total_work_size(&parts), || interlock_tensor::stack(&parts, dim))
}
