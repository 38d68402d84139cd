//! Gradient modes of a thread (`torch.autograd.grad_mode`): read with one load, changed by guards and scopes.

pub(crate) mod change;
pub(crate) mod context;
mod eager_write;
pub(crate) mod guard;
mod mode;
mod node_creation_hook;
mod saved_tensor_hooks;

pub use change::{ModeChange, on_change};
pub use context::{ModeContext, ModeKind};
pub use guard::{enable_grad, inference_mode, no_grad, scope_barrier, set_grad_enabled};
pub use mode::Mode;
pub(crate) use mode::inference as inference_bits;
pub use node_creation_hook::{
    NodeCreationHookContext, node_creation_hooks, own_creation_hooks_of, visit_own_creation_hooks,
};
pub use saved_tensor_hooks::{
    SavedTensorHooksContext, SavedTensorHooksDisabledContext, check_saved_tensor_hooks_enabled, own_hooks_of,
    saved_tensor_hooks, visit_own_hooks,
};

/// Returns whether operations of this thread record the autograd graph.
#[inline]
pub fn is_grad_enabled() -> bool {
    Mode::Grad.is_on()
}

/// Returns whether tensors that this thread creates are inference tensors.
#[inline]
pub fn is_inference_mode_enabled() -> bool {
    Mode::Inference.is_on()
}
