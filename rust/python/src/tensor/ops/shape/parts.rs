//! Views of parts of a dimension.

use interlock_tensor::{Result, Tensor as CoreTensor};

use crate::tensor::operation::{IntOrInts, Ints, Sections, tensor_op};

/// Return a view at one index of a dimension, without that dimension.
///
/// Args:
///     index: The index. Negative indices count from the end.
///
/// Raises:
///     IndexError: `dim` or `index` is out of range, or the tensor has no dimensions.
///
/// Example:
///     >>> interlock.select(interlock.tensor([[1, 2], [3, 4]]), 1, -1)
///     tensor([2, 4])
#[tensor_op(function, method, view, example = "x, 1, 2")]
fn select(input: &CoreTensor, dim: i64, index: i64) -> Result<CoreTensor>;

/// Return a view of some consecutive indices of a dimension.
///
/// Args:
///     start: The first index. A negative index counts from the end.
///     length: The number of indices.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim` or index `start`.
///     {no_dimensions}
///     ArgumentError: `length` is negative or exceeds the dimension.
///
/// Example:
///     >>> interlock.narrow(interlock.arange(5), 0, 1, 3)
///     tensor([1, 2, 3])
#[tensor_op(function, method, view, example = "x, 1, 1, 2")]
fn narrow(input: &CoreTensor, dim: i64, start: i64, length: i64) -> Result<CoreTensor>;

/// Return views of consecutive parts of a dimension.
///
/// The views are results of one node: while gradients are recorded they cannot be changed in place.
///
/// Args:
///     tensor: The tensor.
///     split_size_or_sections: The size of each part, or a tuple or list with the size of each. With one size the last
///         part may be smaller.
///
/// Raises:
///     {no_dimensions}
///     ArgumentError: A size is negative, the size is 0, or the sizes do not add up to the size of the dimension.
///
/// Example:
///     >>> interlock.split(interlock.arange(5), 3)
///     (tensor([0, 1, 2]), tensor([3, 4]))
#[tensor_op(function, view, example = "x, 2, 1")]
fn split(
    tensor: &CoreTensor,
    split_size_or_sections: &IntOrInts,
    #[default(0)] dim: i64,
) -> Result<Vec<CoreTensor>> {
    split_by(tensor, "split_size_or_sections", split_size_or_sections, dim)
}

/// Returns the parts of one size, or of several, which are an argument.
fn split_by(
    tensor: &CoreTensor,
    argument: &'static str,
    sizes: &IntOrInts,
    dim: i64,
) -> Result<Vec<CoreTensor>> {
    let (core_argument, parts) = match sizes {
        IntOrInts::Int(size) => ("split_size", tensor.split(*size, dim)),
        IntOrInts::Ints(sizes) => ("split_sizes", tensor.split_with_sizes(sizes, dim)),
    };
    parts.map_err(|error| error.rename_argument(core_argument, argument))
}

/// Return views of consecutive parts of a dimension.
///
/// The views are results of one node: while gradients are recorded they cannot be changed in place.
///
/// Args:
///     split_size: The size of each part, or a tuple or list with the size of each. With one size the last part may be
///         smaller.
///
/// Raises:
///     {no_dimensions}
///     ArgumentError: A size is negative, the size is 0, or the sizes do not add up to the size of the dimension.
///
/// Example:
///     >>> interlock.arange(5).split(3)
///     (tensor([0, 1, 2]), tensor([3, 4]))
///     >>> interlock.arange(3).split([1, 2])
///     (tensor([0]), tensor([1, 2]))
#[tensor_op(method, name = "split", view, example = "x, (1, 2), 1")]
fn split_method(
    input: &CoreTensor,
    split_size: &IntOrInts,
    #[default(0)] dim: i64,
) -> Result<Vec<CoreTensor>> {
    split_by(input, "split_size", split_size, dim)
}

/// Return views of consecutive parts of a dimension with given sizes, like `split`.
///
/// Args:
///     split_sizes: The size of each part.
///
/// Raises:
///     {no_dimensions}
///     ArgumentError: A size is negative, or the sizes do not add up to the size of the dimension.
///
/// Example:
///     >>> interlock.split_with_sizes(interlock.arange(3), (1, 2))
///     (tensor([0]), tensor([1, 2]))
#[tensor_op(function, method, view, example = "x, (1, 2), 1")]
fn split_with_sizes(
    input: &CoreTensor,
    split_sizes: &Ints,
    #[default(0)] dim: i64,
) -> Result<Vec<CoreTensor>>;

/// Return at most `chunks` views of consecutive parts of a dimension, of equal sizes except for the last.
///
/// The views are results of one node: while gradients are recorded they cannot be changed in place.
///
/// Args:
///     chunks: The number of parts. There are fewer if the rounded up size of a part leaves none for the last ones.
///
/// Raises:
///     {no_dimensions}
///     ArgumentError: `chunks` is not positive.
///
/// Example:
///     >>> interlock.chunk(interlock.arange(5), 2)
///     (tensor([0, 1, 2]), tensor([3, 4]))
#[tensor_op(function, method, view, example = "x, 2, 1")]
fn chunk(input: &CoreTensor, chunks: i64, #[default(0)] dim: i64) -> Result<Vec<CoreTensor>>;

/// Return views of consecutive parts of a dimension, which can be changed in place.
///
/// Args:
///     indices_or_sections: The number of parts, the first of which are longer by 1 if the size is not a multiple; or a
///         tuple, list or one-dimensional tensor with the index at which each part after the first begins.
///
/// Raises:
///     {no_dimensions}
///     ArgumentError: The number of parts is not positive.
///
/// Example:
///     >>> interlock.tensor_split(interlock.arange(5), 2)
///     (tensor([0, 1, 2]), tensor([3, 4]))
#[tensor_op(function, method, view, example = "x, (1,), 1")]
fn tensor_split(
    input: &CoreTensor,
    indices_or_sections: &Sections,
    #[default(0)] dim: i64,
) -> Result<Vec<CoreTensor>> {
    match indices_or_sections {
        Sections::Ints(IntOrInts::Int(sections)) => input.tensor_split(*sections, dim),
        Sections::Ints(IntOrInts::Ints(indices)) => input.tensor_split_at(indices, dim),
        Sections::Tensor(indices) => input.tensor_split_at(&indices.to_vec::<i64>()?, dim),
    }
}

/// Return a view at each index of a dimension, without that dimension.
///
/// The views are results of one node: while gradients are recorded they cannot be changed in place.
///
/// Example:
///     >>> interlock.unbind(interlock.tensor([[1, 2], [3, 4]]))
///     (tensor([1, 2]), tensor([3, 4]))
#[tensor_op(function, method, view, example = "x, 1")]
fn unbind(input: &CoreTensor, #[default(0)] dim: i64) -> Result<Vec<CoreTensor>>;
