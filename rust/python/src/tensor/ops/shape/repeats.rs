//! Copies in which elements are repeated.

use interlock_tensor::{Error, Result, Tensor as CoreTensor};

use crate::tensor::call::{DETACH_THRESHOLD, work_size};
use crate::tensor::operation::{IntOrTensor, Ints, tensor_op};

/// Return a copy in which dimensions are repeated.
///
/// Args:
///     repeats: How often each dimension is repeated. Numbers beyond those of the dimensions are the sizes of new
///         dimensions, which come first.
///
/// Raises:
///     ArgumentError: A number is negative, or there are fewer numbers than dimensions.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> interlock.tensor([1, 2]).repeat(2, 2)
///     tensor([[1, 2, 1, 2],
///             [1, 2, 1, 2]])
#[tensor_op(method, long, example = "x, 2, 1, 3")]
fn repeat(input: &CoreTensor, #[variadic] repeats: &Ints) -> Result<CoreTensor>;

/// Return a copy in which dimensions are repeated. Of fewer numbers than dimensions, the last is for the last dimension.
///
/// Args:
///     dims: How often each dimension is repeated.
///
/// Raises:
///     ArgumentError: A number is negative.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> interlock.tile(interlock.tensor([1, 2]), (2,))
///     tensor([1, 2, 1, 2])
#[tensor_op(function, method, long, example = "x, (2,)")]
fn tile(input: &CoreTensor, #[variadic(method)] dims: &Ints) -> Result<CoreTensor>;

/// Return a copy in which elements along a dimension are repeated, each one several times in a row.
///
/// Args:
///     repeats: How often each element is repeated: an int, or an integer tensor with a number for each index of the
///         dimension. A tensor on a device is waited for.
///     dim: The dimension. None means that the tensor is flattened first.
///     output_size: The size of the dimension in the result, which is checked.
///
/// Raises:
///     ArgumentError: A number is negative, or `output_size` is not the size of the result.
///     ShapeError: `repeats` is a tensor that does not have a number for each index.
///     DTypeError: `repeats` is not an integer tensor.
///
/// Example:
///     >>> interlock.repeat_interleave(interlock.tensor([1, 2]), interlock.tensor([1, 3]))
///     tensor([1, 2, 2, 2])
#[tensor_op(function, method, size = repeated_size(input, repeats), example = "x, 2, 0")]
fn repeat_interleave(
    input: &CoreTensor,
    repeats: &IntOrTensor,
    dim: Option<i64>,
    #[keyword] output_size: Option<i64>,
) -> Result<CoreTensor> {
    let repeated = match repeats {
        IntOrTensor::Int(count) => input.repeat_interleave(*count, dim)?,
        IntOrTensor::Tensor(counts) => input.repeat_interleave_each(counts, dim)?,
    };
    let Some(given) = output_size else { return Ok(repeated) };
    let at =
        dim.and_then(|dim| usize::try_from(dim.rem_euclid(i64::try_from(repeated.ndim()).ok()?.max(1))).ok());
    let size = repeated.shape().get(at.unwrap_or(0)).copied();
    if usize::try_from(given).ok() == size {
        return Ok(repeated);
    }
    let expected = format!("be the size of the result, {}", size.unwrap_or(0));
    let (op, argument) = ("repeat_interleave", "output_size");
    Err(Error::value(op, argument, expected, given))
}

/// Returns the measure of the duration of `repeat_interleave`.
fn repeated_size(input: &CoreTensor, repeats: &IntOrTensor) -> usize {
    match repeats {
        IntOrTensor::Int(count) => work_size(input).saturating_mul(usize::try_from(*count).unwrap_or(0)),
        IntOrTensor::Tensor(_) => DETACH_THRESHOLD,
    }
}
