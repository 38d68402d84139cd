//! The promotion of dtypes.

use interlock_tensor::{DType, Operand, Result, result_type as type_of_result};
use pyo3::prelude::*;

use crate::tensor::dtype;
use crate::tensor::operation::tensor_op;

pub(in crate::tensor) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(get_default_dtype, module)?)
}

/// Return the dtype of new floating-point tensors, which is `interlock.float32`.
///
/// Example:
///     >>> import interlock
///     >>> interlock.get_default_dtype()
///     interlock.float32
#[pyfunction]
fn get_default_dtype(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    dtype::object(py, DType::DEFAULT_FLOAT)
}

/// Return the dtype of the result of an operation on two operands.
///
/// Args:
///     tensor: A tensor or a number.
///     other: A tensor or a number. Numbers, and tensors without dimensions, only raise the category of the dtype.
///
/// Example:
///     >>> interlock.result_type(interlock.tensor([1, 2]), 1.5)
///     interlock.float32
#[tensor_op(function, view, example = "x, y; x, 2; 2, x")]
fn result_type(tensor: Operand<'_>, other: Operand<'_>) -> Result<DType> {
    Ok(type_of_result(&[tensor, other]))
}

/// Return the narrowest dtype that holds the values of both.
///
/// Args:
///     type1: A dtype.
///     type2: A dtype.
///
/// Example:
///     >>> interlock.promote_types(interlock.uint8, interlock.int8)
///     interlock.int16
#[tensor_op(function, view, example = "x.dtype, interlock.int32")]
fn promote_types(type1: DType, type2: DType) -> Result<DType> {
    Ok(type1.promote(type2))
}

/// Return whether a dtype can be converted to another one without a narrower category, of bools, integers and floats.
///
/// Args:
///     from_: A dtype.
///     to: A dtype.
///
/// Example:
///     >>> interlock.can_cast(interlock.int64, interlock.int8), interlock.can_cast(interlock.float32, interlock.int8)
///     (True, False)
#[tensor_op(function, view, example = "x.dtype, interlock.int32")]
fn can_cast(from_: DType, to: DType) -> Result<bool> {
    Ok(from_.can_cast_to(to))
}
