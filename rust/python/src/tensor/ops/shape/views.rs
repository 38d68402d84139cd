//! Views and copies with other sizes.

use interlock_tensor::{DType, Error, ErrorKind, MAX_DIMENSIONS, Result, Tensor as CoreTensor};

use crate::tensor::operation::{Ints, SizesOrDType, tensor_op};

/// Return a view with another shape, or the same bytes as elements of another dtype.
///
/// If the elements of the dtype have another size, the last dimension becomes shorter or longer. A tensor of another dtype
/// has no history and is not a view for autograd, but in-place changes of it count as changes of this tensor.
///
/// Args:
///     size: The sizes, one of which may be -1 and is inferred, or a dtype.
///     dtype: The dtype, by name.
///
/// Raises:
///     ShapeError: The number of elements differs, or a copy would be needed; see `reshape`.
///     ShapeError: A tensor without dimensions is viewed as a dtype of another size.
///     ArgumentError: The last size, a stride or the offset does not fit a dtype of another size.
///     TypeError: Sizes and a dtype are passed.
///
/// Example:
///     >>> interlock.arange(6).view(2, -1)
///     tensor([[0, 1, 2],
///             [3, 4, 5]])
///     >>> interlock.tensor([[1.0, -0.0]]).view(interlock.int16)
///     tensor([[     0,  16256,      0, -32768]], dtype=interlock.int16)
#[tensor_op(
    method,
    view,
    example = "x, 3, 2",
    overloads(
        "(input: Tensor, first_size: SupportsIndex | _Sizes | _DType, /, *args: SupportsIndex) -> Tensor",
        "(input: Tensor, *, size: _Sizes, dtype: None = None) -> Tensor",
        "(input: Tensor, *, dtype: _DType, size: None = None) -> Tensor"
    )
)]
fn view(input: &CoreTensor, #[variadic] size: &SizesOrDType, dtype: Option<DType>) -> Result<CoreTensor> {
    match (size, dtype) {
        (SizesOrDType::Sizes(sizes), None) => {
            input.view(sizes).map_err(|error| error.rename_argument("shape", "size"))
        }
        (SizesOrDType::Sizes(sizes), Some(dtype)) if sizes.is_empty() => input.view_dtype(dtype),
        (SizesOrDType::DType(dtype), None) => input.view_dtype(*dtype),
        (_, Some(dtype)) => {
            let message = format!("must be passed alone, without sizes, got {dtype}");
            Err(Error::argument(ErrorKind::Type, "view", "dtype", message))
        }
    }
}

/// Return the elements in another shape: a view if possible, else a copy.
///
/// Args:
///     shape: The sizes. One may be -1, and is inferred.
///
/// Raises:
///     ShapeError: The number of elements differs.
///
/// Example:
///     >>> interlock.reshape(interlock.arange(4), (2, -1))
///     tensor([[0, 1],
///             [2, 3]])
#[tensor_op(function, method, example = "x, (3, 2)")]
fn reshape(input: &CoreTensor, #[variadic(method)] shape: &Ints) -> Result<CoreTensor>;

/// Return a view in which dimensions of size 1 are repeated without a copy.
///
/// Args:
///     size: The new sizes. -1 keeps a size; new dimensions come first.
///
/// Raises:
///     ShapeError: A size other than 1 would change.
///
/// Example:
///     >>> interlock.tensor([[1], [2]]).expand(-1, 3)
///     tensor([[1, 1, 1],
///             [2, 2, 2]])
#[tensor_op(method, view, example = "y, 2, 3")]
fn expand(input: &CoreTensor, #[variadic] size: &Ints) -> Result<CoreTensor>;

/// Return a view in which dimensions of size 1 are repeated, as `expand`.
///
/// Args:
///     size: The new sizes. -1 keeps a size; new dimensions come first.
///
/// Raises:
///     ShapeError: A size other than 1 would change.
///
/// Example:
///     >>> interlock.broadcast_to(interlock.tensor([1, 2]), (2, 2))
///     tensor([[1, 2],
///             [1, 2]])
#[tensor_op(function, method, view, example = "y, (2, 3)")]
fn broadcast_to(input: &CoreTensor, #[variadic(method)] size: &Ints) -> Result<CoreTensor> {
    input.expand(size)
}

/// Return a view with the shape of another tensor.
///
/// Args:
///     other: The tensor whose shape is used.
///
/// Raises:
///     ShapeError: The number of elements differs, or a copy would be needed.
///     TypeError: `other` is not a tensor.
///
/// Example:
///     >>> interlock.arange(4).view_as(interlock.zeros(2, 2))
///     tensor([[0, 1],
///             [2, 3]])
#[tensor_op(method, view, example = "x, z.reshape(3, 2)")]
fn view_as(input: &CoreTensor, other: &CoreTensor) -> Result<CoreTensor>;

/// Return the elements in the shape of another tensor: a view if possible, else a copy.
///
/// Args:
///     other: The tensor whose shape is used.
///
/// Raises:
///     ShapeError: The number of elements differs.
///     TypeError: `other` is not a tensor.
///
/// Example:
///     >>> interlock.arange(4).view(2, 2).t().reshape_as(interlock.zeros(4))
///     tensor([0, 2, 1, 3])
#[tensor_op(method, example = "x, z.reshape(3, 2)")]
fn reshape_as(input: &CoreTensor, other: &CoreTensor) -> Result<CoreTensor>;

/// Return a view in which dimensions of size 1 are repeated to the shape of another tensor.
///
/// Args:
///     other: The tensor whose shape is used.
///
/// Raises:
///     ShapeError: A size other than 1 would change.
///     TypeError: `other` is not a tensor.
///
/// Example:
///     >>> interlock.tensor([1, 2]).expand_as(interlock.zeros(2, 2))
///     tensor([[1, 2],
///             [1, 2]])
#[tensor_op(method, view, example = "y, x")]
fn expand_as(input: &CoreTensor, other: &CoreTensor) -> Result<CoreTensor>;

/// Return a view of the storage with any sizes and strides.
///
/// Args:
///     size: The sizes, as an int or as a tuple or list.
///     stride: The stride of each dimension in elements, not negative.
///     storage_offset: The offset of the first element in the storage, in elements. None means the offset of the tensor.
///
/// Raises:
///     ShapeError: The view exceeds the storage.
///     ArgumentError: A number is negative, or there are not as many strides as sizes.
///
/// Example:
///     >>> interlock.as_strided(interlock.arange(4), (3, 2), (1, 1))
///     tensor([[0, 1],
///             [1, 2],
///             [2, 3]])
#[tensor_op(function, method, view, example = "x, (2, 2), (1, 2)")]
fn as_strided(
    input: &CoreTensor,
    size: &Ints,
    stride: &Ints,
    storage_offset: Option<i64>,
) -> Result<CoreTensor> {
    let (sizes, strides) = (not_negative("size", size)?, not_negative("stride", stride)?);
    let offset = storage_offset.map(|offset| not_negative("storage_offset", &[offset])).transpose()?;
    input.as_strided(&sizes, &strides, offset.and_then(|offset| offset.first().copied()))
}

/// Converts numbers for each dimension, an argument of `as_strided`.
fn not_negative(argument: &'static str, numbers: &[i64]) -> Result<Vec<usize>> {
    if numbers.len() > MAX_DIMENSIONS {
        return Err(Error::too_many_dimensions("as_strided", numbers.len(), MAX_DIMENSIONS));
    }
    let number = |&number: &i64| {
        usize::try_from(number).map_err(|_| Error::value("as_strided", argument, "not be negative", number))
    };
    numbers.iter().map(number).collect()
}
