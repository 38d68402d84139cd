//! Edges of the autograd graph, from a node to the consumers of its gradients.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use interlock::accelerator::Device;

use super::autograd_meta::GradFn;
use super::node::Node;
use crate::{DType, Tensor};

/// The edges of a node, one per input. `None` for inputs without a gradient.
pub(crate) type Edges = Vec<Option<Edge>>;

/// The destination of the gradient of an input.
#[derive(Clone)]
pub(crate) enum Edge {
    /// A leaf, which accumulates the gradient.
    Leaf(AccumulateGrad),
    /// A result of a node.
    Node(GradFn),
}

/// Identifies an edge in a graph that is alive: its leaf, by the identity of the tensor, or its result of a node, by
/// the sequence number of the node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EdgeKey {
    Leaf(usize),
    Result { node: u64, output: usize },
}

impl Edge {
    /// Returns what is equal for equal edges.
    pub fn key(&self) -> EdgeKey {
        #[cfg(test)]
        KEYS.set(KEYS.get() + 1);
        match self {
            Edge::Leaf(tensor) => EdgeKey::Leaf(tensor.identity()),
            Edge::Node(grad_fn) => EdgeKey::Result { node: grad_fn.node.sequence, output: grad_fn.output },
        }
    }

    pub fn shape(&self) -> &[usize] {
        match self {
            Edge::Leaf(tensor) => tensor.shape(),
            Edge::Node(grad_fn) => &grad_fn.result().shape,
        }
    }

    pub fn dtype(&self) -> DType {
        match self {
            Edge::Leaf(tensor) => tensor.dtype(),
            Edge::Node(grad_fn) => grad_fn.result().dtype,
        }
    }

    pub fn device(&self) -> Device {
        match self {
            Edge::Leaf(tensor) => tensor.device(),
            Edge::Node(grad_fn) => grad_fn.result().device,
        }
    }
}

/// The node of a leaf: PyTorch's `AccumulateGrad`. It is created when an operation uses the leaf, and exists while a graph
/// or the program refers to it. It dereferences to the leaf.
///
/// ```
/// use interlock_tensor::Tensor;
/// use interlock_tensor::autograd::NextFunction;
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let result = leaf.mul(2.0)?;
/// let node = result.grad_fn()?.and_then(|node| node.next_functions().next().flatten());
/// assert!(matches!(node, Some((NextFunction::Leaf(accumulate), 0)) if accumulate.is(&leaf)));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct AccumulateGrad(Arc<Leaf>);

struct Leaf {
    tensor: Tensor,
    /// The number of [`VisitedLeaf`] of the node.
    visited: AtomicUsize,
}

/// The node that a leaf has at present, if any.
#[derive(Default)]
pub(crate) struct WeakAccumulateGrad(Weak<Leaf>);

impl AccumulateGrad {
    /// Returns a node of a leaf that no tensor knows.
    pub(crate) fn new(tensor: &Tensor) -> Self {
        AccumulateGrad(Arc::new(Leaf { tensor: tensor.clone(), visited: AtomicUsize::new(0) }))
    }

    /// Returns a reference that does not keep the node alive.
    pub(crate) fn downgrade(&self) -> WeakAccumulateGrad {
        WeakAccumulateGrad(Arc::downgrade(&self.0))
    }
}

impl WeakAccumulateGrad {
    /// Returns the node, if it exists.
    pub fn upgrade(&self) -> Option<AccumulateGrad> {
        self.0.upgrade().map(AccumulateGrad)
    }

    /// Returns whether the node exists and each of its owners is a [`VisitedLeaf`].
    pub fn is_visited(&self) -> bool {
        let is_visited =
            |leaf: Arc<Leaf>| Arc::strong_count(&leaf) == 1 + leaf.visited.load(Ordering::Relaxed);
        self.0.upgrade().is_some_and(is_visited)
    }
}

impl Deref for AccumulateGrad {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        &self.0.tensor
    }
}

/// A reference to the node of a leaf, for an object of the program that also refers to the program's object of the leaf: a
/// garbage collector that visits that object from here finds what the leaf owns.
pub struct VisitedLeaf(AccumulateGrad);

impl VisitedLeaf {
    /// Returns a reference to a node.
    pub fn new(node: AccumulateGrad) -> Self {
        node.0.visited.fetch_add(1, Ordering::Relaxed);
        VisitedLeaf(node)
    }
}

impl Drop for VisitedLeaf {
    fn drop(&mut self) {
        self.0.0.visited.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Deref for VisitedLeaf {
    type Target = AccumulateGrad;

    fn deref(&self) -> &AccumulateGrad {
        &self.0
    }
}

/// The consumer of a gradient, as in PyTorch's `next_functions`.
#[derive(Clone)]
pub enum NextFunction {
    /// The node of the operation that computed the input.
    Node(Arc<Node>),
    /// The node of a leaf, whose [`grad`](Tensor::grad) accumulates the gradient.
    Leaf(AccumulateGrad),
}

impl NextFunction {
    /// Returns the name of the node, "AccumulateGrad" for a leaf.
    pub fn name(&self) -> &str {
        match self {
            NextFunction::Node(node) => node.name(),
            NextFunction::Leaf(_) => "AccumulateGrad",
        }
    }
}

#[cfg(test)]
thread_local! {
    /// The number of keys that were computed on this thread.
    pub(crate) static KEYS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
