//! The graph of nodes that a backward pass can visit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::multi_grad::MultiGradCalls;
use crate::Result;
use crate::storage::fallible_alloc::{try_collect, try_push, try_reserve_one};
use crate::tensor::{Edge, GradFn, Node};

/// The graph below the outputs.
pub(super) struct Graph {
    nodes: HashMap<u64, Arc<Node>>,
    /// For each leaf the oldest node with an edge to it, by the identity of the leaf.
    last_nodes: HashMap<usize, u64>,
}

impl Graph {
    /// Returns the graph that is reachable from the edges of the outputs.
    pub(super) fn of(roots: &[Edge]) -> Result<Self> {
        let mut graph = Graph { nodes: HashMap::new(), last_nodes: HashMap::new() };
        let mut open: Vec<Arc<Node>> = Vec::new();
        for node in roots.iter().filter_map(node_of) {
            try_push(&mut open, node)?;
        }
        while let Some(node) = open.pop() {
            try_reserve_one(&mut graph.nodes)?;
            if graph.nodes.insert(node.sequence, node.clone()).is_some() {
                continue;
            }
            for edge in node.edges.iter().flatten() {
                match edge {
                    Edge::Node(next) if graph.nodes.contains_key(&next.node.sequence) => {}
                    Edge::Node(next) => try_push(&mut open, next.node.clone())?,
                    Edge::Leaf(leaf) => {
                        try_reserve_one(&mut graph.last_nodes)?;
                        let last = graph.last_nodes.entry(leaf.identity()).or_insert(node.sequence);
                        *last = node.sequence.min(*last);
                    }
                }
            }
        }
        Ok(graph)
    }

    /// Returns the nodes in the order of their creation.
    pub(super) fn oldest_first(&self) -> Result<Vec<&Arc<Node>>> {
        let mut nodes = try_collect(self.nodes.len(), self.nodes.values())?;
        nodes.sort_unstable_by_key(|node| node.sequence);
        Ok(nodes)
    }

    /// Returns for each leaf the oldest node with an edge to it, by the identity of the leaf.
    pub(super) fn into_last_nodes(self) -> HashMap<usize, u64> {
        self.last_nodes
    }

    /// Adds the hooks of several tensors that wait for gradients of this graph. `needs` returns whether the pass computes
    /// the gradient of an edge.
    pub(super) fn expect_multi_grad(
        &self,
        calls: &mut MultiGradCalls,
        roots: &[Edge],
        needs: impl Fn(&Edge) -> bool,
    ) {
        for node in self.nodes.values() {
            let output = |output| needs(&Edge::Node(GradFn { node: node.clone(), output }));
            calls.expect(&node.hooks.read(), output);
        }
        let edges = self.nodes.values().flat_map(|node| node.edges.iter().flatten());
        let mut seen = HashSet::new();
        for edge in edges.chain(roots) {
            if let Edge::Leaf(leaf) = edge
                && seen.insert(leaf.identity())
            {
                calls.expect(&leaf.meta().leaf_hooks, |_| needs(edge));
            }
        }
    }
}

fn node_of(edge: &Edge) -> Option<Arc<Node>> {
    match edge {
        Edge::Node(grad_fn) => Some(grad_fn.node.clone()),
        Edge::Leaf(_) => None,
    }
}
