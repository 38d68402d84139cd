//! Sums, means and products.

use interlock_tensor::{DType, Result, Tensor as CoreTensor};

use super::conversion::converted;
use crate::tensor::operation::{Ints, tensor_op};

/// Return the sum of all elements, or over one or several dimensions.
///
/// Args:
///     {dims}
///     {wide_dtype}
///
/// Example:
///     >>> x = interlock.tensor([[1, 2], [3, 4]])
///     >>> interlock.sum(x), interlock.sum(x, 0)
///     (tensor(10), tensor([4, 6]))
#[tensor_op(function, method, out(exact, overlap), example = "x; x, 1")]
fn sum(
    input: &CoreTensor,
    dim: &Option<Ints>,
    #[default(false)] keepdim: bool,
    #[keyword] dtype: Option<DType>,
) -> Result<CoreTensor> {
    converted(input, dtype, |input| input.sum(dim.as_deref(), keepdim))
}

/// Return the sum of the elements that are not NaN, of all or over one or several dimensions.
///
/// Args:
///     {dims}
///     {wide_dtype}
///
/// Example:
///     >>> x = interlock.tensor([1.0, float("nan"), 2.0])
///     >>> interlock.nansum(x)
///     tensor(3.)
#[tensor_op(function, method, out(exact, overlap), example = "x; x, 1")]
fn nansum(
    input: &CoreTensor,
    dim: &Option<Ints>,
    #[default(false)] keepdim: bool,
    #[keyword] dtype: Option<DType>,
) -> Result<CoreTensor> {
    converted(input, dtype, |input| input.nansum(dim.as_deref(), keepdim))
}

/// Return the mean of all elements, or over one or several dimensions. The mean of no elements is NaN.
///
/// Args:
///     {dims}
///     {float_dtype}
///
/// Example:
///     >>> x = interlock.tensor([[1.0, 2.0], [3.0, 4.0]])
///     >>> interlock.mean(x, 1)
///     tensor([1.5000, 3.5000])
#[tensor_op(function, method, out(exact, overlap), example = "x; x, 1")]
fn mean(
    input: &CoreTensor,
    dim: &Option<Ints>,
    #[default(false)] keepdim: bool,
    #[keyword] dtype: Option<DType>,
) -> Result<CoreTensor> {
    input.mean_as(dim.as_deref(), keepdim, dtype.unwrap_or(input.dtype()))
}

/// Return the product of all elements, or along a dimension. The product of no elements is 1.
///
/// Args:
///     {dim_or_all}
///     {wide_dtype}
///
/// Example:
///     >>> x = interlock.tensor([[1, 2], [3, 4]])
///     >>> interlock.prod(x), interlock.prod(x, 0)
///     (tensor(24), tensor([3, 8]))
#[tensor_op(function, method, out(exact, overlap), example = "x; x, 1")]
fn prod(
    input: &CoreTensor,
    dim: Option<i64>,
    #[default(false)] keepdim: bool,
    #[keyword] dtype: Option<DType>,
) -> Result<CoreTensor> {
    converted(input, dtype, |input| input.prod(dim, keepdim))
}
