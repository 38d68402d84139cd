//! Edges as outputs and inputs of backward passes.

use crate::recording::{edge_of, grad_fn, is_leaf_with_grad};
use crate::storage::fallible_alloc::check_memory;
use crate::tensor::{AccumulateGrad, Edge, GradFn, NextFunction};
use crate::{Error, Result, Tensor};

/// Returns the edge of a tensor that requires grad.
pub(super) fn input_edge(op: &'static str, tensor: &Tensor) -> Result<Edge> {
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
        match edge_of("get_gradient_edge", tensor)? {
            Some(edge) => Ok(GradientEdge(edge)),
            None => input_edge("get_gradient_edge", tensor).map(GradientEdge),
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
        if let NextFunction::Node(node) = &node
            && !node.is_tensor(output)
        {
            let expected = "be the number of a result that is a tensor";
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
