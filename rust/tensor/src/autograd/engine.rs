//! The autograd engine, which runs backward passes.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use interlock::accelerator::{Stream, check_interrupts};
use interlock::autograd::{scope_barrier, set_grad_enabled};

use super::accumulate::{accumulate_grad, add, can_accumulate_inplace};
use super::convert::{convert, kind, of_current_data};
use super::custom::GradBuffers;
use super::edge::Differentiable;
use super::edge::private::Source;
use super::graph::Graph;
use super::hooks::HookCalls;
use super::multi_grad::{self, MultiGradCalls};
use super::run_node::NodeCall;
use super::stream_sync::StreamSync;
use super::targets::{Targets, targets};
use super::{anomaly, nesting, without_history};
use crate::error::Tuple;
use crate::recording::{edge_of, grad_fn, note_running};
use crate::storage::fallible_alloc::{oom_error, try_from_elem, try_reserve_one, try_with_capacity};
use crate::tensor::{Edge, EdgeKey, GradFn, GradientKind, Gradients, Node};
use crate::{Error, ErrorKind, Result, Tensor, TensorOptions};

/// The arguments of a backward pass.
pub struct BackwardArgs<'a, T = Tensor> {
    /// The tensors or edges to differentiate.
    pub outputs: &'a [T],
    /// The gradient of each output. `None` is an implicit 1, for outputs of one element.
    pub gradients: &'a [Option<Tensor>],
    /// Whether the saved tensors are retained, to run the graph again.
    pub retain_graph: bool,
    /// Whether the backward pass itself is recorded.
    pub create_graph: bool,
}

/// Accumulates the gradients of the outputs in the [`grad`](Tensor::grad) of leaves, or only of `inputs` if any are
/// given: `torch.autograd.backward`. An edge of a tensor that is not a leaf accumulates nothing, as in PyTorch.
pub fn backward<T: Differentiable>(request: &BackwardArgs<'_, T>, inputs: Option<&[T]>) -> Result<()> {
    let op = "backward";
    let Some(inputs) = inputs else {
        return nesting::run(op, || GraphTask::new(op, request, None)?.run().map(drop));
    };
    Error::when(inputs.is_empty(), || Error::no_tensors(op, "inputs"))?;
    let targets = targets(op, inputs)?;
    // The gradient of a result of an operation is retained in its `grad`.
    for input in inputs {
        if let Source::Tensor(tensor) = input.source() {
            tensor.retain_grad()?;
        }
    }
    nesting::run(op, || {
        let mut task = GraphTask::new(op, request, Some(&targets))?;
        task.accumulates = true;
        task.run().map(drop)
    })
}

/// Returns the gradients of the outputs with respect to `inputs`, without accumulating in any leaf:
/// `torch.autograd.grad`. An input that the outputs do not depend on is an error, or `None` with `allow_unused`.
pub fn grad<T: Differentiable>(
    request: &BackwardArgs<'_, T>,
    inputs: &[T],
    allow_unused: bool,
) -> Result<Vec<Option<Tensor>>> {
    Error::when(inputs.is_empty(), || Error::no_tensors("grad", "inputs"))?;
    let op = "grad";
    let targets = targets(op, inputs)?;
    let grads = nesting::run(op, || GraphTask::new(op, request, Some(&targets))?.run())?;
    match grads.iter().position(Option::is_none) {
        Some(index) if !allow_unused => {
            let message = format!(
                "the outputs do not depend on input {index}; autograd::grad with `allow_unused` returns None for it"
            );
            Err(Error::new(ErrorKind::State, "grad", message))
        }
        _ => Ok(grads),
    }
}

/// The number of nodes between two checks for interrupts.
const NODES_PER_CHECK: u64 = 256;

/// A node whose gradient is complete, ordered from the newest to the oldest.
struct ReadyNode(Arc<Node>);

impl PartialEq for ReadyNode {
    fn eq(&self, other: &Self) -> bool {
        self.0.sequence == other.0.sequence
    }
}
impl Eq for ReadyNode {}
impl PartialOrd for ReadyNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for ReadyNode {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.sequence.cmp(&other.0.sequence)
    }
}

/// A leaf that an edge has led to, and the sum of its gradients, if there were any.
struct LeafBuffer {
    leaf: Tensor,
    sum: Option<Tensor>,
}

struct GraphTask {
    /// The edges of the outputs. Their gradients are delivered.
    roots: Vec<Edge>,
    retain_graph: bool,
    create_graph: bool,
    ready: BinaryHeap<ReadyNode>,
    /// The accumulated gradients of the results of nodes in `ready`, by sequence number.
    input_buffers: HashMap<u64, Gradients>,
    /// The leaves that have not received all gradients yet, by identity.
    leaf_buffers: HashMap<usize, LeafBuffer>,
    /// For each leaf the oldest node with an edge to it, by the identity of the leaf: no gradient arrives after it.
    last_nodes: HashMap<usize, u64>,
    /// The edges whose gradients are computed, or `None` to accumulate in all leaves.
    targets: Option<Targets>,
    /// Whether leaves among the targets accumulate their gradients. Otherwise the gradients are returned.
    accumulates: bool,
    multi_grad_calls: MultiGradCalls,
    stream_sync: StreamSync,
}

impl GraphTask {
    fn new<T: Differentiable>(
        op: &'static str,
        request: &BackwardArgs<'_, T>,
        targets: Option<&[Edge]>,
    ) -> Result<Self> {
        let (given, needed) = (request.gradients.len(), request.outputs.len());
        if given != needed {
            let argument = if op == "grad" { "grad_outputs" } else { "grad_tensors" };
            let expected = format!("have one gradient for each output, {needed}");
            return Err(Error::value(op, argument, expected, given));
        }
        let (mut roots, mut gradients) = (try_with_capacity(needed)?, try_with_capacity(needed)?);
        for (output, gradient) in request.outputs.iter().zip(request.gradients) {
            let (edge, kind) = match output.source() {
                Source::Tensor(tensor) => {
                    (edge_of(op, tensor)?.ok_or_else(|| Error::no_graph(op))?, GradientKind::of(tensor))
                }
                Source::Edge(edge) => (edge.edge().clone(), kind(edge.edge())),
            };
            gradients.push(root_gradient(op, &kind, gradient.as_ref())?);
            roots.push(edge);
        }
        let graph = Graph::of(&roots)?;
        let accumulates = targets.is_none();
        let targets = targets.map(|edges| Targets::new(edges, &graph)).transpose()?;
        let mut multi_grad_calls = MultiGradCalls::new(request.create_graph);
        if multi_grad::any_registered() {
            let needs = |edge: &Edge| targets.as_ref().is_none_or(|targets| targets.needs(edge));
            graph.expect_multi_grad(&mut multi_grad_calls, &roots, needs);
        }
        let mut task = GraphTask {
            roots: Vec::new(),
            retain_graph: request.retain_graph,
            create_graph: request.create_graph,
            ready: BinaryHeap::new(),
            input_buffers: HashMap::new(),
            leaf_buffers: HashMap::new(),
            last_nodes: graph.into_last_nodes(),
            targets,
            accumulates,
            multi_grad_calls,
            stream_sync: StreamSync::default(),
        };
        let _mode = set_grad_enabled(task.create_graph);
        for (edge, gradient) in roots.iter().zip(gradients) {
            // As in PyTorch: the hooks of the only root run even if no input depends on it.
            if needed == 1 || task.needs(edge) {
                task.deliver(op, edge, Some(gradient))?;
            }
        }
        task.roots = roots;
        Ok(task)
    }

    fn run(mut self) -> Result<Vec<Option<Tensor>>> {
        let _mode = set_grad_enabled(self.create_graph);
        let done = self.visit_all();
        // The program can access gradients that were delivered before an error, too.
        let joined = self.stream_sync.sync_current_streams();
        done.and(joined)?;
        nesting::run_callbacks()?;
        self.targets.map_or(Ok(Vec::new()), Targets::into_grads)
    }

    fn visit_all(&mut self) -> Result<()> {
        let roots = std::mem::take(&mut self.roots);
        self.finish_leaves(&roots, None)?;
        for visited in 1u64.. {
            let Some(ReadyNode(node)) = self.ready.pop() else { break };
            if visited % NODES_PER_CHECK == 0 {
                check_interrupts()?;
            }
            let gradients = self.input_buffers.remove(&node.sequence).unwrap_or_default();
            // As in PyTorch: scopes that functions of the program leave open end with the node.
            let barrier = scope_barrier();
            // The backward function runs on the stream of the forward operation.
            let stream = self.stream_sync.stream_of_node(&node).map(Stream::guard).transpose()?;
            let running = note_running(&node);
            self.visit(&node, gradients).map_err(|error| anomaly::add_stack(&node, error))?;
            drop((running, stream, barrier));
            self.finish_leaves(node.edges.iter().flatten(), Some(node.sequence))?;
        }
        Ok(())
    }

    fn visit(&mut self, node: &Arc<Node>, mut gradients: Gradients) -> Result<()> {
        let hooks = HookCalls::of(&node.hooks.read());
        if let Some(hooks) = &hooks {
            hooks.call_tensor(&mut gradients, &mut self.multi_grad_calls)?;
            for (result, tensor) in hooks.retained() {
                if let Some(Some(gradient)) = gradients.get(result) {
                    self.stream_sync.record_use(gradient);
                    accumulate_grad(&tensor, gradient.clone(), self.create_graph)?;
                }
            }
        }
        let mut is_target = false;
        for (output, gradient) in gradients.iter().enumerate() {
            let key = EdgeKey::Result { node: node.sequence, output };
            is_target |= self.targets.as_ref().is_some_and(|targets| targets.includes(key));
            if let Some(gradient) = gradient {
                self.capture_grad(key, gradient);
            }
        }
        let mut needed = try_with_capacity(node.edges.len())?;
        needed.extend(node.edges.iter().map(|edge| edge.as_ref().is_some_and(|edge| self.needs(edge))));
        // As in PyTorch: a pass that accumulates runs the nodes of its inputs, with their hooks.
        if !(needed.contains(&true) || is_target && self.accumulates) {
            return Ok(());
        }
        let buffers = node.custom_function().map(|_| self.grad_buffers(node, hooks.as_ref()));
        let call =
            NodeCall { needed: &needed, retain_graph: self.retain_graph, hooks: hooks.as_ref(), buffers };
        call.run(node, gradients, |edge, gradient| self.deliver(node.name(), edge, gradient))
    }

    /// Returns the gradients of the inputs of a node that other nodes have contributed so far, where the backward function
    /// may add to them in place, or the reason why it may not read them.
    fn grad_buffers(&self, node: &Node, hooks: Option<&HookCalls>) -> GradBuffers {
        if self.create_graph {
            return Err("BackwardArgs::create_graph must be false");
        }
        if hooks.is_some_and(HookCalls::has_post) {
            return Err("the node must have no hook of register_hook, which could not observe the gradients");
        }
        if anomaly::is_enabled() {
            return Err("anomaly mode must be off");
        }
        let buffer = |edge: &Edge| match edge {
            Edge::Leaf(leaf) => self.leaf_buffers.get(&leaf.identity())?.sum.as_ref(),
            Edge::Node(grad_fn) => {
                self.input_buffers.get(&grad_fn.node.sequence)?.get(grad_fn.output)?.as_ref()
            }
        };
        let own = |edge: &Option<Edge>| {
            let edge = edge.as_ref().filter(|edge| self.needs(edge))?;
            buffer(edge).filter(|sum| can_accumulate_inplace(sum)).cloned()
        };
        Ok(node.edges.iter().map(own).collect())
    }

    /// Returns whether a target is reachable along this edge.
    fn needs(&self, edge: &Edge) -> bool {
        self.targets.as_ref().is_none_or(|targets| targets.needs(edge))
    }

    /// Delivers a gradient that `source` has computed to an edge, converted to the shape, type and device of the tensor that
    /// it belongs to. As in PyTorch the consumer runs even if it receives none.
    fn deliver(&mut self, source: &str, edge: &Edge, gradient: Option<Tensor>) -> Result<()> {
        let gradient = gradient.map(|gradient| convert(source, edge, &gradient)).transpose()?;
        let enter = |gradient| self.stream_sync.enter_consumer_stream(edge, gradient);
        let _stream = gradient.as_ref().map(enter).transpose()?.flatten();
        match edge {
            Edge::Leaf(leaf) => self.deliver_to_leaf(leaf, gradient),
            Edge::Node(grad_fn) => self.deliver_to_node(grad_fn, gradient),
        }
    }

    fn deliver_to_leaf(&mut self, leaf: &Tensor, gradient: Option<Tensor>) -> Result<()> {
        let (leaf, gradient) = match gradient {
            Some(gradient) => {
                of_current_data(leaf, gradient).map(|(leaf, gradient)| (leaf, Some(gradient)))?
            }
            None => (leaf.clone(), None),
        };
        let id = leaf.identity();
        let sum = self.leaf_buffers.remove(&id).and_then(|buffer| buffer.sum);
        let sum = add(sum, gradient, self.create_graph)?;
        try_reserve_one(&mut self.leaf_buffers)?;
        self.leaf_buffers.insert(id, LeafBuffer { leaf, sum });
        Ok(())
    }

    fn deliver_to_node(&mut self, grad_fn: &GradFn, gradient: Option<Tensor>) -> Result<()> {
        let node = &grad_fn.node;
        if !self.input_buffers.contains_key(&node.sequence) {
            let needed = self.ready.len().saturating_add(1);
            self.ready.try_reserve(1).map_err(|_| oom_error::<ReadyNode>(needed))?;
            try_reserve_one(&mut self.input_buffers)?;
            self.input_buffers.insert(node.sequence, try_from_elem(None, node.result_count())?);
            self.ready.push(ReadyNode(node.clone()));
        }
        let gradients = self.input_buffers.get_mut(&node.sequence);
        if let Some(buffer) = gradients.and_then(|gradients| gradients.get_mut(grad_fn.output)) {
            *buffer = add(buffer.take(), gradient, self.create_graph)?;
        }
        Ok(())
    }

    /// Finishes the leaves among edges of a node, or of the roots, to which no later node delivers a gradient.
    fn finish_leaves<'e>(
        &mut self,
        edges: impl IntoIterator<Item = &'e Edge>,
        source: Option<u64>,
    ) -> Result<()> {
        for edge in edges {
            let Edge::Leaf(leaf) = edge else { continue };
            let id = leaf.identity();
            if self.last_nodes.get(&id).copied() == source
                && let Some(buffer) = self.leaf_buffers.remove(&id)
            {
                self.finish_leaf(buffer)?;
            }
        }
        Ok(())
    }

    /// Accumulates or captures the complete gradient of a leaf.
    fn finish_leaf(&mut self, buffer: LeafBuffer) -> Result<()> {
        let LeafBuffer { leaf, sum } = buffer;
        let _barrier = scope_barrier();
        let _stream = self.stream_sync.enter_leaf_stream(&leaf)?;
        let hooks = HookCalls::of(&leaf.meta().leaf_hooks);
        let Some(hooks) = hooks else { return self.store(&leaf, sum) };
        let mut gradients = vec![sum];
        hooks.call_tensor(&mut gradients, &mut self.multi_grad_calls)?;
        if !self.accumulates_in(&leaf) {
            return self.store(&leaf, gradients.pop().flatten());
        }
        hooks.call_pre(&mut gradients)?;
        let accumulated = if hooks.has_post() { gradients.clone() } else { Vec::new() };
        self.store(&leaf, gradients.pop().flatten())?;
        hooks.call_post_accumulate(&leaf)?;
        hooks.call_post(&mut Vec::new(), &accumulated)
    }

    /// Returns whether the pass accumulates the gradient of a leaf. The only root may be a leaf that it does not.
    fn accumulates_in(&self, leaf: &Tensor) -> bool {
        let key = EdgeKey::Leaf(leaf.identity());
        self.accumulates && self.targets.as_ref().is_none_or(|targets| targets.includes(key))
    }

    fn store(&mut self, leaf: &Tensor, gradient: Option<Tensor>) -> Result<()> {
        let Some(gradient) = gradient else { return Ok(()) };
        if !self.accumulates_in(leaf) {
            self.capture_grad(EdgeKey::Leaf(leaf.identity()), &gradient);
            return Ok(());
        }
        // The leaf may have been frozen or detached since the graph was recorded.
        if grad_fn("backward", leaf)?.is_some() {
            return Err(err_moved_leaf());
        }
        if leaf.requires_grad() { accumulate_grad(leaf, gradient, self.create_graph) } else { Ok(()) }
    }

    /// Stores a gradient if the pass returns it.
    fn capture_grad(&mut self, key: EdgeKey, gradient: &Tensor) {
        if let Some(grad) = self.targets.as_mut().and_then(|targets| targets.grad_mut(key)) {
            self.stream_sync.record_use(gradient);
            let gradient = gradient.clone();
            *grad = Some(if self.create_graph { gradient } else { without_history(gradient) });
        }
    }
}

/// Returns the gradient of an output of this kind: the given one, or 1.
fn root_gradient(op: &'static str, output: &GradientKind<'_>, given: Option<&Tensor>) -> Result<Tensor> {
    let (shape, dtype, device) = (output.shape, output.dtype, output.device);
    match given {
        Some(gradient) if gradient.device() != device => Err(Error::devices(op, device, gradient.device())),
        Some(gradient) if gradient.shape() == shape => Ok(gradient.clone()),
        Some(gradient) => {
            let expected = format!("be of shape {}, as the output", Tuple(shape));
            Err(Error::shape(op, "the gradient", expected, gradient.shape()))
        }
        None if shape.iter().all(|&size| size == 1) => {
            Tensor::full(shape, 1.0.into(), TensorOptions { dtype, placement: device.into() })
        }
        None => {
            let message = format!(
                "a gradient must be passed for an output of shape {}; without one the output must have one element",
                Tuple(shape)
            );
            Err(Error::new(ErrorKind::State, op, message))
        }
    }
}

/// Returns the error for a leaf of the graph that has become the result of an operation.
fn err_moved_leaf() -> Error {
    let message = "a leaf of the graph was changed in place by a recorded operation after the graph had used it, and is \
                   not a leaf any more; clone() the leaf before the change";
    Error::new(ErrorKind::State, "backward", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::KEYS;
    use crate::testing::doubles;

    fn leaf() -> Tensor {
        let leaf = doubles(&[1.0], &[1]);
        leaf.set_requires_grad(true).unwrap();
        leaf
    }

    #[test]
    fn grad_of_many_inputs_visits_each_edge_a_few_times() {
        const COUNT: usize = 300;
        let leaves: Vec<Tensor> = (0..COUNT).map(|_| leaf()).collect();
        let inputs: Vec<Tensor> = leaves.iter().map(|leaf| leaf.mul(2.0).unwrap()).collect();
        let total = inputs.iter().cloned().reduce(|sum, input| sum.add(&input).unwrap()).unwrap();
        for inputs in [&leaves, &inputs] {
            let (outputs, gradients) = (std::slice::from_ref(&total), &[None]);
            let args = BackwardArgs { outputs, gradients, retain_graph: true, create_graph: false };
            let before = KEYS.get();
            assert_eq!(grad(&args, inputs, false).unwrap().len(), COUNT);
            let visits = KEYS.get() - before;
            // There are about four edges for each input.
            assert!(visits < 20 * COUNT, "{visits}");
        }
    }
}
