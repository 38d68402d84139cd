//! Recording of operations as nodes of the graph that [`autograd`](crate::autograd) differentiates.

mod change_observer;
mod edge;
mod forward_stack;
mod node_builder;
mod node_creation_hook;
mod saved_tensor;
mod saved_tensor_hooks;
mod views;

pub(crate) use crate::tensor::{BackwardContext, Gradients};
pub use change_observer::{ChangeObservation, ChangeObserver, observe_changes};
pub(crate) use edge::{edge_of, is_leaf_with_grad};
pub use forward_stack::set_forward_stack_provider;
pub(crate) use forward_stack::{forward_stack, note_running};
pub(crate) use node_builder::{NodeBuilder, is_recording};
pub(crate) use node_creation_hook::created_node;
pub use node_creation_hook::{
    NodeCreationHook, node_creation_hook_context, visit_own_creation_hooks, visit_own_creation_hooks_of,
};
pub use saved_tensor::SavedInput;
pub use saved_tensor_hooks::{SavedTensorHooks, own_hooks_of, saved_tensor_hooks_context, visit_own_hooks};
pub(crate) use views::{
    check_inplace, grad_fn, rebase_history, set_grad_fn, track_view, track_view_of_function,
    track_view_of_several,
};
