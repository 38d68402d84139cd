//! The autograd engine, which runs backward passes.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use interlock::accelerator::{Stream, check_interrupts};
use interlock::autograd::{Mode, scope_barrier, set_grad_enabled};

use super::custom::GradBuffers;
use super::edge::private::Source;
use super::edge::{Differentiable, convert, kind, of_current_data};
use super::hooks::HookCalls;
use super::multi_grad::{self, MultiGradCalls};
use super::run_node::NodeCall;
use super::stream_sync::StreamSync;
use super::{anomaly, nesting, without_history};
use crate::error::Tuple;
use crate::ops::elementwise::writing::add_unrecorded;
use crate::recording::{edge_of, grad_fn, is_leaf_with_grad, note_running};
use crate::storage::fallible_alloc::{
    check_memory, oom_error, try_collect, try_from_elem, try_push, try_reserve_one, try_with_capacity,
};
use crate::storage::fork_rwlock::{LockRequest, RawForkRwLock, with_locks};
use crate::tensor::{AccumulateGrad, Edge, EdgeKey, GradFn, GradientKind, Gradients, Node};
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
    match grad_fn(op, tensor)? {
        Some(grad_fn) => Ok(Edge::Node(grad_fn)),
        // A leaf that no output depends on needs no node, and no output depends on a view without recorded history.
        None if is_leaf_with_grad(tensor) || tensor.requires_grad() => leaf_of_input(tensor).map(Edge::Leaf),
        None => Err(Error::no_graph(op)),
    }
}

/// Returns the node of an input of a backward pass. An input that no operation uses needs one only for the pass, of which
/// no hook learns.
fn leaf_of_input(tensor: &Tensor) -> Result<AccumulateGrad> {
    check_memory()?;
    let existing = tensor.meta().accumulate_grad.upgrade();
    Ok(existing.unwrap_or_else(|| AccumulateGrad::new(tensor)))
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

/// The edges whose gradients a pass computes, and the gradients that it has computed.
struct Targets {
    /// In the order of the inputs of the pass, of which some may be equal.
    keys: Vec<EdgeKey>,
    grads: HashMap<EdgeKey, Option<Tensor>>,
    /// The nodes from which a target is reachable, by sequence number.
    leading_nodes: HashSet<u64>,
}

impl Targets {
    fn new(edges: &[Edge], graph: &Graph) -> Result<Self> {
        let keys = try_collect(edges.len(), edges.iter().map(Edge::key))?;
        let mut targets = Targets { keys, grads: HashMap::new(), leading_nodes: HashSet::new() };
        for &key in &targets.keys {
            try_reserve_one(&mut targets.grads)?;
            targets.grads.insert(key, None);
        }
        // Oldest first, so that the result for an edge is known when the edge is visited.
        let mut nodes = try_collect(graph.nodes.len(), graph.nodes.values())?;
        nodes.sort_unstable_by_key(|node| node.sequence);
        for node in nodes {
            if node.edges.iter().flatten().any(|edge| targets.needs(edge)) {
                let needed = targets.leading_nodes.len().saturating_add(1);
                targets.leading_nodes.try_reserve(1).map_err(|_| oom_error::<u64>(needed))?;
                targets.leading_nodes.insert(node.sequence);
            }
        }
        Ok(targets)
    }

    fn contains(&self, key: EdgeKey) -> bool {
        self.grads.contains_key(&key)
    }

    /// Returns whether a target is reachable along this edge.
    fn needs(&self, edge: &Edge) -> bool {
        let leads = |grad_fn: &GradFn| self.leading_nodes.contains(&grad_fn.node.sequence);
        self.contains(edge.key()) || matches!(edge, Edge::Node(grad_fn) if leads(grad_fn))
    }

    fn into_grads(self) -> Result<Vec<Option<Tensor>>> {
        let grad = |key| self.grads.get(key).cloned().flatten();
        try_collect(self.keys.len(), self.keys.iter().map(grad))
    }
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
            last_nodes: graph.last_nodes,
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
            is_target |= self.targets.as_ref().is_some_and(|targets| targets.contains(key));
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
        self.accumulates && self.targets.as_ref().is_none_or(|targets| targets.contains(key))
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
        let found = self.targets.as_mut().and_then(|targets| targets.grads.get_mut(&key));
        if let Some(grad) = found {
            self.stream_sync.record_use(gradient);
            let gradient = gradient.clone();
            *grad = Some(if self.create_graph { gradient } else { without_history(gradient) });
        }
    }
}

/// The graph below the outputs.
struct Graph {
    nodes: HashMap<u64, Arc<Node>>,
    /// For each leaf the oldest node with an edge to it, by the identity of the leaf.
    last_nodes: HashMap<usize, u64>,
}

impl Graph {
    fn of(roots: &[Edge]) -> Result<Self> {
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

    /// Adds the hooks of several tensors that wait for gradients of this graph. `needs` returns whether the pass computes
    /// the gradient of an edge.
    fn expect_multi_grad(&self, calls: &mut MultiGradCalls, roots: &[Edge], needs: impl Fn(&Edge) -> bool) {
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

/// Returns whether a gradient may be stored or added to without a copy.
fn can_accumulate_inplace(tensor: &Tensor) -> bool {
    tensor.is_uniquely_owned() && tensor.is_contiguous()
}

fn add(sum: Option<Tensor>, gradient: Option<Tensor>, create_graph: bool) -> Result<Option<Tensor>> {
    match (sum, gradient) {
        (Some(sum), Some(gradient)) if create_graph || !can_accumulate_inplace(&sum) => {
            sum.add(&gradient).map(Some)
        }
        (Some(sum), Some(gradient)) => add_unrecorded(sum, &gradient).map(Some),
        (sum, gradient) => Ok(sum.or(gradient)),
    }
}

/// Calls `access` while it is the only accumulation in `grad` of a tensor.
fn accumulate_exclusively<R>(tensor: &Tensor, access: impl FnOnce() -> R) -> R {
    const COUNT: usize = 64;
    static LOCKS: [RawForkRwLock; COUNT] = [const { RawForkRwLock::new() }; COUNT];
    // The low bits of an address are those of its alignment.
    let [first, ..] = &LOCKS;
    let lock = LOCKS.get((tensor.identity() >> 6) % COUNT).unwrap_or(first);
    with_locks(&mut [LockRequest::new(Some(lock), true)], false, access)
}

/// Returns a gradient that shares no memory with a tensor that is still written, because the program reads it. It has the
/// strides of the leaf, as PyTorch's `enforce_grad_layout_policy` says, if these have no gaps.
fn own_gradient(leaf: &Tensor, gradient: &Tensor) -> Result<Tensor> {
    let layout = leaf.layout();
    if layout.is_contiguous() || !layout.is_dense() || !Mode::LayoutPolicy.is_on() {
        return if can_accumulate_inplace(gradient) {
            Ok(gradient.clone())
        } else {
            gradient.contiguous_copy()
        };
    }
    if gradient.is_uniquely_owned() && gradient.strides() == leaf.strides() {
        return Ok(gradient.clone());
    }
    gradient.copy_as(layout.preserve_format())
}

/// Accumulates a gradient in `grad` of a tensor: PyTorch's `AccumulateGrad`. Passes on several threads may do so
/// concurrently.
fn accumulate_grad(tensor: &Tensor, gradient: Tensor, create_graph: bool) -> Result<()> {
    let (tensor, gradient) = of_current_data(tensor, gradient)?;
    let gradient = if create_graph { gradient } else { without_history(gradient) };
    loop {
        let Some(old) = tensor.grad() else {
            let own = own_gradient(&tensor, &gradient)?;
            let mut meta = tensor.meta_mut();
            // Another thread may have set the gradient first.
            if meta.grad.is_none() {
                meta.grad = Some(own);
                return Ok(());
            }
            continue;
        };
        let is_current = || tensor.grad().is_some_and(|grad| grad.is(&old));
        if !create_graph {
            let added = || is_current().then(|| old.add_(&gradient).map(drop));
            match accumulate_exclusively(&tensor, added) {
                Some(result) => return result,
                None => continue,
            }
        }
        // The sum is recorded, which may run code of the program, so the lock is not held meanwhile.
        let version = old.current_version();
        let sum = old.add(&gradient)?;
        let is_unchanged = || is_current() && old.current_version() == version;
        let stored = || is_unchanged().then(|| tensor.set_grad(Some(sum)));
        if let Some(result) = accumulate_exclusively(&tensor, stored) {
            return result;
        }
    }
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
