//! Named tuples of two tensors.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::{Tensor, maybe_detach};
use crate::detach::call_with;
use crate::scope_debug;

/// Runs an operation with two results, and returns them as the named tuple `name` of `interlock.return_types`.
pub(super) fn pair<'py>(
    py: Python<'py>,
    name: &'static str,
    work_size: usize,
    operation: impl FnOnce() -> Result<(CoreTensor, CoreTensor)> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    scope_debug::warn_suspended_scopes(py)?;
    named_tuple(py, name, maybe_detach(py, name, work_size, operation)?)
}

/// Returns the named tuple of an operation with two results.
fn named_tuple<'py>(
    py: Python<'py>,
    name: &'static str,
    (first, second): (CoreTensor, CoreTensor),
) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("interlock.return_types")?.getattr(name)?;
    call_with(&class, (Tensor(first), Tensor(second)))
}
