//! In-place operations, which return the tensor itself.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::{Tensor, maybe_detach, work_size};

/// The tensor itself, which in-place operations return.
pub(super) type PySelf<'py> = PyResult<Bound<'py, Tensor>>;

/// Runs an in-place operation and returns the tensor itself.
pub(super) fn run_inplace<'py>(
    op: &'static str,
    tensor: Bound<'py, Tensor>,
    operation: &(dyn Fn(&CoreTensor) -> Result<()> + Sync),
) -> PySelf<'py> {
    let target = &tensor.get().0;
    maybe_detach(tensor.py(), op, work_size(target), || operation(target))?;
    Ok(tensor)
}
