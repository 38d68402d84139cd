//! Factors of operands.

use interlock_tensor::Scalar;
use pyo3::prelude::*;

use super::args::extract_scalar;

/// Extracts an optional factor of an operand, such as `alpha`.
pub(super) fn factor(what: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Scalar> {
    given.map_or(Ok(Scalar::Int(1)), |given| extract_scalar(what, given))
}
