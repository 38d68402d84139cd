//! Gradients of edges, and edges as outputs and inputs of backward passes.

use crate::error::Tuple;
use crate::layout::is_expandable_to;
use crate::ops::conversion::transfer::to_device;
use crate::ops::reduction::sums::sum_to;
use crate::recording::edge_of;
use crate::tensor::{Edge, GradDType, GradFn, GradientKind, NextFunction};
use crate::{Error, ErrorKind, Result, Tensor};

/// Returns the shape, type and device of the gradient of an edge.
pub(super) fn kind(edge: &Edge) -> GradientKind<'_> {
    GradientKind { shape: edge.shape(), dtype: edge.dtype(), device: edge.device() }
}

/// Converts a gradient that `source` has computed to the shape, type and device of the tensor that it belongs to.
pub(super) fn convert(source: &str, edge: &Edge, gradient: &Tensor) -> Result<Tensor> {
    let grad_dtype = match edge {
        Edge::Leaf(_) => GradDType::OfResult,
        Edge::Node(grad_fn) => grad_fn.result().grad_dtype,
    };
    let (shape, given) = (edge.shape(), gradient.shape());
    if given != shape && !is_expandable_to(given, shape) {
        return Err(err_incompatible(source, shape, given));
    }
    let gradient = sum_to(gradient, shape)?;
    let gradient = match grad_dtype {
        GradDType::OfResult => gradient.cast(edge.dtype())?,
        GradDType::As(dtype) => gradient.cast(dtype)?,
        GradDType::Any => gradient,
    };
    to_device(edge.device(), gradient)
}

/// Returns a tensor with its current data, and its gradient in the dtype and on the device of them. Returns an error if the
/// tensor had data of another shape when an operation used it.
pub(super) fn of_current_data(tensor: &Tensor, gradient: Tensor) -> Result<(Tensor, Tensor)> {
    let Some(tensor) = tensor.replaced() else { return Ok((tensor.clone(), gradient)) };
    Error::when(gradient.shape() != tensor.shape(), || err_replaced(tensor.shape(), &gradient))?;
    let gradient = to_device(tensor.device(), gradient.cast(tensor.dtype())?)?;
    Ok((tensor, gradient))
}

/// Returns the error for a gradient that cannot be reduced to the shape of the tensor that it belongs to.
#[cold]
fn err_incompatible(source: &str, expected: &[usize], given: &[usize]) -> Error {
    let (expected, given) = (Tuple(expected), Tuple(given));
    let message = format!(
        "a gradient must be of shape {expected}, or have more dimensions to sum over, got {given}: a hook or backward() \
         has resized a gradient, or the data of a tensor was replaced"
    );
    Error::of(source, ErrorKind::Shape, message)
}

/// Returns the error for a gradient that does not have the shape of the tensor that it belongs to.
fn err_replaced(shape: &[usize], gradient: &Tensor) -> Error {
    let argument = "the gradient of a tensor whose data was replaced";
    Error::shape("backward", argument, format!("be of shape {}", Tuple(shape)), gradient.shape())
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
