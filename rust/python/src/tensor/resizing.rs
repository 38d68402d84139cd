//! Changes of the size of a tensor in place.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::args::{OptionalArg, checked_sizes, extract_ints_or_named, extract_object, extract_tensor};
use super::{Tensor, maybe_detach, work_size};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(resize_as_, module)?)
}

/// Resizes a tensor to `count` elements and returns it.
fn run_resize<'py>(
    op: &'static str,
    tensor: Bound<'py, Tensor>,
    count: usize,
    resize: impl FnOnce(&CoreTensor) -> Result<&CoreTensor> + Send,
) -> PyResult<Bound<'py, Tensor>> {
    let target = &tensor.get().0;
    maybe_detach(tensor.py(), op, work_size(target).max(count), || resize(target).map(drop))?;
    Ok(tensor)
}

#[pymethods]
impl Tensor {
    /// Change the shape in place; the tensor becomes contiguous.
    ///
    /// The elements are those of the memory of the tensor from its `storage_offset` on. If the memory is too small, it
    /// grows, and the new elements are not initialized; under `use_deterministic_algorithms` they are filled like
    /// those of `empty`. Tensors that share the memory share the memory that has grown. Its old copies are released when
    /// the last of them is dropped. If the tensor has the shape already, nothing changes.
    ///
    /// Args:
    ///     args: The sizes, as separate ints or as one tuple or list.
    ///     size: The sizes as a tuple or list, by name instead of `args`.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     ArgumentError: The tensor requires grad, also in no-grad mode, or a size is negative.
    ///     RuntimeError: The memory is too small and belongs to another library or was shared with NumPy, or the tensor is
    ///         an inference tensor outside of inference mode.
    ///     ShapeError: The sizes are too large, or there are too many dimensions.
    ///     TypeError: No sizes are passed.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1, 2], [3, 4], [5, 6]]).resize_(2, 2)
    ///     tensor([[1, 2],
    ///             [3, 4]])
    #[pyo3(signature = (*args, size = None))]
    fn resize_<'py>(
        slf: Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        size: OptionalArg<'_, 'py>,
    ) -> PyResult<Bound<'py, Tensor>> {
        if args.is_empty() && size.is_none() {
            return Err(PyTypeError::new_err("resize_: size must be passed"));
        }
        let sizes = extract_ints_or_named("resize_: size", args, size)?;
        let sizes = checked_sizes(slf.py(), "resize_: size", &sizes)?;
        let count = sizes.iter().fold(1usize, |count, &size| count.saturating_mul(size));
        run_resize("resize_", slf, count, |tensor| tensor.resize_(&sizes))
    }

    /// Change the shape in place to that of another tensor, like `resize_`; the tensor becomes contiguous.
    ///
    /// Args:
    ///     the_template: The tensor whose shape is used.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     ArgumentError: The tensor requires grad, also in no-grad mode.
    ///     RuntimeError: The memory is too small and belongs to another library or was shared with NumPy, or the tensor is
    ///         an inference tensor outside of inference mode.
    ///     TypeError: `the_template` is not a tensor.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1, 2], [3, 4]]).resize_as_(interlock.zeros(3))
    ///     tensor([1, 2, 3])
    fn resize_as_<'py>(
        slf: Bound<'py, Self>,
        the_template: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Tensor>> {
        let template = extract_tensor("resize_as_: the_template", the_template)?;
        run_resize("resize_as_", slf, template.numel(), |tensor| tensor.resize_as_(&template))
    }
}

/// Change the shape of a tensor in place to that of another one, like `Tensor.resize_`.
///
/// Args:
///     input: The tensor that is resized.
///     the_template: The tensor whose shape is used.
///
/// Returns:
///     `input` itself.
///
/// Raises:
///     ArgumentError: `input` requires grad, also in no-grad mode.
///     RuntimeError: The memory is too small and belongs to another library or was shared with NumPy, or `input` is an
///         inference tensor outside of inference mode.
///     TypeError: An argument is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.resize_as_(interlock.tensor([[1, 2], [3, 4]]), interlock.zeros(3))
///     tensor([1, 2, 3])
#[pyfunction]
fn resize_as_<'py>(
    input: &Bound<'py, PyAny>,
    the_template: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, Tensor>> {
    Tensor::resize_as_(extract_object("resize_as_: input", input)?, the_template)
}
