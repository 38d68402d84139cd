//! Edges of the autograd graph, from a node to the consumers of its gradients.

use std::sync::Arc;

use interlock::accelerator::{Device, Stream};

use super::hooks::{HookHandle, NodePostHook, NodePreHook};
use super::{GradFn, Node};
use crate::{DType, Result, Tensor, ops};

/// The edges of a node, one per input. `None` for inputs without a gradient.
pub(crate) type Edges = Vec<Option<Edge>>;

/// The destination of the gradient of an input.
#[derive(Clone)]
pub(crate) enum Edge {
    /// A leaf, which accumulates the gradient.
    Leaf(Tensor),
    /// A result of a node.
    Node(GradFn),
}

impl Edge {
    /// Returns the destination of the gradient of `tensor`, if it has one.
    pub fn of(tensor: &Tensor) -> Result<Option<Self>> {
        Ok(match super::grad_fn(tensor)? {
            Some(grad_fn) => Some(Edge::Node(grad_fn)),
            // A view without recorded history accumulates no gradient, even if its base requires grad.
            None => tensor.meta().requires_grad.then(|| Edge::Leaf(tensor.clone())),
        })
    }

    pub fn shape(&self) -> &[usize] {
        match self {
            Edge::Leaf(tensor) => tensor.shape(),
            Edge::Node(grad_fn) => &grad_fn.result().shape,
        }
    }

    pub fn dtype(&self) -> DType {
        match self {
            Edge::Leaf(tensor) => tensor.dtype(),
            Edge::Node(grad_fn) => grad_fn.result().dtype,
        }
    }

    pub fn device(&self) -> Device {
        match self {
            Edge::Leaf(tensor) => tensor.device(),
            Edge::Node(grad_fn) => grad_fn.result().device,
        }
    }

    /// Converts a gradient to the shape, type and device of the tensor that it belongs to.
    pub fn convert(&self, gradient: &Tensor) -> Result<Tensor> {
        let gradient = ops::sum_to(gradient, self.shape())?.cast(self.dtype())?;
        ops::to_device(self.device(), gradient)
    }

    /// Returns the stream on which the gradients are accumulated, if it is determined already.
    pub fn stream(&self) -> Option<&Stream> {
        match self {
            Edge::Leaf(_) => None,
            Edge::Node(grad_fn) => grad_fn.node.stream.as_ref(),
        }
    }
}

/// The consumer of a gradient, as in PyTorch's `next_functions`.
#[derive(Clone)]
pub enum NextFunction {
    /// The node of the operation that computed the input.
    Node(Arc<Node>),
    /// A leaf, whose [`grad`](Tensor::grad) accumulates the gradient.
    Leaf(Tensor),
}

impl NextFunction {
    /// Registers a hook that is called before the backward function, or before a leaf accumulates its gradient.
    pub fn register_prehook(&self, hook: Arc<dyn NodePreHook>) -> HookHandle {
        match self {
            NextFunction::Node(node) => {
                let id = node.hooks.write().add_pre(hook);
                HookHandle::of_node(node, id)
            }
            NextFunction::Leaf(leaf) => {
                let id = leaf.meta_mut().leaf_hooks.add_pre(hook);
                HookHandle::of_leaf(leaf, id)
            }
        }
    }

    /// Registers a hook that is called after the backward function, or after a leaf has accumulated its gradient.
    pub fn register_hook(&self, hook: Arc<dyn NodePostHook>) -> HookHandle {
        match self {
            NextFunction::Node(node) => {
                let id = node.hooks.write().add_post(hook);
                HookHandle::of_node(node, id)
            }
            NextFunction::Leaf(leaf) => {
                let id = leaf.meta_mut().leaf_hooks.add_post(hook);
                HookHandle::of_leaf(leaf, id)
            }
        }
    }
}
