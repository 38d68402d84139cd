//! The nodes of the graph.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::saved::Saved;
use crate::tensor::Inner;
use crate::{DType, Error, Result, Tensor};

/// The gradients of a node's inputs; `None` for zero or not needed.
pub(crate) type Gradients = Vec<Option<Tensor>>;

pub(super) type Function = Box<dyn Fn(&Context<'_>, &Tensor) -> Result<Gradients> + Send + Sync>;

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
            None => tensor.requires_grad().then(|| Edge::Leaf(tensor.clone())),
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
}

/// A recorded operation.
pub struct Node {
    name: &'static str,
    pub(super) sequence: u64,
    pub(super) edges: Vec<Option<Edge>>,
    /// Shape and type of the result, and so of the gradient that arrives.
    pub(super) shape: Vec<usize>,
    pub(super) dtype: DType,
    function: Function,
    /// `None` once freed.
    saved: Mutex<Option<Arc<[Option<Saved>]>>>,
    /// Tensors that want to keep the gradient of this node's result.
    pub(super) retained: Mutex<Vec<Weak<Inner>>>,
}

/// What a node's function may ask.
pub(crate) struct Context<'a> {
    node: &'a Arc<Node>,
    saved: Arc<[Option<Saved>]>,
    needed: &'a [bool],
}

impl Context<'_> {
    /// Whether the gradient of an input is wanted.
    pub fn needs(&self, input: usize) -> bool {
        self.needed.get(input).copied().unwrap_or(false)
    }

    /// A saved tensor, if it has not been changed since.
    pub fn saved(&self, slot: usize) -> Result<Tensor> {
        let saved = self
            .saved
            .get(slot)
            .and_then(Option::as_ref)
            .ok_or(Error::GraphFreed { node: self.node.name })?;
        saved.unpack(self.node)
    }

    /// The gradient of an input, computed only if it is wanted.
    pub fn gradient(&self, input: usize, f: impl FnOnce() -> Result<Tensor>) -> Result<Option<Tensor>> {
        if self.needs(input) { f().map(Some) } else { Ok(None) }
    }
}

impl Node {
    pub(super) fn new(
        name: &'static str,
        edges: Vec<Option<Edge>>,
        output: (&[usize], DType),
        saved: Vec<Option<Saved>>,
        function: Function,
    ) -> Arc<Self> {
        static SEQUENCE: AtomicU64 = AtomicU64::new(0);
        Arc::new(Node {
            name,
            sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed),
            edges,
            shape: output.0.to_vec(),
            dtype: output.1,
            function,
            saved: Mutex::new(Some(saved.into())),
            retained: Mutex::new(Vec::new()),
        })
    }

    /// The operation's name with `Backward0` after it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The nodes that the gradient goes on to, `None` for leaves and inputs without gradient.
    pub fn next(&self) -> Vec<Option<Arc<Node>>> {
        let node = |edge: &Option<Edge>| match edge {
            Some(Edge::Node(node)) => Some(node.clone()),
            _ => None,
        };
        self.edges.iter().map(node).collect()
    }

    fn saved(&self) -> MutexGuard<'_, Option<Arc<[Option<Saved>]>>> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn apply(self: &Arc<Self>, gradient: &Tensor, needed: &[bool]) -> Result<Gradients> {
        let saved = self.saved().clone().ok_or(Error::GraphFreed { node: self.name })?;
        (self.function)(&Context { node: self, saved, needed }, gradient)
    }

    /// Gives back what was saved. Nodes that saved nothing go on working, as in PyTorch.
    pub(super) fn free(&self) {
        let mut saved = self.saved();
        let freed = saved.take_if(|saved| saved.iter().any(Option::is_some));
        drop(saved);
        drop(freed);
    }

    /// Takes the parts of a node that no one else can reach yet.
    pub(super) fn into_parts(mut self) -> (Vec<Option<Edge>>, Vec<Option<Saved>>, Function) {
        let saved = self.saved().take().map(|saved| saved.to_vec()).unwrap_or_default();
        let nothing: Function = Box::new(|_, _| Ok(Vec::new()));
        (std::mem::take(&mut self.edges), saved, std::mem::replace(&mut self.function, nothing))
    }

    pub(super) fn retained(&self) -> MutexGuard<'_, Vec<Weak<Inner>>> {
        self.retained.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Waste {
    _edges: Vec<Option<Edge>>,
    _saved: Option<Arc<[Option<Saved>]>>,
}

thread_local! {
    static WASTE: RefCell<Vec<Waste>> = const { RefCell::new(Vec::new()) };
    static SWEEPING: Cell<bool> = const { Cell::new(false) };
}

/// Dropping the last handle of a long chain must not use a stack frame for each of its nodes: what a
/// node owns is put aside, and the outermost drop on this thread drops it piece by piece.
impl Drop for Node {
    fn drop(&mut self) {
        let waste = Waste { _edges: std::mem::take(&mut self.edges), _saved: self.saved().take() };
        // While a thread ends the list may be gone; the piece is then dropped right here.
        let _ = WASTE.try_with(|list| list.borrow_mut().push(waste));
        if SWEEPING.try_with(|sweeping| sweeping.replace(true)) != Ok(false) {
            return;
        }
        while let Ok(Some(waste)) = WASTE.try_with(|list| list.borrow_mut().pop()) {
            drop(waste);
        }
        let _ = SWEEPING.try_with(|sweeping| sweeping.set(false));
    }
}
