//! The median.

use interlock_tensor::{Error, ErrorKind, Result, Tensor as CoreTensor};

use super::extremes::Extremes;
use crate::tensor::operation::tensor_op;

/// Return the median of all elements, or along a dimension: the middle element, or the smaller one of two.
///
/// Args:
///     {dim_or_all}
///
/// Returns:
///     The median of all elements, which share the gradient if they are equal; NaN if there are none. With a dimension a
///     named tuple `(values, indices)`, in which the element at the index receives the gradient. It is NaN where an element
///     is.
///
/// Raises:
///     ShapeError: There are no elements, and the dtype is an integer dtype.
///     {empty_dim}
///     {no_bools}
///     TypeError: `keepdim` is set without `dim`.
///
/// Example:
///     >>> x = interlock.tensor([[1, 5, 4], [7, 2, 3]])
///     >>> interlock.median(x)
///     tensor(3)
///     >>> interlock.median(x, 1).values
///     tensor([4, 3])
#[tensor_op(
    function,
    method,
    out,
    example = "x; x, 1",
    overloads(
        "(input: Tensor, dim: None = None) -> Tensor",
        "(input: Tensor, dim: SupportsIndex, keepdim: builtins.bool = False) -> _return_types.median"
    )
)]
fn median(input: &CoreTensor, dim: Option<i64>, #[default(false)] keepdim: bool) -> Result<Extremes> {
    match dim {
        Some(dim) => input.median_along(dim, keepdim).map(Extremes::along),
        None if keepdim => Err(Error::new(ErrorKind::Type, "median", "keepdim needs a dim")),
        None => input.median().map(Extremes::Tensor),
    }
}
