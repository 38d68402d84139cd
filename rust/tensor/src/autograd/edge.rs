//! Edges of the autograd graph, from a node to the consumers of its gradients.

use std::sync::Arc;

use interlock::accelerator::Device;

use super::custom::GradDType;
use super::hooks::{GradientKind, HookHandle, NodePostHook, NodePreHook};
use super::{AccumulateGrad, GradFn, Node};
use crate::{DType, Error, Result, Tensor, ops};

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
pub(super) enum EdgeKey {
    Leaf(usize),
    Result { node: u64, output: usize },
}

impl Edge {
    /// Returns what is equal for equal edges.
    pub(super) fn key(&self) -> EdgeKey {
        #[cfg(test)]
        super::engine::KEYS.set(super::engine::KEYS.get() + 1);
        match self {
            Edge::Leaf(tensor) => EdgeKey::Leaf(tensor.identity()),
            Edge::Node(grad_fn) => EdgeKey::Result { node: grad_fn.node.sequence, output: grad_fn.output },
        }
    }

    /// Returns the destination of the gradient of `tensor`, if it has one. Creates the node of a leaf.
    pub fn of(tensor: &Tensor) -> Result<Option<Self>> {
        match super::grad_fn(tensor)? {
            Some(grad_fn) => Ok(Some(Edge::Node(grad_fn))),
            // A view without recorded history accumulates no gradient, even if its base requires grad.
            None if is_leaf_with_grad(tensor) => {
                AccumulateGrad::of(tensor).map(|leaf| Some(Edge::Leaf(leaf)))
            }
            None => Ok(None),
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

    fn grad_dtype(&self) -> GradDType {
        match self {
            Edge::Leaf(_) => GradDType::OfResult,
            Edge::Node(grad_fn) => grad_fn.result().grad_dtype,
        }
    }

    pub fn device(&self) -> Device {
        match self {
            Edge::Leaf(tensor) => tensor.device(),
            Edge::Node(grad_fn) => grad_fn.result().device,
        }
    }

    /// Returns the shape, type and device of the gradient.
    pub(super) fn kind(&self) -> GradientKind<'_> {
        GradientKind { shape: self.shape(), dtype: self.dtype(), device: self.device() }
    }

    /// Converts a gradient to the shape, type and device of the tensor that it belongs to.
    pub fn convert(&self, gradient: &Tensor) -> Result<Tensor> {
        let gradient = ops::sum_to(gradient, self.shape())?;
        let gradient = match self.grad_dtype() {
            GradDType::OfResult => gradient.cast(self.dtype())?,
            GradDType::As(dtype) => gradient.cast(dtype)?,
            GradDType::Any => gradient,
        };
        ops::to_device(self.device(), gradient)
    }
}

/// Returns whether a tensor without a node accumulates gradients.
pub(super) fn is_leaf_with_grad(tensor: &Tensor) -> bool {
    tensor.meta().requires_grad
}

/// The node that receives the gradient of a tensor, and the index of the tensor among its results: PyTorch's
/// `GradientEdge`. It keeps the graph alive, but not the elements of the tensor.
///
/// ```
/// use interlock_tensor::Tensor;
/// use interlock_tensor::autograd::{BackwardArgs, EdgeOrTensor, GradientEdge, grad};
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let middle = leaf.mul(2.0)?;
/// let edge = GradientEdge::of(&middle)?;
/// let output = middle.mul(&middle)?;
/// drop(middle);
/// let (outputs, inputs) = ([EdgeOrTensor::from(output)], [EdgeOrTensor::from(edge)]);
/// let args = BackwardArgs { outputs: &outputs, gradients: &[None], retain_graph: false, create_graph: false };
/// let gradients = grad(&args, &inputs, false)?;
/// assert_eq!(gradients[0].as_ref().map(|gradient| gradient.to_vec::<f64>()), Some(Ok(vec![12.0])));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct GradientEdge(Edge);

impl GradientEdge {
    /// Returns the edge of a tensor that requires grad.
    pub fn of(tensor: &Tensor) -> Result<Self> {
        match Edge::of(tensor)? {
            Some(edge) => Ok(GradientEdge(edge)),
            None => super::engine::target("get_gradient_edge", tensor).map(GradientEdge),
        }
    }

    /// Returns the edge of a result of a node, or of a leaf.
    pub fn new(node: NextFunction, output: usize) -> Result<Self> {
        let count = match &node {
            NextFunction::Node(node) => node.result_count(),
            NextFunction::Leaf(_) => 1,
        };
        if output >= count {
            let expected = format!("be less than {count}, the number of results of the node");
            return Err(Error::value("GradientEdge", "output_nr", expected, output));
        }
        Ok(GradientEdge(match node {
            NextFunction::Node(node) => Edge::Node(GradFn { node, output }),
            NextFunction::Leaf(leaf) => Edge::Leaf(leaf),
        }))
    }

    pub(super) fn edge(&self) -> &Edge {
        &self.0
    }

    /// Returns the node that receives the gradient.
    pub fn node(&self) -> NextFunction {
        match &self.0 {
            Edge::Node(grad_fn) => NextFunction::Node(grad_fn.node.clone()),
            Edge::Leaf(leaf) => NextFunction::Leaf(leaf.clone()),
        }
    }

    /// Returns which result of the node the tensor is.
    pub fn output_nr(&self) -> usize {
        match &self.0 {
            Edge::Node(grad_fn) => grad_fn.output,
            Edge::Leaf(_) => 0,
        }
    }
}

/// An output or an input of [`backward`](super::backward) and [`grad`](super::grad).
///
/// ```
/// use interlock_tensor::Tensor;
/// use interlock_tensor::autograd::EdgeOrTensor;
///
/// let tensor = Tensor::from_slice(&[3.0], &[])?;
/// assert!(matches!(EdgeOrTensor::from(tensor), EdgeOrTensor::Tensor(_)));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone)]
pub enum EdgeOrTensor {
    /// The edge of a tensor that may no longer exist.
    Edge(GradientEdge),
    /// A tensor.
    Tensor(Tensor),
}

impl From<GradientEdge> for EdgeOrTensor {
    fn from(edge: GradientEdge) -> Self {
        EdgeOrTensor::Edge(edge)
    }
}

impl From<Tensor> for EdgeOrTensor {
    fn from(tensor: Tensor) -> Self {
        EdgeOrTensor::Tensor(tensor)
    }
}

/// Types whose gradient a backward pass starts with or computes: [`Tensor`], [`GradientEdge`] and [`EdgeOrTensor`].
///
/// ```
/// use interlock_tensor::autograd::{BackwardArgs, Differentiable, backward};
/// use interlock_tensor::{Result, Tensor};
///
/// fn differentiate<T: Differentiable>(output: T) -> Result<()> {
///     let (outputs, gradients) = (&[output], &[None]);
///     backward(&BackwardArgs { outputs, gradients, retain_graph: false, create_graph: false }, None)
/// }
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// differentiate(leaf.mul(2.0)?)?;
/// assert_eq!(leaf.grad().map(|gradient| gradient.to_vec::<f64>()), Some(Ok(vec![2.0])));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub trait Differentiable: private::Differentiable {}

impl<T: private::Differentiable> Differentiable for T {}

pub(super) mod private {
    use super::{EdgeOrTensor, GradientEdge};
    use crate::Tensor;

    /// A reference to a tensor or an edge.
    pub enum Source<'a> {
        Edge(&'a GradientEdge),
        Tensor(&'a Tensor),
    }

    pub trait Differentiable: Sync {
        fn source(&self) -> Source<'_>;
    }

    impl Differentiable for Tensor {
        fn source(&self) -> Source<'_> {
            Source::Tensor(self)
        }
    }

    impl Differentiable for GradientEdge {
        fn source(&self) -> Source<'_> {
            Source::Edge(self)
        }
    }

    impl Differentiable for EdgeOrTensor {
        fn source(&self) -> Source<'_> {
            match self {
                EdgeOrTensor::Edge(edge) => edge.source(),
                EdgeOrTensor::Tensor(tensor) => tensor.source(),
            }
        }
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

    /// Registers a hook that is called before the backward function, or before a leaf accumulates its gradient.
    pub fn register_prehook(&self, hook: Arc<dyn NodePreHook>) -> HookHandle {
        match self {
            NextFunction::Node(node) => {
                let id = node.hooks.write().add_pre(hook);
                HookHandle::from_node(node, id)
            }
            NextFunction::Leaf(leaf) => {
                let id = leaf.meta_mut().leaf_hooks.add_pre(hook);
                HookHandle::from_leaf(leaf, id)
            }
        }
    }

    /// Registers a hook that is called after the backward function, or after a leaf has accumulated its gradient.
    pub fn register_hook(&self, hook: Arc<dyn NodePostHook>) -> HookHandle {
        match self {
            NextFunction::Node(node) => {
                let id = node.hooks.write().add_post(hook);
                HookHandle::from_node(node, id)
            }
            NextFunction::Leaf(leaf) => {
                let id = leaf.meta_mut().leaf_hooks.add_post(hook);
                HookHandle::from_leaf(leaf, id)
            }
        }
    }
}
