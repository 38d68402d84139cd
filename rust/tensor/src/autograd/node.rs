//! The nodes of the graph.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use interlock::accelerator::{Device, Stream, current_stream};

use super::saved_tensor::SavedValue;
use crate::drop_queue::Deferred;
use crate::fallible_alloc::try_with_capacity;
use crate::fork_rwlock::ForkRwLock;
use crate::tensor::Inner;
use crate::{DType, Error, Result, Tensor};

/// The gradients of a node's inputs; `None` for zero or not needed.
pub(crate) type Gradients = Vec<Option<Tensor>>;

/// Where the gradients of a node's inputs go; `None` for inputs without one.
pub(crate) type Edges = Vec<Option<Edge>>;

/// What a node keeps, by slot.
pub(crate) type SavedValues = Arc<[Option<SavedValue>]>;

type AllInputsFn = dyn Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync;
type PerInputFn = dyn Fn(&BackwardContext<'_>, &Tensor, usize) -> Result<Tensor> + Send + Sync;

/// From the gradient of a result to those of its inputs.
pub(super) enum BackwardFn {
    /// To all of them at once.
    AllInputs(Box<AllInputsFn>),
    /// To one at a time, where there are as many inputs as a program likes.
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

/// Where the gradient of an input goes.
#[derive(Clone)]
pub(crate) enum Edge {
    /// It is added to this leaf.
    Leaf(Tensor),
    Node(Arc<Node>),
}

impl Edge {
    /// Where the gradient of `tensor` goes, if it has one.
    pub fn of(tensor: &Tensor) -> Result<Option<Self>> {
        Ok(match tensor.grad_fn()? {
            Some(node) => Some(Edge::Node(node)),
            // A view without a history of its own accumulates nothing, although its base requires grad.
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

    /// The stream on which its gradients are added up, if that is decided already.
    pub fn stream(&self) -> Option<&Stream> {
        match self {
            Edge::Leaf(_) => None,
            Edge::Node(node) => node.stream.as_ref(),
        }
    }
}

/// A consumer of a gradient.
#[derive(Clone)]
pub enum NextFunction {
    /// The operation that computed the input.
    Node(Arc<Node>),
    /// A leaf, whose [`grad`](Tensor::grad) accumulates the gradient.
    Leaf(Tensor),
}

/// The current stream of the device of a tensor that is on one.
pub(super) fn stream_of(tensor: &Tensor) -> Option<Stream> {
    // Where there is none the operation itself has failed.
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
    /// Where that gradient lies.
    device: Device,
    /// The stream that was current there, on which the node goes back.
    pub(super) stream: Option<Stream>,
    function: BackwardFn,
    /// `None` once freed.
    saved: ForkRwLock<Option<SavedValues>>,
    /// Tensors that want to keep the gradient of this node's result.
    pub(super) retain_grad_tensors: ForkRwLock<Vec<Weak<Inner>>>,
}

/// What a node's function may ask.
pub(crate) struct BackwardContext<'a> {
    node: &'a Arc<Node>,
    saved: SavedValues,
    needed: &'a [bool],
}

impl BackwardContext<'_> {
    /// Whether the gradient of an input is wanted.
    pub fn needs(&self, input: usize) -> bool {
        self.needed.get(input).copied().unwrap_or(false)
    }

    /// A saved tensor, if it has not been changed since.
    pub fn saved(&self, index: usize) -> Result<Tensor> {
        match self.saved.get(index) {
            Some(Some(SavedValue::Tensor(saved))) => saved.unpack(self.node),
            _ => Err(Error::GraphFreed { node: self.node.name }),
        }
    }

    /// A value that [`NodeBuilder::keep`](super::NodeBuilder::keep) saved.
    pub fn saved_value<T: Send + Sync + 'static>(&self, index: usize) -> Result<Arc<T>> {
        let value = match self.saved.get(index) {
            Some(Some(SavedValue::Other(value))) => value.clone().downcast().ok(),
            _ => None,
        };
        value.ok_or(Error::GraphFreed { node: self.node.name })
    }

    /// The gradient of an input, computed only if it is wanted.
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

    /// The operation's name with `Backward0` after it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// For each input, the consumer of its gradient; `None` for an input without a gradient.
    pub fn next_functions(&self) -> impl ExactSizeIterator<Item = Option<NextFunction>> {
        let next = |edge: &Edge| match edge {
            Edge::Node(node) => NextFunction::Node(node.clone()),
            Edge::Leaf(tensor) => NextFunction::Leaf(tensor.clone()),
        };
        self.edges.iter().map(move |edge| edge.as_ref().map(next))
    }

    /// Passes each gradient that is needed to `deliver`, and frees what was saved unless it is to be kept.
    pub(super) fn apply(
        self: &Arc<Self>,
        gradient: Tensor,
        needed: &[bool],
        retain_graph: bool,
        mut deliver: impl FnMut(&Edge, Tensor) -> Result<()>,
    ) -> Result<()> {
        let saved = self.saved.read().clone().ok_or(Error::GraphFreed { node: self.name })?;
        // As in PyTorch all that was saved must be unchanged, whichever gradients are needed.
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
                // What is not needed any more may be memory that the next operations can use.
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

    /// Gives back what was saved. Nodes that saved nothing go on working, as in PyTorch.
    pub(super) fn free(&self) {
        let freed = self.saved.write().take_if(|saved| saved.iter().any(Option::is_some));
        // After the lock: what was saved may own a graph.
        drop(freed);
    }

    /// Takes the parts of a node that no one else can reach yet.
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
