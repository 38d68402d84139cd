//! Nodes of the autograd graph.

use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use interlock::accelerator::{Device, Stream, current_stream};

use super::edge::{Edge, Edges, NextFunction};
use super::hooks::Hooks;
use super::saved_tensor::SavedValue;
use crate::error::{ForwardStack, Tuple};
use crate::layout::Layout;
use crate::storage::drop_queue::{Deferred, Queue, defer};
use crate::storage::fork_rwlock::ForkRwLock;
use crate::{DType, Error, Result, Tensor};

/// The gradients of a node's inputs. `None` is a zero gradient or one that is not needed.
pub(crate) type Gradients = Vec<Option<Tensor>>;

/// The values that a node saved for the backward pass.
pub(crate) type SavedValues = Arc<[Option<SavedValue>]>;

type AllInputsFn = dyn Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync;
type SeveralResultsFn = dyn Fn(&BackwardContext<'_>, &[Option<Tensor>]) -> Result<Tensor> + Send + Sync;
type PerInputFn = dyn Fn(&BackwardContext<'_>, &Tensor, usize) -> Result<Tensor> + Send + Sync;

/// A backward function: computes the gradients of the inputs from the gradient of the result.
pub(crate) enum BackwardFn {
    /// Computes the gradients of all inputs at once.
    AllInputs(Box<AllInputsFn>),
    /// Computes the gradient of one input at a time, for operations with any number of inputs.
    PerInput(Box<PerInputFn>),
    /// Computes the gradient of the only input from those of several results. `None` is a zero gradient.
    SeveralResults(Box<SeveralResultsFn>),
    /// The function of the program, which may have several results.
    Custom(Arc<dyn CustomFunction>),
    /// Adds the gradient of a view to that of its base, which was changed in place.
    View(Box<PartOfBase>),
    /// Computes the gradient of a base from that of its value after a part was changed in place, with the function of the
    /// change: PyTorch's `CopySlices`.
    ChangedPart(Box<PartOfBase>, Box<BackwardFn>),
}

/// The layouts of a tensor and of a part of it.
pub(crate) struct PartOfBase {
    pub base: Layout,
    pub part: Layout,
}

/// The backward function of an operation that the program defines.
///
/// ```
/// use std::sync::Arc;
/// use interlock::autograd::no_grad;
/// use interlock_tensor::autograd::{CustomFunction, CustomRecord, record};
/// use interlock_tensor::{Result, Tensor};
///
/// /// The backward function of a doubling.
/// struct Double;
/// impl CustomFunction for Double {
///     fn backward(&self, gradients: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
///         gradients.into_iter().map(|gradient| gradient.map(|g| g.mul(2.0)).transpose()).collect()
///     }
/// }
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let guard = no_grad();
/// let (inputs, results) = ([leaf.clone()], [Some(leaf.mul(2.0)?)]);
/// drop(guard);
/// let call = CustomRecord::new("DoubleBackward", &inputs, &results);
/// let forward = record(&call, Arc::new(Double))?;
/// forward.results[0].as_ref().map(Tensor::backward).transpose()?;
/// assert_eq!(leaf.grad().map(|gradient| gradient.to_vec::<f64>()), Some(Ok(vec![2.0])));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub trait CustomFunction: Any + Send + Sync {
    /// Computes the gradients of the inputs from those of the results.
    fn backward(&self, gradients: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>>;

    /// Returns whether zeros are passed to [`backward`](CustomFunction::backward) for results without a gradient.
    fn materialize_grads(&self) -> bool {
        true
    }

    /// Called with the node of the call before hooks of the creation of nodes.
    fn recorded(&self, _node: &Arc<Node>) {}
}

/// The type in which the gradient of a result arrives at the backward function.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::autograd::{CustomFunction, CustomRecord, GradDType, record};
/// use interlock_tensor::{DType, Result, Tensor};
///
/// /// Checks the type of the gradient.
/// struct Precise;
/// impl CustomFunction for Precise {
///     fn backward(&self, gradients: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
///         assert!(gradients.iter().flatten().all(|gradient| gradient.dtype() == DType::Float64));
///         Ok(gradients)
///     }
/// }
///
/// let leaf = Tensor::from_slice(&[3.0f32], &[1])?;
/// leaf.set_requires_grad(true)?;
/// let (inputs, results) = ([leaf.clone()], [Some(leaf.detach())]);
/// let dtypes = [GradDType::As(DType::Float64)];
/// let call = CustomRecord { grad_dtypes: &dtypes, ..CustomRecord::new("Precise", &inputs, &results) };
/// record(&call, Arc::new(Precise))?.results[0].as_ref().map(Tensor::backward).transpose()?;
/// assert_eq!(leaf.grad().map(|gradient| gradient.dtype()), Some(DType::Float32));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GradDType {
    /// The type of the result.
    #[default]
    OfResult,
    /// This type.
    As(DType),
    /// The type that the gradient has.
    Any,
}

/// Returns the current stream of the device of a tensor, or `None` for CPU tensors.
pub(crate) fn stream_of(tensor: &Tensor) -> Option<Stream> {
    // If there is no stream the operation itself has failed.
    if tensor.is_on_device() { current_stream(Some(tensor.device())).ok() } else { None }
}

/// Shape, type and device of a result of a node, and so of the gradient that arrives: PyTorch's `InputMetadata`.
pub(crate) struct ResultKind {
    pub shape: Vec<usize>,
    pub dtype: DType,
    pub device: Device,
    /// The type in which the gradient arrives.
    pub grad_dtype: GradDType,
}

impl ResultKind {
    pub fn of(tensor: &Tensor) -> Self {
        ResultKind {
            shape: tensor.shape().to_vec(),
            dtype: tensor.dtype(),
            device: tensor.device(),
            grad_dtype: GradDType::OfResult,
        }
    }
}

/// The shape, type and device of a tensor, and so of its gradient.
pub(crate) struct GradientKind<'a> {
    pub shape: &'a [usize],
    pub dtype: DType,
    pub device: Device,
}

impl GradientKind<'_> {
    pub fn of(tensor: &Tensor) -> GradientKind<'_> {
        GradientKind { shape: tensor.shape(), dtype: tensor.dtype(), device: tensor.device() }
    }

    /// Returns an error unless a gradient has the shape, type and device.
    pub fn check(&self, op: &'static str, argument: &'static str, gradient: &Tensor) -> Result<()> {
        if gradient.shape() != self.shape {
            let expected = format!("be of shape {}", Tuple(self.shape));
            return Err(Error::shape(op, argument, expected, gradient.shape()));
        }
        if gradient.dtype() != self.dtype {
            return Err(Error::dtype(op, argument, format!("of dtype {}", self.dtype), gradient.dtype()));
        }
        Error::when(gradient.device() != self.device, || Error::devices(op, self.device, gradient.device()))?;
        Ok(())
    }
}

/// A recorded operation.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::autograd::Node;
/// use interlock_tensor::Tensor;
///
/// let leaf = Tensor::from_slice(&[3.0], &[1])?;
/// leaf.set_requires_grad(true)?;
/// let node: Option<Arc<Node>> = leaf.mul(2.0)?.grad_fn()?;
/// assert_eq!(node.as_ref().map(|node| node.name()), Some("MulBackward0"));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub struct Node {
    name: Cow<'static, str>,
    pub(crate) sequence: u64,
    pub(crate) edges: Edges,
    /// The first result that is a tensor.
    result: ResultKind,
    /// All results, if there may be several. `None` for a result of a function of the program that is not a tensor.
    results: Vec<Option<ResultKind>>,
    /// The current stream of the device of `result` in the forward pass, on which the backward function runs.
    pub(crate) stream: Option<Stream>,
    pub(crate) function: BackwardFn,
    /// `None` once freed.
    saved: ForkRwLock<Option<SavedValues>>,
    pub(crate) hooks: ForkRwLock<Hooks>,
    /// The program's object for this node.
    object: ForkRwLock<Option<Arc<dyn Any + Send + Sync>>>,
    /// The stack of the forward operation, in anomaly mode.
    forward_stack: Option<Arc<ForwardStack>>,
}

/// The context of a backward function: the saved values of the node and which gradients are needed.
pub(crate) struct BackwardContext<'a> {
    pub node: &'a Arc<Node>,
    pub saved: SavedValues,
    pub needed: &'a [bool],
}

impl Node {
    pub(crate) fn new(
        name: Cow<'static, str>,
        edges: Edges,
        output: &Tensor,
        saved: Vec<Option<SavedValue>>,
        function: BackwardFn,
        forward_stack: Option<Arc<ForwardStack>>,
    ) -> Self {
        static SEQUENCE: AtomicU64 = AtomicU64::new(0);
        Node {
            name,
            sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed),
            edges,
            result: ResultKind::of(output),
            results: Vec::new(),
            stream: stream_of(output),
            function,
            saved: ForkRwLock::new(Some(saved.into())),
            hooks: ForkRwLock::default(),
            object: ForkRwLock::default(),
            forward_stack,
        }
    }

    /// Sets the results of a node that may have several.
    pub(crate) fn set_results(&mut self, results: Vec<Option<ResultKind>>) {
        self.results = results;
    }

    /// Sets the saved values of a node that no pass has run yet.
    pub(crate) fn set_saved(&self, saved: SavedValues) {
        let old = self.saved.write().replace(saved);
        drop(old);
    }

    /// Returns the saved values. `None` once they are freed.
    pub(crate) fn saved_values(&self) -> Option<SavedValues> {
        self.saved.read().clone()
    }

    /// Returns the name of the operation followed by `Backward0`, or the name of the function of the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn shared_name(&self) -> Cow<'static, str> {
        self.name.clone()
    }

    pub(crate) fn err_freed(&self) -> Error {
        Error::graph_freed(&self.name)
    }

    pub(crate) fn result_count(&self) -> usize {
        self.results.len().max(1)
    }

    /// Returns whether a result is a tensor.
    pub(crate) fn is_tensor(&self, index: usize) -> bool {
        self.results.get(index).is_none_or(Option::is_some)
    }

    pub(crate) fn result(&self, index: usize) -> &ResultKind {
        self.results.get(index).and_then(Option::as_ref).unwrap_or(&self.result)
    }

    /// Returns for each input the consumer of its gradient and the result of the consumer that the input is, or `None`
    /// for an input without a gradient.
    pub fn next_functions(&self) -> impl ExactSizeIterator<Item = Option<(NextFunction, usize)>> {
        let next = |edge: &Edge| match edge {
            Edge::Node(grad_fn) => (NextFunction::Node(grad_fn.node.clone()), grad_fn.output),
            Edge::Leaf(tensor) => (NextFunction::Leaf(tensor.clone()), 0),
        };
        self.edges.iter().map(move |edge| edge.as_ref().map(next))
    }

    /// Returns the number of the node: nodes that were created later have greater numbers.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns the object that [`set_object`](Node::set_object) has set.
    pub fn object(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.object.read().clone()
    }

    /// Sets an object that exists once for the node, such as an object of another language that represents it.
    pub fn set_object(&self, object: Arc<dyn Any + Send + Sync>) {
        let old = self.object.write().replace(object);
        drop(old);
    }

    /// Returns the function of the program, if this is its node.
    pub fn custom_function(&self) -> Option<&Arc<dyn CustomFunction>> {
        match &self.function {
            BackwardFn::Custom(function) => Some(function),
            _ => None,
        }
    }

    /// Returns the stack of the forward operation as text, if it was recorded in anomaly mode.
    pub fn forward_stack(&self) -> Option<&ForwardStack> {
        self.forward_stack.as_deref()
    }

    pub(crate) fn shared_forward_stack(&self) -> Option<Arc<ForwardStack>> {
        self.forward_stack.clone()
    }

    /// Calls `visit` with each object of the program that the node owns.
    pub fn visit_owned(&self, visit: &mut dyn FnMut(&dyn Any)) {
        self.hooks.read().visit(visit);
        if let Some(object) = &*self.object.read() {
            visit(&**object);
        }
        if let BackwardFn::Custom(function) = &self.function {
            visit(&**function as &dyn Any);
        }
        let saved = self.saved.read();
        for value in saved.iter().filter(|saved| Arc::strong_count(saved) == 1).flat_map(|saved| saved.iter())
        {
            if let Some(SavedValue::Tensor(saved)) = value {
                saved.visit_owned(visit);
            }
        }
    }

    /// Frees the saved tensors. Nodes that saved nothing remain usable, as in PyTorch.
    pub(crate) fn free(&self) {
        let freed = self.saved.write().take_if(|saved| saved.iter().any(Option::is_some));
        // Dropped after the lock is released: the saved tensors may own a graph.
        drop(freed);
    }

    /// Splits a node that no other object refers to yet into its parts.
    pub(crate) fn into_parts(mut self) -> (Edges, Vec<Option<SavedValue>>, BackwardFn) {
        let saved = self.saved.write().take().map(|saved| saved.to_vec()).unwrap_or_default();
        let nothing = BackwardFn::AllInputs(Box::new(|_, _| Ok(Vec::new())));
        (std::mem::take(&mut self.edges), saved, std::mem::replace(&mut self.function, nothing))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let nothing = BackwardFn::AllInputs(Box::new(|_, _| Ok(Vec::new())));
        let edges = std::mem::take(&mut self.edges);
        let saved = self.saved.write().take();
        // A function of the program and its hooks may own other graphs.
        let function = match &self.function {
            BackwardFn::Custom(_) => Some(std::mem::replace(&mut self.function, nothing)),
            _ => None,
        };
        let hooks = std::mem::take(&mut *self.hooks.write());
        let owned: Option<Box<dyn Any + Send + Sync>> =
            if function.is_some() || !hooks.is_empty() { Some(Box::new((function, hooks))) } else { None };
        defer(Dropped { edges, saved, owned });
    }
}

/// What a node owned: its edges to older nodes and leaves, its saved tensors, and the rest.
struct Dropped {
    edges: Edges,
    saved: Option<SavedValues>,
    owned: Option<Box<dyn Any + Send + Sync>>,
}

thread_local! {
    static DROPPED: RefCell<Vec<Dropped>> = const { RefCell::new(Vec::new()) };
}

impl Deferred for Dropped {
    fn queue() -> &'static Queue<Self> {
        &DROPPED
    }

    /// A node may have any number of edges: they are dropped one at a time and the others stay together, so that the
    /// queue does not grow with their number.
    fn drop_link(self) {
        let Dropped { mut edges, saved, owned } = self;
        let edge = edges.pop();
        if !edges.is_empty() {
            defer(Dropped { edges, saved: None, owned: None });
        }
        drop((edge, saved, owned));
    }
}
