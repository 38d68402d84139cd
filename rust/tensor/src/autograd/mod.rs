//! Reverse-mode automatic differentiation.
//!
//! A recorded operation creates a [`Node`] with edges to the nodes of its inputs, saved tensors, and a function that
//! computes the gradients of the inputs from the gradient of the result. Nodes are numbered in the order of their
//! creation and edges only lead to older nodes, so visiting nodes from the newest to the oldest is a topological
//! order.

mod accumulate;
mod anomaly;
mod convert;
mod custom;
mod edge;
mod engine;
mod graph;
mod hooks;
mod multi_grad;
mod nesting;
mod run_node;
mod stream_sync;
mod targets;

use std::any::Any;
use std::sync::Arc;

use crate::recording::grad_fn;
use crate::{Error, ErrorKind, Result, Tensor};

pub use crate::error::{Creator, ForwardStack};
pub use crate::recording::{
    ChangeObservation, ChangeObserver, NodeCreationHook, SavedInput, SavedTensorHooks,
    node_creation_hook_context, observe_changes, own_hooks_of, saved_tensor_hooks_context,
    set_forward_stack_provider, visit_own_creation_hooks, visit_own_creation_hooks_of, visit_own_hooks,
};
pub use crate::tensor::{
    AccumulateGrad, CustomFunction, GradDType, NextFunction, Node, NodePostHook, NodePreHook, PackedTensor,
    PostAccumulateHook, TensorHook, VisitedLeaf,
};
pub use custom::{CustomRecord, ForwardResult, input_grad_buffers, record};
pub use edge::{Differentiable, EdgeOrTensor, GradientEdge};
pub use engine::{BackwardArgs, backward, grad};
pub use hooks::HookHandle;
pub use multi_grad::{MultiGradHook, MultiGradMode, register_multi_grad_hook};
pub use nesting::{PassThreads, pass_object, queue_callback, set_pass_threads};
pub use stream_sync::{
    overrides_stale_capture_stream, set_override_stale_capture_stream,
    set_warn_on_accumulate_grad_stream_mismatch, warns_on_accumulate_grad_stream_mismatch,
};

/// Returns a gradient of a pass that is not recorded: without the history that a function of the program may have given
/// it.
fn without_history(gradient: Tensor) -> Tensor {
    if gradient.requires_grad() { gradient.detach() } else { gradient }
}

/// Makes backward passes accumulate the gradient of a non-leaf tensor.
fn retain_grad(tensor: &Tensor) -> Result<()> {
    let op = "retain_grad";
    Error::when(!tensor.requires_grad(), || Error::no_graph(op))?;
    let grad_fn = match grad_fn(op, tensor) {
        Ok(Some(grad_fn)) => grad_fn,
        Ok(None) => return Ok(()),
        Err(error) if error.kind() == Some(ErrorKind::UntrackedView) => return Ok(()),
        Err(error) => return Err(error),
    };
    if std::mem::replace(&mut tensor.meta_mut().retains_grad, true) {
        return Ok(());
    }
    grad_fn.node.hooks.write().retain(grad_fn.output, tensor);
    Ok(())
}

impl Tensor {
    /// Removes the history of this tensor in place: it becomes a leaf that does not require grad. Returns an error for a
    /// view, whose history is that of its base.
    pub fn detach_(&self) -> Result<&Tensor> {
        if self.meta().view.is_some() {
            let expected = "not be a view; detach() returns a tensor without history";
            return Err(Error::value("detach_", "the tensor", expected, "a view"));
        }
        let mut meta = self.meta_mut();
        meta.requires_grad = false;
        // Hooks of a leaf remain, for graphs that use it. Those of a result are hooks of the new leaf, too.
        let old = meta.grad_fn.take();
        if let Some(old) = &old {
            meta.leaf_hooks.share_tensor(&old.node.hooks.read(), old.output);
        }
        drop(meta);
        // After the lock is released: the history may own a graph.
        drop(old);
        Ok(self)
    }

    /// Returns whether this tensor is a view of another one whose history it shares. The result of
    /// [`detach`](Tensor::detach) is not.
    pub fn is_view(&self) -> bool {
        self.meta().view.is_some()
    }

    /// Returns the tensor of which this one is a view: never a view itself.
    pub fn base(&self) -> Option<Tensor> {
        self.meta().view.as_ref().map(|view| view.base.clone())
    }

    /// Increments the version counter, after other code has changed the elements in place: a backward pass that needs
    /// the old elements then fails. An inference tensor has no counter, and is not changed.
    pub fn increment_version(&self) {
        self.bump_version();
    }

    /// Registers a hook that is called with the gradient of this tensor in each backward pass, and may replace it. The
    /// hook of a tensor that is changed in place later receives the gradient of the value before the change.
    pub fn register_hook(&self, hook: Arc<dyn TensorHook>) -> Result<HookHandle> {
        hooks::register_tensor_hook("register_hook", self, hook)
    }

    /// Registers a hook that is called after a backward pass has accumulated a gradient in the
    /// [`grad`](Tensor::grad) of this leaf.
    pub fn register_post_accumulate_grad_hook(
        &self,
        hook: Arc<dyn PostAccumulateHook>,
    ) -> Result<HookHandle> {
        hooks::register_post_accumulate_hook(self, hook)
    }

    /// Returns which result of its [`grad_fn`](Tensor::grad_fn) this tensor is.
    pub fn output_nr(&self) -> Result<usize> {
        Ok(grad_fn("output_nr", self)?.map_or(0, |grad_fn| grad_fn.output))
    }

    /// Returns whether all other handles belong to the node of the leaf, and all owners of the node are [`VisitedLeaf`].
    fn is_only_owner(&self) -> bool {
        let visiting = usize::from(self.meta().accumulate_grad.is_visited());
        self.handle_count() == 1 + visiting
    }

    /// Calls `visit` with each object of the program that only this handle keeps alive: the hooks of a leaf without other
    /// handles than those of [`VisitedLeaf`], and what a node owns whose only result is this tensor.
    pub fn visit_owned(&self, visit: &mut dyn FnMut(&dyn Any)) {
        if !self.is_only_owner() {
            return;
        }
        let meta = self.meta();
        meta.leaf_hooks.visit(visit);
        if let Some(object) = &meta.object {
            visit(&**object);
        }
        if let Some(grad_fn) = meta.grad_fn.as_ref().filter(|grad_fn| Arc::strong_count(&grad_fn.node) == 1) {
            grad_fn.node.visit_owned(visit);
        }
    }

    /// Removes what [`visit_owned`](Tensor::visit_owned) visits, and the history. For a garbage collector that has found
    /// this tensor unreachable.
    pub fn clear_owned(&self) {
        if !self.is_only_owner() {
            return;
        }
        let mut meta = self.meta_mut();
        let old = (meta.grad_fn.take(), std::mem::take(&mut meta.leaf_hooks));
        drop(meta);
        drop(old);
    }

    /// Returns the object that [`set_object`](Tensor::set_object) has set.
    pub fn object(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.meta().object.clone()
    }

    /// Sets an object that exists once for the tensor, such as an object of another language that represents it.
    pub fn set_object(&self, object: Arc<dyn Any + Send + Sync>) {
        let old = self.meta_mut().object.replace(object);
        drop(old);
    }

    /// Computes the gradients of this tensor of one element, accumulates them in the [`grad`](Tensor::grad) of
    /// leaves, and frees the graph.
    pub fn backward(&self) -> Result<()> {
        let (outputs, gradients) = (std::slice::from_ref(self), &[None]);
        backward(&BackwardArgs { outputs, gradients, retain_graph: false, create_graph: false }, None)
    }

    /// Makes backward passes accumulate the gradient of this non-leaf tensor in [`grad`](Tensor::grad) as well.
    pub fn retain_grad(&self) -> Result<()> {
        retain_grad(self)
    }

    /// Returns whether [`retain_grad`](Tensor::retain_grad) was called.
    pub fn retains_grad(&self) -> bool {
        self.meta().retains_grad
    }
}
