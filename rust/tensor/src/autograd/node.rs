//! Nodes of the autograd graph.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use interlock::accelerator::{Device, Stream, current_stream};

use super::saved_tensor::SavedValue;
use crate::drop_queue::Deferred;
use crate::fallible_alloc::try_with_capacity;
use crate::fork_rwlock::ForkRwLock;
use crate::tensor::Inner;
use crate::{DType, Error, Result, Tensor};

/// The gradients of a node's inputs. `None` is a zero gradient or one that is not needed.
pub(crate) type Gradients = Vec<Option<Tensor>>;

/// The edges of a node, one per input. `None` for inputs without a gradient.
pub(crate) type Edges = Vec<Option<Edge>>;

/// The values that a node saved for the backward pass.
pub(crate) type SavedValues = Arc<[Option<SavedValue>]>;

type AllInputsFn = dyn Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync;
type PerInputFn = dyn Fn(&BackwardContext<'_>, &Tensor, usize) -> Result<Tensor> + Send + Sync;

/// A backward function: computes the gradients of the inputs from the gradient of the result.
pub(super) enum BackwardFn {
    /// Computes the gradients of all inputs at once.
    AllInputs(Box<AllInputsFn>),
    /// Computes the gradient of one input at a time, for operations with any number of inputs.
    PerInput(Box<PerInputFn>),
}

impl BackwardFn {
    pub fn gradients(&self, ctx: &BackwardContext<'_>, gradient: &Tensor) -> Result<Gradients> {
        match self {
            BackwardFn::AllInputs(function) => function(ctx, gradient),
            BackwardFn::PerInput(function) => {
                let mut gradients = try_with_capacity(ctx.needed.len())?;
                for input in 0..ctx.needed.len() {
                    gradients.push(ctx.gradient(input, || function(ctx, gradient, input))?);
                }
                Ok(gradients)
            }
        }
    }
}

/// The destination of the gradient of an input.
#[derive(Clone)]
pub(crate) enum Edge {
    /// A leaf, which accumulates the gradient.
    Leaf(Tensor),
    Node(Arc<Node>),
}

impl Edge {
    /// Returns the destination of the gradient of `tensor`, if it has one.
    pub fn of(tensor: &Tensor) -> Result<Option<Self>> {
        Ok(match tensor.grad_fn()? {
            Some(node) => Some(Edge::Node(node)),
            // A view without recorded history accumulates no gradient, even if its base requires grad.
            None => tensor.meta().requires_grad.then(|| Edge::Leaf(tensor.clone())),
        })
    }

    pub fn shape(&self) -> &[usize] {
        match self {
            Edge::Leaf(tensor) => tensor.shape(),
            Edge::Node(node) => &node.shape,
        }
    }

    pub fn dtype(&self) -> DType {
        match self {
            Edge::Leaf(tensor) => tensor.dtype(),
            Edge::Node(node) => node.dtype,
        }
    }

    pub fn device(&self) -> Device {
        match self {
            Edge::Leaf(tensor) => tensor.device(),
            Edge::Node(node) => node.device,
        }
    }

    /// Returns the stream on which the gradients are accumulated, if it is determined already.
    pub fn stream(&self) -> Option<&Stream> {
        match self {
            Edge::Leaf(_) => None,
            Edge::Node(node) => node.stream.as_ref(),
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

/// Returns the current stream of the device of a tensor, or `None` for CPU tensors.
pub(super) fn stream_of(tensor: &Tensor) -> Option<Stream> {
    // If there is no stream the operation itself has failed.
    if tensor.is_on_device() { current_stream(Some(tensor.device())).ok() } else { None }
}

/// A recorded operation.
pub struct Node {
    name: &'static str,
    pub(super) sequence: u64,
    pub(super) edges: Edges,
    /// Shape and type of the result, and so of the gradient that arrives.
    pub(super) shape: Vec<usize>,
    pub(super) dtype: DType,
    /// The device of that gradient.
    device: Device,
    /// The current stream of that device in the forward pass, on which the backward function runs.
    pub(super) stream: Option<Stream>,
    function: BackwardFn,
    /// `None` once freed.
    saved: ForkRwLock<Option<SavedValues>>,
    /// Tensors whose `grad` accumulates the gradient of this node's result.
    pub(super) retain_grad_tensors: ForkRwLock<Vec<Weak<Inner>>>,
}

/// The context of a backward function: the saved values of the node and which gradients are needed.
pub(crate) struct BackwardContext<'a> {
    node: &'a Arc<Node>,
    saved: SavedValues,
    needed: &'a [bool],
}

impl BackwardContext<'_> {
    /// Returns whether the gradient of an input is needed.
    pub fn needs(&self, input: usize) -> bool {
        self.needed.get(input).copied().unwrap_or(false)
    }

    /// Returns a saved tensor. Returns an error if it was freed or modified in place.
    pub fn saved(&self, index: usize) -> Result<Tensor> {
        match self.saved.get(index) {
            Some(Some(SavedValue::Tensor(saved))) => saved.unpack(self.node),
            _ => Err(Error::GraphFreed { node: self.node.name }),
        }
    }

    /// Returns a value that [`NodeBuilder::save_value`](super::NodeBuilder::save_value) saved.
    pub fn saved_value<T: Send + Sync + 'static>(&self, index: usize) -> Result<Arc<T>> {
        let value = match self.saved.get(index) {
            Some(Some(SavedValue::Other(value))) => value.clone().downcast().ok(),
            _ => None,
        };
        value.ok_or(Error::GraphFreed { node: self.node.name })
    }

    /// Computes the gradient of an input if it is needed.
    pub fn gradient(&self, input: usize, f: impl FnOnce() -> Result<Tensor>) -> Result<Option<Tensor>> {
        if self.needs(input) { f().map(Some) } else { Ok(None) }
    }
}

impl Node {
    pub(super) fn new(
        name: &'static str,
        edges: Edges,
        output: &Tensor,
        saved: Vec<Option<SavedValue>>,
        function: BackwardFn,
    ) -> Arc<Self> {
        static SEQUENCE: AtomicU64 = AtomicU64::new(0);
        Arc::new(Node {
            name,
            sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed),
            edges,
            shape: output.shape().to_vec(),
            dtype: output.dtype(),
            device: output.device(),
            stream: stream_of(output),
            function,
            saved: ForkRwLock::new(Some(saved.into())),
            retain_grad_tensors: ForkRwLock::default(),
        })
    }

    /// Returns the name of the operation followed by `Backward0`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns for each input the consumer of its gradient, or `None` for an input without a gradient.
    pub fn next_functions(&self) -> impl ExactSizeIterator<Item = Option<NextFunction>> {
        let next = |edge: &Edge| match edge {
            Edge::Node(node) => NextFunction::Node(node.clone()),
            Edge::Leaf(tensor) => NextFunction::Leaf(tensor.clone()),
        };
        self.edges.iter().map(move |edge| edge.as_ref().map(next))
    }

    /// Runs the backward function, passes each needed gradient to `deliver`, and frees the saved tensors unless
    /// `retain_graph` is set.
    pub(super) fn apply(
        self: &Arc<Self>,
        gradient: Tensor,
        needed: &[bool],
        retain_graph: bool,
        mut deliver: impl FnMut(&Edge, Tensor) -> Result<()>,
    ) -> Result<()> {
        let saved = self.saved.read().clone().ok_or(Error::GraphFreed { node: self.name })?;
        // As in PyTorch all saved tensors must be unmodified, whichever gradients are needed.
        for slot in saved.iter().flatten() {
            if let SavedValue::Tensor(tensor) = slot {
                tensor.check_version(self)?;
            }
        }
        let ctx = BackwardContext { node: self, saved, needed };
        let edges = self.edges.iter().zip(needed).enumerate();
        let mut edges =
            edges.filter_map(|(input, (edge, needed))| Some((input, edge.as_ref().filter(|_| *needed)?)));
        let free = || {
            if !retain_graph {
                self.free();
            }
        };
        match &self.function {
            BackwardFn::AllInputs(function) => {
                let mut gradients = function(&ctx, &gradient)?;
                // Releases tensors that are not needed any more, whose memory the next operations can use.
                drop((ctx, gradient));
                free();
                edges.try_for_each(|(input, edge)| match gradients.get_mut(input).and_then(Option::take) {
                    Some(gradient) => deliver(edge, gradient),
                    None => Ok(()),
                })
            }
            BackwardFn::PerInput(function) => {
                edges.try_for_each(|(input, edge)| deliver(edge, function(&ctx, &gradient, input)?))?;
                drop((ctx, gradient));
                free();
                Ok(())
            }
        }
    }

    /// Frees the saved tensors. Nodes that saved nothing remain usable, as in PyTorch.
    pub(super) fn free(&self) {
        let freed = self.saved.write().take_if(|saved| saved.iter().any(Option::is_some));
        // Dropped after the lock is released: the saved tensors may own a graph.
        drop(freed);
    }

    /// Splits a node that no other object refers to yet into its parts.
    pub(super) fn into_parts(mut self) -> (Edges, Vec<Option<SavedValue>>, BackwardFn) {
        let saved = self.saved.write().take().map(|saved| saved.to_vec()).unwrap_or_default();
        let nothing = BackwardFn::AllInputs(Box::new(|_, _| Ok(Vec::new())));
        (std::mem::take(&mut self.edges), saved, std::mem::replace(&mut self.function, nothing))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        Deferred::Node { edges: std::mem::take(&mut self.edges), saved: self.saved.write().take() }.push();
    }
}
