//! The table of elementwise operations. Each entry defines a function with the argument `out`, a method of `Tensor` and,
//! where PyTorch has it, the in-place method with a trailing underscore.

mod basic;
mod binary;
mod out;
mod pointwise;
mod rounding;
mod select;
mod unary;

use interlock_tensor::Tensor as CoreTensor;
use pyo3::prelude::*;

use super::Tensor;
use super::args::{OptionalArg, TensorOrScalar, extract_tensor};
pub(super) use basic::rounding_mode;
pub(super) use out::{compute, compute_exact, compute_long, replace};

type NewTensor<'py> = PyResult<Bound<'py, Tensor>>;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    unary::register(module)?;
    binary::register(module)?;
    basic::register(module)?;
    rounding::register(module)?;
    pointwise::register(module)?;
    select::register(module)
}

/// Extracts an operand that must be a tensor.
fn tensor_operand(what: &str, given: &Bound<'_, PyAny>) -> PyResult<TensorOrScalar> {
    extract_tensor(what, given).map(TensorOrScalar::Tensor)
}

/// Returns the tensors among operands.
pub(super) fn tensors<'a, const N: usize>(operands: [&'a TensorOrScalar; N]) -> Vec<&'a CoreTensor> {
    let tensor = |operand: &'a TensorOrScalar| match operand {
        TensorOrScalar::Tensor(tensor) => Some(tensor),
        TensorOrScalar::Scalar(_) => None,
    };
    operands.into_iter().filter_map(tensor).collect()
}
