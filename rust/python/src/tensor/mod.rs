//! Tensors.

mod args;
mod arithmetic;
mod attributes;
mod copy;
mod creation;
mod dtype;
mod errors;
mod fallible_alloc;
mod from_data;
mod gradients;
mod indexing;
mod inplace;
mod iterator;
mod numpy;
mod ops;
mod reduce;
mod scalars;
mod views;

use interlock_tensor::{Tensor as CoreTensor, check_memory};
use pyo3::prelude::*;

use crate::detached::detached;
use crate::errors::IntoPyResult;
use crate::submodule::submodule;
use crate::trace;

/// From so many elements on, other threads may run while an operation works.
const DETACH_THRESHOLD: usize = 4096;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "tensor")?;
    module.add_class::<Tensor>()?;
    module.add_class::<gradients::Node>()?;
    dtype::register(&module)?;
    creation::register(&module)?;
    ops::register(&module)?;
    gradients::register(&module)
}

/// Numbers of one type in any number of dimensions.
///
/// Made by `interlock.tensor`, `interlock.zeros` and the like. Results of operations remember how they
/// were made where an operand requires grad; `backward` then computes gradients.
#[pyclass(frozen, weakref, module = "interlock", name = "Tensor")]
pub(crate) struct Tensor(pub(crate) CoreTensor);

/// How many elements an operation on a tensor works on. One on a device may have to wait.
fn work_size(tensor: &CoreTensor) -> usize {
    if tensor.is_on_device() { DETACH_THRESHOLD } else { tensor.numel() }
}

/// Calls what works on `weight` elements; with many it takes long enough to let other threads run meanwhile.
fn maybe_detach<T: Send>(
    py: Python<'_>,
    work_size: usize,
    operation: impl FnOnce() -> interlock_tensor::Result<T> + Send,
) -> PyResult<T> {
    check_memory().into_py_result(py)?;
    let result = if work_size >= DETACH_THRESHOLD { detached(py, operation) } else { operation() };
    result.into_py_result(py)
}

/// Runs an operation as [`maybe_detach`] does.
fn run_op(
    py: Python<'_>,
    work_size: usize,
    operation: impl FnOnce() -> interlock_tensor::Result<CoreTensor> + Send,
) -> PyResult<Tensor> {
    trace::look(py)?;
    maybe_detach(py, work_size, operation).map(Tensor)
}
