//! Changes of the size of a tensor in place.

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::formats::{Format, RowMajor};
use crate::tensor::operation::{Sizes, WriteTo, tensor_op};

/// Change the shape in place; the tensor becomes contiguous.
///
/// The elements are those of the memory of the tensor from its `storage_offset` on. If the memory is too small, it
/// grows, and the new elements are not initialized; under `use_deterministic_algorithms` they are filled like
/// those of `empty`. Tensors that share the memory share the memory that has grown. Its old copies are released when
/// the last of them is dropped. If the tensor has the shape already, nothing changes.
///
/// Args:
///     memory_format: `interlock.contiguous_format` makes a tensor contiguous that has the shape already; None does not.
///
/// Raises:
///     ArgumentError: The tensor requires grad, also in no-grad mode, or a size is negative.
///     RuntimeError: The memory is too small and belongs to another library or was shared with NumPy, or the tensor is
///         an inference tensor outside of inference mode.
///     ShapeError: The sizes are too large, or there are too many dimensions.
///     TypeError: No sizes are passed.
///
/// Example:
///     >>> interlock.tensor([[1, 2], [3, 4], [5, 6]]).resize_(2, 2)
///     tensor([[1, 2],
///             [3, 4]])
#[tensor_op(
    inplace,
    size = size.iter().fold(1, |count: usize, &size| count.saturating_mul(size)),
    example = "x.detach().clone(), 2, 2"
)]
fn resize_(
    _to: WriteTo,
    input: &CoreTensor,
    #[variadic] size: &Sizes,
    #[keyword] memory_format: Option<RowMajor>,
) -> Result<CoreTensor> {
    match memory_format {
        Some(RowMajor) => input.resize_contiguous_(size).cloned(),
        None => input.resize_(size).cloned(),
    }
}

/// Change the shape in place to the shape of another tensor, like `resize_`; the tensor becomes contiguous.
///
/// Args:
///     the_template: The tensor whose shape is used.
///     memory_format: `interlock.contiguous_format` or `interlock.preserve_format` makes a tensor contiguous that has the
///         shape already; None does not.
///
/// Raises:
///     ArgumentError: The tensor requires grad, also in no-grad mode.
///     RuntimeError: The memory is too small and belongs to another library or was shared with NumPy, or the tensor is
///         an inference tensor outside of inference mode.
///     TypeError: `the_template` is not a tensor.
///
/// Example:
///     >>> interlock.tensor([[1, 2], [3, 4]]).resize_as_(interlock.zeros(3))
///     tensor([1, 2, 3])
#[tensor_op(inplace_function, size = the_template.numel(), example = "x.detach().clone(), y")]
fn resize_as_(
    _to: WriteTo,
    input: &CoreTensor,
    the_template: &CoreTensor,
    #[keyword] memory_format: Option<Format>,
) -> Result<CoreTensor> {
    input.resize_as_(the_template, memory_format.is_some()).cloned()
}
