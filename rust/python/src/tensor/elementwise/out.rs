//! The argument `out`, and in-place forms of operations.

use interlock_tensor::{DType, Error, Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::{NewTensor, OptionalArg};
use crate::errors::new_type_error;
use crate::scope_debug;
use crate::tensor::{DETACH_THRESHOLD, Tensor, maybe_detach, run_op, work_size, work_size_of};

/// Runs an operation on `inputs`. Returns a new tensor, or `out` with the result.
pub(in crate::tensor) fn compute<'py>(
    py: Python<'py>,
    op: &'static str,
    inputs: &[&CoreTensor],
    out: OptionalArg<'_, 'py>,
    mut operation: impl FnMut() -> Result<CoreTensor> + Send,
) -> NewTensor<'py> {
    compute_sized(py, op, (inputs, work_size_of(inputs)), out, &mut operation)
}

/// Like [`compute`], for an operation that does not convert its result to another dtype of `out`.
pub(in crate::tensor) fn compute_exact<'py>(
    py: Python<'py>,
    op: &'static str,
    inputs: &[&CoreTensor],
    out: OptionalArg<'_, 'py>,
    mut operation: impl FnMut() -> Result<CoreTensor> + Send,
) -> NewTensor<'py> {
    let target = dtype_of(out);
    compute(py, op, inputs, out, || with_dtype(op, operation()?, target))
}

/// Like [`compute_exact`], for an operation that may take long for few elements.
pub(in crate::tensor) fn compute_long<'py>(
    py: Python<'py>,
    op: &'static str,
    inputs: &[&CoreTensor],
    out: OptionalArg<'_, 'py>,
    mut operation: impl FnMut() -> Result<CoreTensor> + Send,
) -> NewTensor<'py> {
    let target = dtype_of(out);
    compute_sized(py, op, (inputs, DETACH_THRESHOLD), out, &mut || with_dtype(op, operation()?, target))
}

fn dtype_of(out: OptionalArg<'_, '_>) -> Option<DType> {
    Some(out?.cast::<Tensor>().ok()?.get().0.dtype())
}

/// Returns a result, or an error if `out` has another dtype.
fn with_dtype(op: &'static str, result: CoreTensor, target: Option<DType>) -> Result<CoreTensor> {
    match target {
        Some(given) if given != result.dtype() => {
            let expected = format!("{}, the dtype of the result", result.dtype());
            Err(Error::DType { op, argument: "out", expected, given, hint: "" })
        }
        _ => Ok(result),
    }
}

fn compute_sized<'py>(
    py: Python<'py>,
    op: &'static str,
    (inputs, size): (&[&CoreTensor], usize),
    out: OptionalArg<'_, 'py>,
    operation: &mut (dyn FnMut() -> Result<CoreTensor> + Send),
) -> NewTensor<'py> {
    let Some(out) = out else { return Bound::new(py, run_op(py, op, size, operation)?) };
    let Ok(out) = out.cast::<Tensor>() else {
        return Err(new_type_error(&format!("{op}: out"), "a Tensor or None", out));
    };
    scope_debug::warn_suspended_scopes(py)?;
    let target = &out.get().0;
    maybe_detach(py, op, size.max(work_size(target)), || {
        target.write_result(op, inputs, operation).map(drop)
    })?;
    Ok(out.clone())
}

/// Replaces the elements of a tensor by the result of an operation, which also uses `inputs`. Returns the tensor itself.
pub(in crate::tensor) fn replace<'py>(
    op: &'static str,
    tensor: Bound<'py, Tensor>,
    inputs: &[&CoreTensor],
    operation: &(dyn Fn(&CoreTensor) -> Result<CoreTensor> + Sync),
) -> NewTensor<'py> {
    let target = &tensor.get().0;
    maybe_detach(tensor.py(), op, work_size(target), || {
        target.replace_with(op, inputs, operation).map(drop)
    })?;
    Ok(tensor)
}
