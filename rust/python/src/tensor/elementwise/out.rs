//! The argument `out`, and in-place forms of operations.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::{NewTensor, OptionalArg};
use crate::errors::new_type_error;
use crate::scope_debug;
use crate::tensor::{DETACH_THRESHOLD, Tensor, maybe_detach, run_op, work_size};

/// Runs an operation on `inputs`. Returns a new tensor, or `out` with the result.
pub(in crate::tensor) fn compute<'py>(
    py: Python<'py>,
    op: &'static str,
    inputs: &[&CoreTensor],
    out: OptionalArg<'_, 'py>,
    operation: impl FnOnce() -> Result<CoreTensor> + Send,
) -> NewTensor<'py> {
    let size = inputs.iter().map(|input| work_size(input)).max().unwrap_or(1);
    compute_sized(py, op, (inputs, size), out, operation)
}

/// Like [`compute`], for an operation that may take long for few elements.
pub(in crate::tensor) fn compute_long<'py>(
    py: Python<'py>,
    op: &'static str,
    inputs: &[&CoreTensor],
    out: OptionalArg<'_, 'py>,
    operation: impl FnOnce() -> Result<CoreTensor> + Send,
) -> NewTensor<'py> {
    compute_sized(py, op, (inputs, DETACH_THRESHOLD), out, operation)
}

fn compute_sized<'py>(
    py: Python<'py>,
    op: &'static str,
    (inputs, size): (&[&CoreTensor], usize),
    out: OptionalArg<'_, 'py>,
    operation: impl FnOnce() -> Result<CoreTensor> + Send,
) -> NewTensor<'py> {
    let Some(out) = out else { return Bound::new(py, run_op(py, size, operation)?) };
    let Ok(out) = out.cast::<Tensor>() else {
        return Err(new_type_error(&format!("{op}: out"), "a Tensor or None", out));
    };
    scope_debug::warn_suspended_scopes(py)?;
    let target = &out.get().0;
    maybe_detach(py, size.max(work_size(target)), || target.write_result(op, inputs, operation).map(drop))?;
    Ok(out.clone())
}

/// Replaces the elements of a tensor by the result of an operation, which also uses `inputs`. Returns the tensor itself.
pub(in crate::tensor) fn replace<'py>(
    op: &'static str,
    tensor: Bound<'py, Tensor>,
    inputs: &[&CoreTensor],
    operation: impl FnOnce(&CoreTensor) -> Result<CoreTensor> + Send,
) -> NewTensor<'py> {
    let target = &tensor.get().0;
    maybe_detach(tensor.py(), work_size(target), || target.replace_with(op, inputs, operation).map(drop))?;
    Ok(tensor)
}
