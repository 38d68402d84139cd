//! Native parts of `autograd`: nodes, hooks, passes and functions of the program.

mod checkpoint;
mod function;
mod gradients;
mod graph;
mod hooks;
pub(super) mod node;
pub(super) mod saved_tensors_hooks;

use pyo3::prelude::*;
use saved_tensors_hooks::{SavedTensorsHooks, SavedTensorsHooksDisabled};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    node::install_forward_stack_provider();
    gradients::install_pass_threads();
    module.add_class::<node::Node>()?;
    module.add_class::<SavedTensorsHooks>()?;
    module.setattr("_SavedTensorsHooksDisabled", module.py().get_type::<SavedTensorsHooksDisabled>())?;
    hooks::register(module)?;
    node::register(module)?;
    graph::register(module)?;
    checkpoint::register(module)?;
    function::register(module)?;
    gradients::register(module)
}
