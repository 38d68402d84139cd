//! The Python class `Tensor` and the functions that create tensors.

mod args;
mod attributes;
mod broadcasting;
mod call;
mod checkpoint;
mod copy;
mod dlpack;
mod dtype;
mod einsum;
mod errors;
mod fallible_alloc;
mod foreign_memory;
mod from_data;
mod function;
mod generator;
mod gradients;
mod graph;
mod hooks;
mod identity;
mod indexing;
mod iterator;
mod matmul;
mod multi_head_attention;
mod node;
mod numpy;
mod op_warnings;
mod operation;
mod ops;
mod pickling;
mod program;
mod python_kernel;
mod register_kernel;
mod saved_tensors_hooks;
mod scalars;
mod to;
mod transposes;
mod type_info;

use interlock_tensor::Tensor as CoreTensor;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::submodule::submodule;
use call::{DETACH_THRESHOLD, maybe_detach, run_op, work_size, work_size_of};
pub(crate) use saved_tensors_hooks::traverse_hooks;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    interlock_tensor::announce_operations();
    node::install_forward_stack_provider();
    gradients::install_pass_threads();
    op_warnings::install();
    register_kernel::register(parent)?;
    let module = submodule(parent, "tensor")?;
    module.add_class::<node::Node>()?;
    module.add_class::<saved_tensors_hooks::SavedTensorsHooks>()?;
    module.setattr(
        "_SavedTensorsHooksDisabled",
        module.py().get_type::<saved_tensors_hooks::SavedTensorsHooksDisabled>(),
    )?;
    hooks::register(&module)?;
    node::register(&module)?;
    graph::register(&module)?;
    checkpoint::register(&module)?;
    generator::register(&module)?;
    function::register(&module)?;
    gradients::register(&module)?;
    pickling::register(&module)?;
    // `__all__` lists the names that the package `interlock` has. Those before are of its submodules.
    module.setattr("__all__", PyList::empty(module.py()))?;
    module.add_class::<Tensor>()?;
    dtype::register(&module)?;
    type_info::register(&module)?;
    broadcasting::register(&module)?;
    einsum::register(&module)?;
    multi_head_attention::register(&module)?;
    ops::register(&module)?;
    operation::register(&module)
}

/// A multi-dimensional array with a single dtype.
///
/// Created by `interlock.tensor`, `interlock.zeros` and similar functions. Operations are recorded if an operand
/// requires grad; `backward` then computes gradients. Results of operations on a subclass are plain tensors.
///
/// Args:
///     data: The tensor whose memory the new one shares, without its history.
///
/// Raises:
///     TypeError: `data` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
///     >>> (x * 3).sum().backward()
///     >>> x.grad
///     tensor([3., 3.])
#[pyclass(frozen, weakref, subclass, module = "interlock", name = "Tensor")]
pub(crate) struct Tensor(pub(crate) CoreTensor);
