//! The nodes of the graph.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use interlock::accelerator::{Device, Stream, current_stream};

use super::saved::Slot;
use crate::access::Locked;
use crate::room::room;
use crate::tensor::Inner;
use crate::waste::Waste;
use crate::{DType, Error, Result, Tensor};

/// The gradients of a node's inputs; `None` for zero or not needed.
pub(crate) type Gradients = Vec<Option<Tensor>>;

/// Where the gradients of a node's inputs go; `None` for inputs without one.
pub(crate) type Edges = Vec<Option<Edge>>;

/// What a node keeps, by slot.
pub(crate) type SavedTensors = Arc<[Option<Slot>]>;

type OfAll = dyn Fn(&Context<'_>, &Tensor) -> Result<Gradients> + Send + Sync;
type OfOne = dyn Fn(&Context<'_>, &Tensor, usize) -> Result<Tensor> + Send + Sync;

/// From the gradient of a result to those of its inputs.
pub(super) enum Function {
    /// To all of them at once.
    All(Box<OfAll>),
    /// To one at a time, where there are as many inputs as a program likes.
    Each(Box<OfOne>),
}

impl Function {
    pub fn gradients(&self, context: &Context<'_>, gradient: &Tensor) -> Result<Gradients> {
        match self {
            Function::All(function) => function(context, gradient),
            Function::Each(function) => {
                let mut gradients = room(context.needed.len())?;
                for input in 0..context.needed.len() {
                    gradients.push(context.gradient(input, || function(context, gradient, input))?);
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
pub enum Next {
    /// The operation that computed the input.
    Node(Arc<Node>),
    /// A leaf, whose [`grad`](Tensor::grad) accumulates the gradient.
    Leaf(Tensor),
}

/// The current stream of the device of a tensor that is on one.
pub(super) fn stream_beside(tensor: &Tensor) -> Option<Stream> {
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
    function: Function,
    /// `None` once freed.
    saved: Locked<Option<SavedTensors>>,
    /// Tensors that want to keep the gradient of this node's result.
    pub(super) retained: Locked<Vec<Weak<Inner>>>,
}

/// What a node's function may ask.
pub(crate) struct Context<'a> {
    node: &'a Arc<Node>,
    saved: SavedTensors,
    needed: &'a [bool],
}

impl Context<'_> {
    /// Whether the gradient of an input is wanted.
    pub fn needs(&self, input: usize) -> bool {
        self.needed.get(input).copied().unwrap_or(false)
    }

    /// A saved tensor, if it has not been changed since.
    pub fn saved(&self, slot: usize) -> Result<Tensor> {
        match self.saved.get(slot) {
            Some(Some(Slot::Tensor(saved))) => saved.unpack(self.node),
            _ => Err(Error::GraphFreed { node: self.node.name }),
        }
    }

    /// A value that [`Record::keep`](super::Record::keep) saved.
    pub fn kept<T: Send + Sync + 'static>(&self, slot: usize) -> Result<Arc<T>> {
        let value = match self.saved.get(slot) {
            Some(Some(Slot::Value(value))) => value.clone().downcast().ok(),
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
        saved: Vec<Option<Slot>>,
        function: Function,
    ) -> Arc<Self> {
        static SEQUENCE: AtomicU64 = AtomicU64::new(0);
        Arc::new(Node {
            name,
            sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed),
            edges,
            shape: output.shape().to_vec(),
            dtype: output.dtype(),
            device: output.device(),
            stream: stream_beside(output),
            function,
            saved: Locked::new(Some(saved.into())),
            retained: Locked::default(),
        })
    }

    /// The operation's name with `Backward0` after it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// For each input, the consumer of its gradient; `None` for an input without a gradient.
    pub fn next(&self) -> impl ExactSizeIterator<Item = Option<Next>> {
        let next = |edge: &Edge| match edge {
            Edge::Node(node) => Next::Node(node.clone()),
            Edge::Leaf(tensor) => Next::Leaf(tensor.clone()),
        };
        self.edges.iter().map(move |edge| edge.as_ref().map(next))
    }

    /// Passes each gradient that is needed to `send`, and frees what was saved unless it is to be kept.
    pub(super) fn apply(
        self: &Arc<Self>,
        gradient: Tensor,
        needed: &[bool],
        keep: bool,
        mut send: impl FnMut(&Edge, Tensor) -> Result<()>,
    ) -> Result<()> {
        let saved = self.saved.read().clone().ok_or(Error::GraphFreed { node: self.name })?;
        // As in PyTorch all that was saved must be unchanged, whichever gradients are needed.
        for slot in saved.iter().flatten() {
            if let Slot::Tensor(tensor) = slot {
                tensor.check_version(self)?;
            }
        }
        let context = Context { node: self, saved, needed };
        let edges = self.edges.iter().zip(needed).enumerate();
        let mut edges =
            edges.filter_map(|(input, (edge, needed))| Some((input, edge.as_ref().filter(|_| *needed)?)));
        let free = || {
            if !keep {
                self.free();
            }
        };
        match &self.function {
            Function::All(function) => {
                let mut gradients = function(&context, &gradient)?;
                // What is not needed any more may be memory that the next operations can use.
                drop((context, gradient));
                free();
                edges.try_for_each(|(input, edge)| match gradients.get_mut(input).and_then(Option::take) {
                    Some(gradient) => send(edge, gradient),
                    None => Ok(()),
                })
            }
            Function::Each(function) => {
                edges.try_for_each(|(input, edge)| send(edge, function(&context, &gradient, input)?))?;
                drop((context, gradient));
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
    pub(super) fn into_parts(mut self) -> (Edges, Vec<Option<Slot>>, Function) {
        let saved = self.saved.write().take().map(|saved| saved.to_vec()).unwrap_or_default();
        let nothing = Function::All(Box::new(|_, _| Ok(Vec::new())));
        (std::mem::take(&mut self.edges), saved, std::mem::replace(&mut self.function, nothing))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        Waste::Node { edges: std::mem::take(&mut self.edges), saved: self.saved.write().take() }.discard();
    }
}
