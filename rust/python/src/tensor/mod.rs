//! Tensors.

mod arguments;
mod arithmetic;
mod attributes;
mod copies;
mod creation;
mod data;
mod dtype;
mod errors;
mod functions;
mod gradients;
mod indexing;
mod inplace;
mod iterator;
mod numbers;
mod numpy;
mod reduce;
mod room;
mod views;

use interlock_tensor::{Tensor as CoreTensor, check_memory};
use pyo3::prelude::*;

use crate::detached::detached;
use crate::errors::IntoPyResult;
use crate::submodule::submodule;
use crate::trace;

/// From so many elements on, other threads may run while an operation works.
const LONG: usize = 4096;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "tensor")?;
    module.add_class::<Tensor>()?;
    module.add_class::<gradients::Node>()?;
    dtype::register(&module)?;
    creation::register(&module)?;
    functions::register(&module)?;
    gradients::register(&module)
}

/// Numbers of one type in any number of dimensions.
///
/// Made by `interlock.tensor`, `interlock.zeros` and the like. Results of operations remember how they
/// were made where an operand requires grad; `backward` then computes gradients.
#[pyclass(frozen, weakref, module = "interlock", name = "Tensor")]
pub(crate) struct Tensor(pub(crate) CoreTensor);

/// How many elements an operation on a tensor works on. One on a device may have to wait.
fn weight(tensor: &CoreTensor) -> usize {
    if tensor.is_on_device() { LONG } else { tensor.numel() }
}

/// Calls what works on `weight` elements; with many it takes long enough to let other threads run meanwhile.
fn call<T: Send>(
    py: Python<'_>,
    weight: usize,
    operation: impl FnOnce() -> interlock_tensor::Result<T> + Send,
) -> PyResult<T> {
    check_memory().into_py_result(py)?;
    let result = if weight >= LONG { detached(py, operation) } else { operation() };
    result.into_py_result(py)
}

/// Runs an operation as [`call`] does.
fn run(
    py: Python<'_>,
    weight: usize,
    operation: impl FnOnce() -> interlock_tensor::Result<CoreTensor> + Send,
) -> PyResult<Tensor> {
    trace::look(py)?;
    call(py, weight, operation).map(Tensor)
}
