//! Selection between two operands.

use std::slice;

use interlock_tensor::{Operand, Result, Tensor as CoreTensor, elementwise};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::tensor::operation::{
    Call, Held, HeldOperand, Object, OutRules, compute, compute_into, tensor_op, tensors_of,
};

/// Return `input` where a condition is true and `other` elsewhere, or the coordinates of the elements that are not zero.
///
/// Args:
///     condition: A bool tensor; without `input` and `other` a tensor of any dtype.
///     input: A tensor or a number.
///     other: A tensor or a number. Shapes are broadcast, and the dtypes of `input` and `other` promoted.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Returns:
///     A tensor; without `input` and `other` the tuple of `nonzero(condition, as_tuple=True)`.
///
/// Raises:
///     ArgumentError: The promoted dtype cannot hold a number.
///     DTypeError: `condition` is not a bool tensor, or `out` has another dtype than the result.
///     {no_broadcast}
///     RuntimeError: `out` is passed while gradients are recorded for the result or for `out`, or cannot hold the result.
///     TypeError: Only one of `input` and `other` is passed, or `out` without them.
///
/// Example:
///     >>> x = interlock.tensor([-1.0, 2.0])
///     >>> interlock.where(x > 0, x, 0)
///     tensor([0., 2.])
///     >>> interlock.where(x > 0)
///     (tensor([1]),)
#[tensor_op(
    function,
    attached,
    example = "x > 1, x, y",
    overloads(
        "(condition: Tensor, input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor",
        "(condition: Tensor) -> tuple[Tensor, ...]"
    )
)]
fn r#where<'py>(
    py: Python<'py>,
    op: &'static str,
    condition: &CoreTensor,
    input: Option<HeldOperand<'_>>,
    other: Option<HeldOperand<'_>>,
    #[keyword] out: Option<Object<'_>>,
) -> PyResult<Bound<'py, PyAny>> {
    let inputs = [slice::from_ref(condition), tensors_of(&input), tensors_of(&other)];
    let call = Call::new(py, op, &inputs);
    match (input.view(), other.view(), out) {
        (Some(input), Some(other), out) => {
            let out = out.as_ref().map(Object::as_any);
            let rules = OutRules { is_exact: true, may_overlap: false, check: None };
            Ok(compute_into(call, out, rules, &mut || elementwise::where_cond(condition, input, other))?)
        }
        (None, None, None) => Ok(compute(call, || condition.nonzero_tuple())?),
        (None, None, Some(_)) => Err(PyTypeError::new_err("where: out must be None without input and other")),
        (None, ..) => Err(PyTypeError::new_err("where: input must be passed with other")),
        (_, None, _) => Err(PyTypeError::new_err("where: other must be passed with input")),
    }
}

/// Return this tensor where a condition is true and `other` elsewhere.
///
/// Args:
///     condition: A bool tensor.
///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
///
/// Raises:
///     ArgumentError: The promoted dtype cannot hold the number.
#[tensor_op(method, name = "where", example = "x, x > 1, y")]
fn where_method(input: &CoreTensor, condition: &CoreTensor, other: Operand<'_>) -> Result<CoreTensor> {
    elementwise::where_cond(condition, input, other)
}
