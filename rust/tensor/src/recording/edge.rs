//! Edges to the inputs of an operation that is recorded.

use crate::storage::fallible_alloc::check_memory;
use crate::tensor::{AccumulateGrad, Edge, NextFunction};
use crate::{Result, Tensor};

use super::node_creation_hook::call_hooks;
use super::views::grad_fn;

/// Returns whether a tensor without a node accumulates gradients.
pub(crate) fn is_leaf_with_grad(tensor: &Tensor) -> bool {
    tensor.meta().requires_grad
}

/// Returns the destination of the gradient of `tensor`, if it has one. Creates the node of a leaf.
pub(crate) fn edge_of(op: &'static str, tensor: &Tensor) -> Result<Option<Edge>> {
    match grad_fn(op, tensor)? {
        Some(grad_fn) => Ok(Some(Edge::Node(grad_fn))),
        // A view without recorded history accumulates no gradient, even if its base requires grad.
        None if is_leaf_with_grad(tensor) => leaf_node(tensor).map(|leaf| Some(Edge::Leaf(leaf))),
        None => Ok(None),
    }
}

/// Returns the node of a leaf. If it is created, the hooks of the creation of nodes are called.
fn leaf_node(tensor: &Tensor) -> Result<AccumulateGrad> {
    // An operation may have any number of leaves.
    check_memory()?;
    let mut meta = tensor.meta_mut();
    // A node of replaced data has another shape, dtype or device.
    if let Some(node) = meta.accumulate_grad.upgrade().filter(|node| node.has_data_of(tensor)) {
        return Ok(node);
    }
    let node = AccumulateGrad::new(tensor);
    meta.accumulate_grad = node.downgrade();
    drop(meta);
    call_hooks(|| NextFunction::Leaf(node.clone()))?;
    Ok(node)
}
