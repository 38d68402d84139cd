//! Slices at the indices of a dimension.

use interlock_tensor::{Operand, Result, Scalar, Tensor as CoreTensor};

use crate::tensor::operation::{WriteTo, tensor_op};

/// Return the slices `index` of dimension `dim`.
///
/// Args:
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
///     >>> interlock.index_select(interlock.tensor([5, 6, 7]), 0, interlock.tensor([2, 0]))
///     tensor([7, 5])
#[tensor_op(function, method, out(exact), example = "x, 0, rows")]
fn index_select(input: &CoreTensor, dim: i64, index: &CoreTensor) -> Result<CoreTensor>;

/// Return a copy with the slices of `source` added to the slices `index` of dimension `dim`.
///
/// Sums of several floating-point values for one element have no fixed order, unless
/// `backends.deterministic_algorithms` is set.
///
/// Args:
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
///     >>> index = interlock.tensor([0, 2, 0])
///     >>> interlock.index_add(interlock.zeros(3), 0, index, interlock.ones(3), alpha=2)
///     tensor([4., 0., 2.])
#[tensor_op(
    function,
    method,
    out(exact),
    inplace,
    explain = input.explain_index_add(dim, index, source),
    example = "x, 0, rows, square, alpha=2.0"
)]
fn index_add(
    to: WriteTo,
    input: &CoreTensor,
    dim: i64,
    index: &CoreTensor,
    source: &CoreTensor,
    #[keyword] alpha: Option<Scalar>,
) -> Result<CoreTensor> {
    input.index_add(to, dim, index, source, alpha.unwrap_or(Scalar::Int(1)))
}

/// Return a copy with the slices of `source` written to the slices `index` of dimension `dim`.
///
/// Args:
///     index: Indices of slices, int64, of at most one dimension. Not negative. Of several slices for one position the
///         last is stored.
///     source: The slices, of the dtype of the tensor. It has the shape of the tensor, but in `dim` the size of
///         `index`.
///
/// Raises:
///     IndexError: An index is out of bounds, the tensor does not have dimension `dim`, or `source` has another number of
///         dimensions than the tensor or not one slice for each index.
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
///
/// Example:
///     >>> interlock.index_copy(interlock.zeros(3), 0, interlock.tensor([2]), interlock.ones(1))
///     tensor([0., 0., 1.])
#[tensor_op(function, method, out(exact), inplace, example = "x, 1, classes, z[:, :2]")]
fn index_copy(
    to: WriteTo,
    input: &CoreTensor,
    dim: i64,
    index: &CoreTensor,
    source: &CoreTensor,
) -> Result<CoreTensor>;

/// Return a copy with `value` written to the slices `index` of dimension `dim`.
///
/// Args:
///     index: Indices of slices, int64, of at most one dimension. Negative indices count from the end.
///     value: A number, or a 0-d tensor.
///
/// Raises:
///     IndexError: An index is out of bounds, the tensor does not have dimension `dim`, or `index` is not int64.
///     ShapeError: `index` has two dimensions.
///     ArgumentError: The dtype cannot hold the number.
///
/// Example:
///     >>> interlock.index_fill(interlock.zeros(3), 0, interlock.tensor([-1]), 7)
///     tensor([0., 0., 7.])
#[tensor_op(function, method, inplace, example = "x, 1, classes, y[0]")]
fn index_fill(
    to: WriteTo,
    input: &CoreTensor,
    dim: i64,
    index: &CoreTensor,
    value: Operand<'_>,
) -> Result<CoreTensor>;

/// Return the rows of `weight` at the indices `input`, such as word embeddings.
///
/// Args:
///     input: Indices of rows, int64, of any shape. Not negative.
///     weight: The rows, of shape [rows, size].
///     padding_idx: A row that gets no gradient, which may be negative; None means that each row gets one.
///
/// Returns:
///     A tensor with the shape of `input` and a last dimension of `size`.
///
/// Raises:
///     IndexError: An index is out of bounds.
///     ShapeError: `weight` does not have two dimensions.
///     DTypeError: `input` is not int64.
///     ArgumentError: `padding_idx` is not a row.
///
/// Example:
///     >>> functional.embedding(interlock.tensor([1, 0]), interlock.tensor([[1.0, 2.0], [3.0, 4.0]]))
///     tensor([[3., 4.],
///             [1., 2.]])
#[tensor_op(function, namespace = "nn.functional", example = "rows, x")]
fn embedding(input: &CoreTensor, weight: &CoreTensor, padding_idx: Option<i64>) -> Result<CoreTensor> {
    weight.embedding(input, padding_idx)
}
