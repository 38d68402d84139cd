//! Elements at the indices of a dimension, where an index is as large as the result.

use interlock_tensor::{Error, ErrorKind, Operand, Result, Scalar, ScatterReduce, Tensor as CoreTensor};

use crate::tensor::call::work_size;
use crate::tensor::operation::{Choice, Number, WriteTo, tensor_op};

/// Return the elements at `index` along dimension `dim`.
///
/// Args:
///     index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of the result is the element
///         of the tensor at `index[j]` along `dim` and at j in the other dimensions.
///
/// Returns:
///     A tensor of the shape of `index`.
///
/// Raises:
///     ShapeError: `index` has another number of dimensions, or is larger than the tensor in another dimension.
///     DTypeError: `index` is not int64.
///     RuntimeError: An index is negative or out of bounds.
///
/// Example:
///     >>> x = interlock.tensor([[1, 2], [3, 4]])
///     >>> interlock.gather(x, 1, interlock.tensor([[1], [0]]))
///     tensor([[2],
///             [3]])
#[tensor_op(function, method, out(exact), example = "x, 1, columns")]
fn gather(input: &CoreTensor, dim: i64, index: &CoreTensor) -> Result<CoreTensor>;

/// Return the elements at `indices` along dimension `dim`, such as the result of `argmax`.
///
/// Args:
///     indices: The indices, int64. Broadcast with the tensor in the other dimensions. With `dim` they are taken modulo
///         the size of the dimension, so that -1 is the last one.
///     dim: The dimension; None flattens both tensors first.
///
/// Returns:
///     A tensor of the shape of `indices` after broadcasting.
///
/// Raises:
///     ShapeError: The shapes cannot be broadcast, or have different numbers of dimensions.
///     DTypeError: `indices` is not int64.
///     RuntimeError: `dim` is None, and an index is negative or out of bounds.
///
/// Example:
///     >>> x = interlock.tensor([[1, 5], [7, 2]])
///     >>> interlock.take_along_dim(x, interlock.argmax(x, 1, True), 1)
///     tensor([[5],
///             [7]])
#[tensor_op(function, method, out(exact), example = "x, columns, 1")]
fn take_along_dim(input: &CoreTensor, indices: &CoreTensor, dim: Option<i64>) -> Result<CoreTensor> {
    input.take_along_dim(indices, dim).map_err(|error| error.rename_argument("index", "indices"))
}

/// Return a copy with `src` or `value` written to the elements at `index` along dimension `dim`.
///
/// Args:
///     index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of `src` is written at
///         `index[j]` along `dim` and at j in the other dimensions. Of several values for one element the last is
///         stored.
///     src: The values, of the dtype of the tensor and at least as large as `index`; or a number.
///     value: A number, instead of `src`.
///     reduce: "add" or "multiply" combines the values with the elements; None replaces these. "multiply" has no
///         gradient.
///
/// Raises:
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes of the tensor and of `src` differ, or `index` is not int64.
///     RuntimeError: An index is negative or out of bounds.
///     ArgumentError: `reduce` has another value.
///     TypeError: Neither `src` nor `value` is passed, or both are.
///
/// Example:
///     >>> interlock.scatter(interlock.zeros(2, 2), 1, interlock.tensor([[1], [0]]), 5)
///     tensor([[0., 5.],
///             [5., 0.]])
#[tensor_op(function, method, out(exact), inplace, example = "x, 1, columns[:, :1], z")]
fn scatter(
    to: WriteTo,
    input: &CoreTensor,
    dim: i64,
    index: &CoreTensor,
    src: Option<Operand<'_>>,
    #[keyword] value: Option<Number>,
    reduce: Option<ScatterReduce>,
) -> Result<CoreTensor> {
    let refused = |expected, given| {
        Error::argument(ErrorKind::Type, "scatter", "src", format!("must be {expected}, got {given}"))
    };
    let values = match (src, value) {
        (Some(src), None) => src,
        (None, Some(Number(value))) => Operand::Scalar(value),
        (Some(given), Some(_)) => return Err(refused("None if value is given", type_name(given))),
        (None, None) => return Err(refused("a Tensor or a number", "NoneType")),
    };
    input.scatter(to, dim, index, values, reduce.unwrap_or(ScatterReduce::Replace))
}

/// Returns the name of the type of an operand in Python.
fn type_name(operand: Operand<'_>) -> &'static str {
    match operand {
        Operand::Tensor(_) => "Tensor",
        Operand::Scalar(Scalar::Bool(_)) => "bool",
        Operand::Scalar(Scalar::Int(_)) => "int",
        Operand::Scalar(Scalar::Float(_)) => "float",
    }
}

impl Choice for ScatterReduce {
    const ANNOTATION: &'static str = "Literal['add', 'multiply']";
    const CHOICES: &'static [(&'static str, Self)] =
        &[("add", ScatterReduce::Add), ("multiply", ScatterReduce::Multiply)];
    const ALLOWED: &'static str = "'add', 'multiply' or None";
}

/// Return a copy with `src` added to the elements at `index` along dimension `dim`.
///
/// Sums of several floating-point values for one element have no fixed order, unless
/// `backends.deterministic_algorithms` is set.
///
/// Args:
///     index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of `src` is written at
///         `index[j]` along `dim` and at j in the other dimensions.
///     src: The values, of the dtype of the tensor and at least as large as `index`.
///
/// Raises:
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes of the tensor and of `src` differ, or `index` is not int64.
///     RuntimeError: An index is negative or out of bounds.
///
/// Example:
///     >>> index = interlock.tensor([0, 1, 0])
///     >>> interlock.scatter_add(interlock.zeros(2), 0, index, interlock.ones(3))
///     tensor([2., 1.])
#[tensor_op(
    function,
    method,
    out(exact),
    inplace,
    explain = input.explain_scatter_add(dim, index, src),
    example = "x, 1, columns, z"
)]
fn scatter_add(
    to: WriteTo,
    input: &CoreTensor,
    dim: i64,
    index: &CoreTensor,
    src: &CoreTensor,
) -> Result<CoreTensor>;

/// Return the one-hot encoding of class indices, along a new last dimension.
///
/// Args:
///     tensor: The classes, int64. Not negative.
///     num_classes: The size of the last dimension; -1 means the largest class and one, which waits for a device.
///
/// Raises:
///     DTypeError: `tensor` is not int64.
///     ArgumentError: `num_classes` is not positive, or -1 for a tensor without elements.
///     RuntimeError: A class is negative or not less than `num_classes`.
///
/// Example:
///     >>> functional.one_hot(interlock.tensor([1, 0]), 3)
///     tensor([[0, 1, 0],
///             [1, 0, 0]])
#[tensor_op(
    function,
    namespace = "nn.functional",
    size = work_size(tensor).saturating_mul(usize::try_from(*num_classes).unwrap_or(1)),
    example = "classes, 3"
)]
fn one_hot(tensor: &CoreTensor, #[default(-1)] num_classes: i64) -> Result<CoreTensor> {
    tensor.one_hot((num_classes != -1).then_some(num_classes))
}
