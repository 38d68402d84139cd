//! The argument `inplace`.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use crate::tensor::operation::{Call, Object, update};
use crate::tensor::{Tensor, run_op, work_size};

/// Runs an operation, which changes the tensor itself if it is `inplace`. Returns the tensor itself, or the result.
pub(super) fn change(
    py: Python<'_>,
    op: &'static str,
    input: Object<'_>,
    inplace: bool,
    operation: &(dyn Fn(&CoreTensor) -> Result<CoreTensor> + Sync),
) -> PyResult<Py<Tensor>> {
    if inplace {
        let call = Call::new(py, op, &[]);
        return update(call, input.tensor_object().clone().unbind().into_bound(py), operation)
            .map(Bound::unbind);
    }
    let core = input.core();
    Py::new(py, run_op(py, op, work_size(core), || operation(core))?)
}
