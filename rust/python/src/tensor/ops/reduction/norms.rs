//! Norms.

use interlock_tensor::{DType, Result, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{new_argument_error, shown};
use crate::tensor::operation::{Arg, ArgumentName, FromArgument, Ints, tensor_op};

/// Return the vector norm of all elements, or over one or several dimensions.
///
/// It is the root of order `p` of the sum of the powers of absolute values, the number of nonzero elements for
/// order 0, and the largest or smallest absolute value for an infinite order. The gradient is 0 where the norm is
/// 0.
///
/// Args:
///     p: The order: a number, an infinity, or "fro" for 2. None means 2.
///     dtype: The floating-point dtype to convert the elements to first, which must not be narrower. None means no
///         change.
///
/// Raises:
///     DTypeError: The elements are not floating point, or `dtype` is narrower.
///     ArgumentError: `p` is another text.
///     ShapeError: `p` is infinite or negative and there are no elements to reduce.
///
/// Example:
///     >>> x = interlock.tensor([3.0, 4.0])
///     >>> interlock.norm(x), interlock.norm(x, 1)
///     (tensor(5.), tensor(7.))
#[tensor_op(function, method, out(exact, overlap), example = "x; x, 3, 1")]
fn norm(
    input: &CoreTensor,
    p: Option<Order>,
    dim: &Option<Ints>,
    #[default(false)] keepdim: bool,
    dtype: Option<DType>,
) -> Result<CoreTensor> {
    input.norm(p.map_or(2.0, |Order(order)| order), dim.as_deref(), keepdim, dtype)
}

/// The order of a norm: a number, or a name.
#[derive(Clone, Copy)]
struct Order(f64);

impl<'py> FromArgument<'_, 'py> for Order {
    const ANNOTATION: &'static str = "_Number | Literal['fro']";
    const WANTED: &'static str = f64::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, 'py>) -> PyResult<Option<Self>> {
        let Ok(text) = given.cast::<PyString>() else {
            return Ok(f64::try_from_argument(name, given)?.map(Order));
        };
        if &*text.to_string_lossy() == "fro" {
            return Ok(Some(Order(2.0)));
        }
        Err(new_argument_error(given.py(), name, "be a number or 'fro'", shown(text)?))
    }
}
