//! Samples of distributions, and random numbers in place of the elements of a tensor.

use interlock_tensor::{DType, Error, Operand, Result, Scalar, Tensor as CoreTensor};

use crate::tensor::generator::GivenGenerator;
use crate::tensor::operation::{WriteTo, check_out, tensor_op};

/// Checks before numbers are drawn that the argument `out` can hold a result of this shape and type, so that the generator
/// does not advance otherwise.
fn check_drawn(
    op: &'static str,
    out: &CoreTensor,
    input: &CoreTensor,
    (shape, dtype): (&[usize], DType),
) -> Result<()> {
    Error::when(out.device() != input.device(), || Error::devices(op, input.device(), out.device()))?;
    check_out(op, out, dtype)?;
    out.reserve_for_result(op, shape)
}

/// Returns the shape of samples from the rows of a tensor. A number that is not positive is an error of the operation.
fn shape_of_samples(input: &CoreTensor, num_samples: i64) -> Vec<usize> {
    let rows = input.shape().iter().rev().skip(1).rev().copied();
    rows.chain(usize::try_from(num_samples).ok()).collect()
}

/// Return 1 with the probability given by each element, else 0. The gradient is 0.
///
/// Args:
///     p: One probability for all elements, whose values are then ignored. None means the elements of the tensor.
///
/// Returns:
///     A tensor of the same dtype.
///
/// Raises:
///     DTypeError: The tensor is not floating point, and `p` is None.
///     ArgumentError: A probability is not from 0 to 1. For tensors on a device the error is asynchronous.
///
/// Example:
///     >>> interlock.bernoulli(interlock.tensor([0.0, 1.0]))
///     tensor([0., 1.])
#[tensor_op(
    function,
    method,
    out(exact, check = check_drawn(op, out, input, (input.shape(), input.dtype()))),
    example = "(x / 2).to(x.dtype)"
)]
fn bernoulli(
    input: &CoreTensor,
    p: Option<f64>,
    #[keyword] generator: Option<GivenGenerator<'_>>,
) -> Result<CoreTensor> {
    let generator = GivenGenerator::or_default(generator, input.options().placement)?;
    match p {
        Some(p) => generator.bernoulli_p(input, p),
        None => generator.bernoulli(input),
    }
}

/// Return indices that are drawn in proportion to weights.
///
/// Args:
///     input: The weights, which need not add up to 1: a vector, or a matrix with a row for each distribution.
///     num_samples: The number of indices of each row.
///     replacement: Whether an index can be drawn several times.
///
/// Returns:
///     An int64 tensor of shape [num_samples], or [rows, num_samples] for a matrix of weights.
///
/// Raises:
///     ArgumentError: `num_samples` is not positive, or exceeds the number of weights without replacement; or a weight
///         is negative or not finite, or all weights of a row are 0. For tensors on a device the latter errors are
///         asynchronous.
///     DTypeError: The weights are not floating point.
///     ShapeError: The tensor does not have one or two dimensions.
///
/// Example:
///     >>> interlock.multinomial(interlock.tensor([0.0, 3.0, 0.0]), 1)
///     tensor([1])
#[tensor_op(
    function,
    method,
    out(exact, overlap, check = check_drawn(op, out, input, (&shape_of_samples(input, *num_samples), DType::Int64))),
    long,
    example = "x, 2"
)]
fn multinomial(
    input: &CoreTensor,
    num_samples: i64,
    #[default(false)] replacement: bool,
    #[keyword] generator: Option<GivenGenerator<'_>>,
) -> Result<CoreTensor> {
    let generator = GivenGenerator::or_default(generator, input.options().placement)?;
    generator.multinomial(input, num_samples, replacement)
}

/// Overwrite the elements with random numbers of a normal distribution.
///
/// Args:
///     mean: The mean.
///     std: The standard deviation.
///
/// Raises:
///     DTypeError: The tensor is not floating point.
///     ArgumentError: `std` is negative.
///     {leaf}
///
/// Example:
///     >>> interlock.zeros(2).normal_(3.0, 0.0)
///     tensor([3., 3.])
#[tensor_op(inplace, example = "x")]
fn normal_(
    _to: WriteTo,
    input: &CoreTensor,
    #[default(0.0)] mean: f64,
    #[default(1.0)] std: f64,
    #[keyword] generator: Option<GivenGenerator<'_>>,
) -> Result<CoreTensor> {
    let generator = GivenGenerator::or_default(generator, input.options().placement)?;
    generator.normal_(input, mean, std).cloned()
}

/// Overwrite the elements with uniformly distributed random numbers.
///
/// Args:
///     from_: The least number.
///     to: The end of the range, which it does not contain.
///
/// Raises:
///     DTypeError: The tensor is not floating point.
///     ArgumentError: `to` is less than `from_`, or a bound is not finite.
///     {leaf}
///
/// Example:
///     >>> interlock.zeros(2).uniform_(3.0, 3.0)
///     tensor([3., 3.])
#[tensor_op(inplace, example = "x")]
fn uniform_(
    _to: WriteTo,
    input: &CoreTensor,
    #[default(0.0)] from_: f64,
    #[default(1.0)] to: f64,
    #[keyword] generator: Option<GivenGenerator<'_>>,
) -> Result<CoreTensor> {
    let generator = GivenGenerator::or_default(generator, input.options().placement)?;
    generator.uniform_(input, from_, to).cloned()
}

/// Overwrite the elements with 1 with a probability, else 0.
///
/// Args:
///     p: The probability, or a floating-point tensor of probabilities, which is broadcast.
///
/// Raises:
///     ArgumentError: A probability is not from 0 to 1. For tensors on a device the error is asynchronous.
///     DTypeError: `p` is a tensor that is not floating point.
///     ShapeError: `p` cannot be broadcast to the shape of the tensor.
///     {leaf}
///
/// Example:
///     >>> interlock.zeros(2).bernoulli_(1.0)
///     tensor([1., 1.])
#[tensor_op(inplace, example = "x")]
fn bernoulli_(
    _to: WriteTo,
    input: &CoreTensor,
    p: Option<Operand<'_>>,
    #[keyword] generator: Option<GivenGenerator<'_>>,
) -> Result<CoreTensor> {
    let generator = GivenGenerator::or_default(generator, input.options().placement)?;
    generator.bernoulli_(input, p.unwrap_or(Operand::Scalar(Scalar::Float(0.5)))).cloned()
}
