//! Cumulative sums and products.

use interlock_tensor::{DType, Error, Result, Tensor as CoreTensor};

use super::conversion::converted;
use crate::tensor::operation::tensor_op;

/// Return the cumulative sum of the elements along a dimension.
///
/// Args:
///     {input}
///     dim: The dimension.
///     {wide_dtype}
///
/// Raises:
///     {no_dim}
///     DTypeError: `dtype` is bool.
///
/// Example:
///     >>> x = interlock.tensor([1, 2, 3])
///     >>> interlock.cumsum(x, 0)
///     tensor([1, 3, 6])
#[tensor_op(function, method, out(exact), example = "x, 1")]
fn cumsum(input: &CoreTensor, dim: i64, #[keyword] dtype: Option<DType>) -> Result<CoreTensor> {
    scanned("cumsum", input, dtype, |input| input.cumsum(dim))
}

/// Return the cumulative product of the elements along a dimension.
///
/// Args:
///     {input}
///     dim: The dimension.
///     {wide_dtype}
///
/// Raises:
///     {no_dim}
///     DTypeError: `dtype` is bool.
///
/// Example:
///     >>> x = interlock.tensor([1, 2, 3])
///     >>> interlock.cumprod(x, 0)
///     tensor([1, 2, 6])
#[tensor_op(function, method, out(exact), example = "x, 1")]
fn cumprod(input: &CoreTensor, dim: i64, #[keyword] dtype: Option<DType>) -> Result<CoreTensor> {
    scanned("cumprod", input, dtype, |input| input.cumprod(dim))
}

/// Runs an operation, as [`converted`]. Bools have no sums and products.
fn scanned(
    op: &'static str,
    input: &CoreTensor,
    dtype: Option<DType>,
    operation: impl FnOnce(&CoreTensor) -> Result<CoreTensor>,
) -> Result<CoreTensor> {
    match dtype {
        Some(DType::Bool) => Err(Error::not_numeric(op, "dtype", "")),
        dtype => converted(input, dtype, operation),
    }
}
