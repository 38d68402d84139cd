//! The edges whose gradients a backward pass computes.

use std::collections::{HashMap, HashSet};

use super::edge::private::Source;
use super::edge::{Differentiable, input_edge};
use super::graph::Graph;
use crate::storage::fallible_alloc::{oom_error, try_collect, try_reserve_one, try_with_capacity};
use crate::tensor::{Edge, EdgeKey, GradFn};
use crate::{Result, Tensor};

/// Returns the edges of the inputs of a pass.
pub(super) fn targets<T: Differentiable>(op: &'static str, inputs: &[T]) -> Result<Vec<Edge>> {
    let mut targets = try_with_capacity(inputs.len())?;
    for input in inputs {
        targets.push(match input.source() {
            Source::Tensor(tensor) => input_edge(op, tensor)?,
            Source::Edge(edge) => edge.edge().clone(),
        });
    }
    Ok(targets)
}

/// The edges whose gradients a pass computes, and the gradients that it has computed.
pub(super) struct Targets {
    /// In the order of the inputs of the pass, of which some may be equal.
    keys: Vec<EdgeKey>,
    grads: HashMap<EdgeKey, Option<Tensor>>,
    /// The nodes from which a target is reachable, by sequence number.
    leading_nodes: HashSet<u64>,
}

impl Targets {
    pub(super) fn new(edges: &[Edge], graph: &Graph) -> Result<Self> {
        let keys = try_collect(edges.len(), edges.iter().map(Edge::key))?;
        let mut targets = Targets { keys, grads: HashMap::new(), leading_nodes: HashSet::new() };
        for &key in &targets.keys {
            try_reserve_one(&mut targets.grads)?;
            targets.grads.insert(key, None);
        }
        // Oldest first, so that the result for an edge is known when the edge is visited.
        for node in graph.oldest_first()? {
            if node.edges.iter().flatten().any(|edge| targets.needs(edge)) {
                let needed = targets.leading_nodes.len().saturating_add(1);
                targets.leading_nodes.try_reserve(1).map_err(|_| oom_error::<u64>(needed))?;
                targets.leading_nodes.insert(node.sequence);
            }
        }
        Ok(targets)
    }

    /// Returns whether the pass computes the gradient of an edge.
    pub(super) fn includes(&self, key: EdgeKey) -> bool {
        self.grads.contains_key(&key)
    }

    /// Returns whether a target is reachable along this edge.
    pub(super) fn needs(&self, edge: &Edge) -> bool {
        let leads = |grad_fn: &GradFn| self.leading_nodes.contains(&grad_fn.node.sequence);
        self.includes(edge.key()) || matches!(edge, Edge::Node(grad_fn) if leads(grad_fn))
    }

    /// Returns where to store the gradient of an edge, if it is a target.
    pub(super) fn grad_mut(&mut self, key: EdgeKey) -> Option<&mut Option<Tensor>> {
        self.grads.get_mut(&key)
    }

    /// Returns the gradients, in the order of the inputs of the pass.
    pub(super) fn into_grads(self) -> Result<Vec<Option<Tensor>>> {
        let grad = |key| self.grads.get(key).cloned().flatten();
        try_collect(self.keys.len(), self.keys.iter().map(grad))
    }
}
