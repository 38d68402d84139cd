//! The autograd engine, which runs backward passes.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use interlock::accelerator::Stream;
use interlock::autograd::set_grad_enabled;

use super::edge::private::Source;
use super::edge::{Differentiable, Edge};
use super::hooks::{GradientKind, HookCalls, calls_of};
use super::multi_grad::{self, MultiGradCalls};
use super::nesting::OpenPass;
use super::node::Node;
use super::stream_sync::StreamSync;
use super::{GradFn, anomaly};
use crate::error::Tuple;
use crate::fallible_alloc::{oom_error, try_collect, try_from_elem, try_push, try_with_capacity};
use crate::{Error, Result, Tensor, TensorOptions, ops};

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
    let Some(inputs) = inputs else {
        return GraphTask::new("backward", request, None)?.run().map(drop);
    };
    if inputs.is_empty() {
        return Err(Error::no_tensors("backward", "inputs"));
    }
    let targets = targets("backward", inputs)?;
    // The gradient of a result of an operation is retained in its `grad`.
    for input in inputs {
        if let Source::Tensor(tensor) = input.source() {
            tensor.retain_grad()?;
        }
    }
    let mut task = GraphTask::new("backward", request, Some(&targets))?;
    task.accumulates = true;
    task.run().map(drop)
}

/// Returns the gradients of the outputs with respect to `inputs`, without accumulating in any leaf:
/// `torch.autograd.grad`. An input that the outputs do not depend on is an error, or `None` with `allow_unused`.
pub fn grad<T: Differentiable>(
    request: &BackwardArgs<'_, T>,
    inputs: &[T],
    allow_unused: bool,
) -> Result<Vec<Option<Tensor>>> {
    if inputs.is_empty() {
        return Err(Error::no_tensors("grad", "inputs"));
    }
    let targets = targets("grad", inputs)?;
    let grads = GraphTask::new("grad", request, Some(&targets))?.run()?;
    match grads.iter().position(Option::is_none) {
        Some(index) if !allow_unused => Err(Error::Unused { index }),
        _ => Ok(grads),
    }
}

fn targets<T: Differentiable>(op: &'static str, inputs: &[T]) -> Result<Vec<Edge>> {
    let mut targets = try_with_capacity(inputs.len())?;
    for input in inputs {
        targets.push(match input.source() {
            Source::Tensor(tensor) => target(op, tensor)?,
            Source::Edge(edge) => edge.edge().clone(),
        });
    }
    Ok(targets)
}

/// Returns the edge of a tensor that requires grad.
pub(super) fn target(op: &'static str, tensor: &Tensor) -> Result<Edge> {
    match Edge::of(tensor)? {
        Some(edge) => Ok(edge),
        // No output depends on a view without recorded history.
        None if tensor.requires_grad() => Ok(Edge::Leaf(tensor.clone())),
        None => Err(Error::NoGraph { op }),
    }
}

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

/// A leaf that has received gradients, and their sum.
struct LeafBuffer {
    leaf: Tensor,
    sum: Tensor,
    /// The position of the leaf among those that have received a gradient.
    order: usize,
}

struct GraphTask<'a> {
    retain_graph: bool,
    create_graph: bool,
    ready: BinaryHeap<ReadyNode>,
    /// The accumulated gradients of the results of nodes in `ready`, by sequence number and result.
    input_buffers: HashMap<(u64, usize), Tensor>,
    /// The leaves that have not received all gradients yet, by identity.
    leaf_buffers: HashMap<usize, LeafBuffer>,
    /// For each leaf the oldest node with an edge to it, by the identity of the leaf: no gradient arrives after it.
    last_nodes: HashMap<usize, u64>,
    /// The edges whose gradients are returned, or `None` to accumulate in all leaves.
    targets: Option<&'a [Edge]>,
    /// Whether leaves among the targets accumulate their gradients.
    accumulates: bool,
    grads: Vec<Option<Tensor>>,
    /// The nodes from which a target is reachable, by sequence number.
    needed_nodes: HashSet<u64>,
    multi_grad_calls: MultiGradCalls,
    stream_sync: StreamSync,
    _open: OpenPass,
}

impl<'a> GraphTask<'a> {
    fn new<T: Differentiable>(
        op: &'static str,
        request: &BackwardArgs<'_, T>,
        targets: Option<&'a [Edge]>,
    ) -> Result<Self> {
        let (given, needed) = (request.gradients.len(), request.outputs.len());
        if given != needed {
            let argument = if op == "grad" { "grad_outputs" } else { "grad_tensors" };
            let expected = format!("have one gradient for each output, {needed}");
            return Err(Error::value(op, argument, expected, given));
        }
        let mut task = GraphTask {
            retain_graph: request.retain_graph,
            create_graph: request.create_graph,
            ready: BinaryHeap::new(),
            input_buffers: HashMap::new(),
            leaf_buffers: HashMap::new(),
            last_nodes: HashMap::new(),
            targets,
            accumulates: targets.is_none(),
            grads: try_from_elem(None, targets.map_or(0, <[Edge]>::len))?,
            needed_nodes: HashSet::new(),
            multi_grad_calls: MultiGradCalls::default(),
            stream_sync: StreamSync::default(),
            _open: OpenPass::begin(op)?,
        };
        let mut roots = try_with_capacity(needed)?;
        for (output, gradient) in request.outputs.iter().zip(request.gradients) {
            let (edge, kind) = match output.source() {
                Source::Tensor(tensor) => {
                    (Edge::of(tensor)?.ok_or(Error::NoGraph { op })?, GradientKind::of(tensor))
                }
                Source::Edge(edge) => (edge.edge().clone(), edge.edge().kind()),
            };
            roots.push((edge, root_gradient(op, &kind, gradient.as_ref())?));
        }
        let graph = Graph::of(roots.iter().map(|(edge, _)| edge))?;
        if let Some(targets) = targets {
            task.needed_nodes = graph.reachable_to(targets)?;
        }
        if multi_grad::any_registered() {
            let roots = roots.iter().map(|(edge, _)| edge);
            task.multi_grad_calls = graph.multi_grad_calls(roots, |edge| task.needs(edge));
        }
        task.last_nodes = graph.last_nodes;
        let _mode = set_grad_enabled(task.create_graph);
        roots.into_iter().try_for_each(|(edge, gradient)| task.deliver(&edge, gradient))?;
        Ok(task)
    }

    fn run(mut self) -> Result<Vec<Option<Tensor>>> {
        let _mode = set_grad_enabled(self.create_graph);
        let done = self.visit_all().and_then(|()| self.multi_grad_calls.finish());
        // The program can access gradients that were delivered before an error, too.
        let joined = self.stream_sync.sync_current_streams();
        done.and(joined).map(|()| self.grads)
    }

    fn visit_all(&mut self) -> Result<()> {
        while let Some(ReadyNode(node)) = self.ready.pop() {
            let gradients = self.take_gradients(&node)?;
            if gradients.iter().all(Option::is_none) {
                continue;
            }
            // The backward function runs on the stream of the forward operation.
            let stream = node.stream.as_ref().map(Stream::guard).transpose()?;
            let running = anomaly::enter(&node);
            self.visit(&node, gradients).map_err(|error| anomaly::add_stack(&node, error))?;
            drop((stream, running));
            self.finish_leaves_of(&node)?;
        }
        // Leaves with a consumer that received no gradient, in the order of their first gradient.
        let mut rest =
            try_collect(self.leaf_buffers.len(), self.leaf_buffers.drain().map(|(_, buffer)| buffer))?;
        rest.sort_unstable_by_key(|buffer| buffer.order);
        rest.into_iter().try_for_each(|buffer| self.finish_leaf(buffer))
    }

    /// Returns the gradients of the results of a node.
    fn take_gradients(&mut self, node: &Node) -> Result<Vec<Option<Tensor>>> {
        let count = node.result_count();
        let mut gradients = try_with_capacity(count)?;
        gradients.extend((0..count).map(|result| self.input_buffers.remove(&(node.sequence, result))));
        Ok(gradients)
    }

    fn visit(&mut self, node: &Arc<Node>, mut gradients: Vec<Option<Tensor>>) -> Result<()> {
        let hooks = calls_of(&node.hooks);
        if let Some(hooks) = &hooks {
            hooks.call_tensor(&mut gradients, &mut self.multi_grad_calls)?;
            for (result, tensor) in hooks.retained() {
                if let Some(Some(gradient)) = gradients.get(*result) {
                    self.stream_sync.record_use(gradient);
                    accumulate_grad(tensor, gradient.clone(), self.create_graph)?;
                }
            }
        }
        for (result, gradient) in gradients.iter().enumerate() {
            let is_target = |target: &Edge| matches!(target, Edge::Node(needed) if needed.output == result && Arc::ptr_eq(&needed.node, node));
            if let Some(gradient) = gradient {
                self.capture_grad(is_target, gradient);
            }
        }
        let mut needed = try_with_capacity(node.edges.len())?;
        needed.extend(node.edges.iter().map(|edge| edge.as_ref().is_some_and(|edge| self.needs(edge))));
        if !needed.contains(&true) {
            return Ok(());
        }
        let retain_graph = self.retain_graph;
        node.apply(gradients, &needed, retain_graph, hooks.as_ref(), |edge, gradient| {
            self.deliver(edge, gradient)
        })
    }

    /// Returns whether a target is reachable along this edge.
    fn needs(&self, edge: &Edge) -> bool {
        match (self.targets, edge) {
            (None, _) => true,
            (Some(targets), Edge::Leaf(_)) => targets.iter().any(|target| is_same_edge(target, edge)),
            (Some(targets), Edge::Node(grad_fn)) => {
                self.needed_nodes.contains(&grad_fn.node.sequence)
                    || targets.iter().any(|target| is_same_edge(target, edge))
            }
        }
    }

    /// Delivers a gradient to an edge, converted to the shape, type and device of the tensor that it belongs to.
    fn deliver(&mut self, edge: &Edge, gradient: Tensor) -> Result<()> {
        let gradient = edge.convert(&gradient)?;
        let _stream = self.stream_sync.enter_consumer_stream(edge, &gradient)?;
        match edge {
            Edge::Leaf(leaf) => self.deliver_to_leaf(leaf, gradient),
            Edge::Node(grad_fn) => self.deliver_to_node(grad_fn, gradient),
        }
    }

    fn deliver_to_leaf(&mut self, leaf: &Tensor, gradient: Tensor) -> Result<()> {
        let id = leaf.identity();
        let (sum, order) = match self.leaf_buffers.remove(&id) {
            Some(buffer) => (Some(buffer.sum), buffer.order),
            None => (None, self.leaf_buffers.len()),
        };
        let sum = add(sum, gradient, self.create_graph)?;
        reserve(&mut self.leaf_buffers)?;
        self.leaf_buffers.insert(id, LeafBuffer { leaf: leaf.clone(), sum, order });
        Ok(())
    }

    fn deliver_to_node(&mut self, grad_fn: &GradFn, gradient: Tensor) -> Result<()> {
        let node = &grad_fn.node;
        let key = (node.sequence, grad_fn.output);
        let sum = self.input_buffers.remove(&key);
        let is_ready = sum.is_some()
            || (node.result_count() > 1
                && (0..node.result_count())
                    .any(|result| self.input_buffers.contains_key(&(node.sequence, result))));
        if !is_ready {
            let needed = self.ready.len().saturating_add(1);
            self.ready.try_reserve(1).map_err(|_| oom_error::<ReadyNode>(needed))?;
            self.ready.push(ReadyNode(node.clone()));
        }
        reserve(&mut self.input_buffers)?;
        let total = add(sum, gradient, self.create_graph)?;
        self.input_buffers.insert(key, total);
        Ok(())
    }

    /// Finishes the leaves to which no later node delivers a gradient.
    fn finish_leaves_of(&mut self, node: &Node) -> Result<()> {
        for edge in node.edges.iter().flatten() {
            let Edge::Leaf(leaf) = edge else { continue };
            let id = leaf.identity();
            if self.last_nodes.get(&id) == Some(&node.sequence)
                && let Some(buffer) = self.leaf_buffers.remove(&id)
            {
                self.finish_leaf(buffer)?;
            }
        }
        Ok(())
    }

    /// Accumulates or captures the complete gradient of a leaf.
    fn finish_leaf(&mut self, buffer: LeafBuffer) -> Result<()> {
        let LeafBuffer { leaf, sum, .. } = buffer;
        let _stream = self.stream_sync.enter_leaf_stream(&leaf)?;
        let hooks = HookCalls::of(&leaf.meta().leaf_hooks);
        let Some(hooks) = hooks else { return self.store(&leaf, sum) };
        let mut gradients = vec![Some(sum)];
        hooks.call_tensor(&mut gradients, &mut self.multi_grad_calls)?;
        if !self.accumulates {
            return gradients.pop().flatten().map_or(Ok(()), |gradient| self.store(&leaf, gradient));
        }
        hooks.call_pre(&mut gradients)?;
        let accumulated = if hooks.has_post() { gradients.clone() } else { Vec::new() };
        if let Some(gradient) = gradients.pop().flatten() {
            self.store(&leaf, gradient)?;
        }
        hooks.call_post_accumulate(&leaf)?;
        hooks.call_post(&mut Vec::new(), &accumulated)
    }

    fn store(&mut self, leaf: &Tensor, gradient: Tensor) -> Result<()> {
        if self.accumulates {
            return accumulate_grad(leaf, gradient, self.create_graph);
        }
        self.capture_grad(|target| matches!(target, Edge::Leaf(target) if target.is(leaf)), &gradient);
        Ok(())
    }

    fn capture_grad(&mut self, is_target: impl Fn(&Edge) -> bool, gradient: &Tensor) {
        let targets = self.targets.unwrap_or_default();
        for (target, grads) in targets.iter().zip(&mut self.grads) {
            if is_target(target) {
                self.stream_sync.record_use(gradient);
                *grads = Some(gradient.clone());
            }
        }
    }
}

fn is_same_edge(a: &Edge, b: &Edge) -> bool {
    match (a, b) {
        (Edge::Leaf(a), Edge::Leaf(b)) => a.is(b),
        (Edge::Node(a), Edge::Node(b)) => a.is(b),
        _ => false,
    }
}

/// The graph below the outputs.
struct Graph {
    nodes: HashMap<u64, Arc<Node>>,
    /// For each leaf the oldest node with an edge to it, by the identity of the leaf.
    last_nodes: HashMap<usize, u64>,
}

impl Graph {
    fn of<'e>(roots: impl Iterator<Item = &'e Edge>) -> Result<Self> {
        let mut graph = Graph { nodes: HashMap::new(), last_nodes: HashMap::new() };
        let mut open: Vec<Arc<Node>> = Vec::new();
        for node in roots.filter_map(node_of) {
            try_push(&mut open, node)?;
        }
        while let Some(node) = open.pop() {
            reserve(&mut graph.nodes)?;
            if graph.nodes.insert(node.sequence, node.clone()).is_some() {
                continue;
            }
            for edge in node.edges.iter().flatten() {
                match edge {
                    Edge::Node(next) if graph.nodes.contains_key(&next.node.sequence) => {}
                    Edge::Node(next) => try_push(&mut open, next.node.clone())?,
                    Edge::Leaf(leaf) => {
                        reserve(&mut graph.last_nodes)?;
                        let last = graph.last_nodes.entry(leaf.identity()).or_insert(node.sequence);
                        *last = node.sequence.min(*last);
                    }
                }
            }
        }
        Ok(graph)
    }

    /// Returns the hooks of several tensors that wait for gradients of this graph. `needs` returns whether the pass
    /// computes the gradient of an edge.
    fn multi_grad_calls<'e>(
        &'e self,
        roots: impl Iterator<Item = &'e Edge>,
        needs: impl Fn(&Edge) -> bool,
    ) -> MultiGradCalls {
        let mut calls = MultiGradCalls::default();
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
        calls
    }

    /// Returns the nodes from which a target is reachable, by sequence number.
    fn reachable_to(&self, targets: &[Edge]) -> Result<HashSet<u64>> {
        // Oldest first, so that the result for an edge is known when the edge is visited.
        let mut nodes = try_collect(self.nodes.len(), self.nodes.values())?;
        nodes.sort_unstable_by_key(|node| node.sequence);
        let mut leading = HashSet::new();
        for node in nodes {
            let leads = node.edges.iter().flatten().any(|edge| {
                let onward = matches!(edge, Edge::Node(next) if leading.contains(&next.node.sequence));
                onward || targets.iter().any(|target| is_same_edge(target, edge))
            });
            if leads {
                let needed = leading.len().saturating_add(1);
                leading.try_reserve(1).map_err(|_| oom_error::<u64>(needed))?;
                leading.insert(node.sequence);
            }
        }
        Ok(leading)
    }
}

/// Reserves capacity for one more entry.
fn reserve<K: Eq + Hash, V>(map: &mut HashMap<K, V>) -> Result<()> {
    let needed = map.len().saturating_add(1);
    map.try_reserve(1).map_err(|_| oom_error::<(K, V)>(needed))
}

fn node_of(edge: &Edge) -> Option<Arc<Node>> {
    match edge {
        Edge::Node(grad_fn) => Some(grad_fn.node.clone()),
        Edge::Leaf(_) => None,
    }
}

/// Returns the gradient of an output of this kind: the given one, or 1.
fn root_gradient(op: &'static str, output: &GradientKind<'_>, given: Option<&Tensor>) -> Result<Tensor> {
    let (shape, dtype, device) = (output.shape, output.dtype, output.device);
    match given {
        Some(gradient) if gradient.device() != device => {
            Err(Error::Devices { op, left: device, right: gradient.device() })
        }
        Some(gradient) if gradient.shape() == shape => Ok(gradient.clone()),
        Some(gradient) => {
            let expected = format!("be of shape {}, as the output", Tuple(shape));
            Err(Error::shape(op, "the gradient", expected, gradient.shape()))
        }
        None if shape.iter().all(|&size| size == 1) => {
            Tensor::full(shape, 1.0.into(), TensorOptions { dtype, placement: device.into() })
        }
        None => Err(Error::ImplicitGradient { op, shape: shape.to_vec() }),
    }
}

/// Returns whether a gradient may be stored or added to without a copy.
fn can_accumulate_inplace(tensor: &Tensor) -> bool {
    tensor.is_uniquely_owned() && tensor.is_contiguous()
}

fn add(sum: Option<Tensor>, gradient: Tensor, create_graph: bool) -> Result<Tensor> {
    let Some(sum) = sum else { return Ok(gradient) };
    if !create_graph && can_accumulate_inplace(&sum) {
        return ops::add_unrecorded(sum, &gradient);
    }
    sum.add(&gradient)
}

/// Accumulates a gradient in `grad` of a tensor: PyTorch's `AccumulateGrad`. Passes on several threads may do so
/// concurrently.
fn accumulate_grad(tensor: &Tensor, gradient: Tensor, create_graph: bool) -> Result<()> {
    let old = match tensor.grad() {
        Some(old) => old,
        None => {
            // The gradient that a user reads must not share memory with a tensor that is still written.
            let own = if can_accumulate_inplace(&gradient) {
                gradient.clone()
            } else {
                gradient.contiguous_copy()?
            };
            let mut meta = tensor.meta_mut();
            match &meta.grad {
                // Another thread has set the gradient first.
                Some(old) => old.clone(),
                None => {
                    meta.grad = Some(own);
                    return Ok(());
                }
            }
        }
    };
    if create_graph {
        return tensor.set_grad(Some(old.add(&gradient)?));
    }
    old.add_(&gradient).map(drop)
}
