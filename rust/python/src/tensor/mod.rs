//! Tensors.

mod arguments;
mod arithmetic;
mod attributes;
mod creation;
mod data;
mod dtype;
mod errors;
mod functions;
mod gradients;
mod indexing;
mod inplace;
mod numbers;
mod numpy;
mod reduce;
mod views;

use interlock_tensor::Tensor as CoreTensor;
use pyo3::prelude::*;

use crate::detached::detached;
use crate::submodule::submodule;
use crate::trace;
use errors::IntoTensor;

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

/// Runs an operation on `size` elements; many take long enough to let other threads run meanwhile.
fn run(
    py: Python<'_>,
    size: usize,
    operation: impl FnOnce() -> interlock_tensor::Result<CoreTensor> + Send,
) -> PyResult<Tensor> {
    trace::look(py)?;
    let result = if size >= LONG { detached(py, operation) } else { operation() };
    result.into_tensor(py)
}
