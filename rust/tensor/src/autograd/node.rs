//! Nodes of the autograd graph.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use interlock::accelerator::{Device, Stream, current_stream};

use super::anomaly;
use super::custom::{self, CustomFunction, GradBuffers, GradDType};
use super::edge::{Edge, Edges, NextFunction};
use super::hooks::{HookCalls, Hooks};
use super::saved_tensor::SavedValue;
use crate::drop_queue::Deferred;
use crate::error::ForwardStack;
use crate::fallible_alloc::{try_from_elem, try_with_capacity};
use crate::fork_rwlock::ForkRwLock;
use crate::shape::is_expandable_to;
use crate::{DType, Error, Result, Tensor, TensorOptions};

/// The gradients of a node's inputs. `None` is a zero gradient or one that is not needed.
pub(crate) type Gradients = Vec<Option<Tensor>>;

/// The values that a node saved for the backward pass.
pub(crate) type SavedValues = Arc<[Option<SavedValue>]>;

type AllInputsFn = dyn Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync;
type SeveralResultsFn = dyn Fn(&[Option<Tensor>]) -> Result<Tensor> + Send + Sync;
type PerInputFn = dyn Fn(&BackwardContext<'_>, &Tensor, usize) -> Result<Tensor> + Send + Sync;

/// A backward function: computes the gradients of the inputs from the gradient of the result.
pub(super) enum BackwardFn {
    /// Computes the gradients of all inputs at once.
    AllInputs(Box<AllInputsFn>),
    /// Computes the gradient of one input at a time, for operations with any number of inputs.
    PerInput(Box<PerInputFn>),
    /// Computes the gradient of the only input from those of several results. `None` is a zero gradient.
    SeveralResults(Box<SeveralResultsFn>),
    /// The function of the program, which may have several results.
    Custom(Arc<dyn CustomFunction>),
}

impl BackwardFn {
    /// Computes the gradients of all inputs of an operation with one result.
    pub fn gradients(&self, ctx: &BackwardContext<'_>, gradient: &Tensor) -> Result<Gradients> {
        match self {
            BackwardFn::Custom(function) => function.backward(vec![Some(gradient.clone())]),
            BackwardFn::AllInputs(function) => function(ctx, gradient),
            BackwardFn::SeveralResults(function) => Ok(vec![Some(function(&[Some(gradient.clone())])?)]),
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

/// Returns the current stream of the device of a tensor, or `None` for CPU tensors.
pub(super) fn stream_of(tensor: &Tensor) -> Option<Stream> {
    // If there is no stream the operation itself has failed.
    if tensor.is_on_device() { current_stream(Some(tensor.device())).ok() } else { None }
}

/// Shape, type and device of a result of a node, and so of the gradient that arrives: PyTorch's `InputMetadata`.
pub(super) struct ResultKind {
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
    pub(super) sequence: u64,
    pub(super) edges: Edges,
    result: ResultKind,
    /// The results after the first.
    more_results: Vec<ResultKind>,
    /// The current stream of the device of the first result in the forward pass, on which the backward function runs.
    pub(super) stream: Option<Stream>,
    function: BackwardFn,
    /// `None` once freed.
    saved: ForkRwLock<Option<SavedValues>>,
    pub(super) hooks: ForkRwLock<Hooks>,
    /// The program's object for this node.
    object: ForkRwLock<Option<Arc<dyn Any + Send + Sync>>>,
    /// The stack of the forward operation, in anomaly mode.
    forward_stack: Option<Arc<ForwardStack>>,
}

/// How a backward pass runs a node.
pub(super) struct NodeCall<'a> {
    /// For each input whether its gradient is needed.
    pub needed: &'a [bool],
    /// Whether the saved tensors are retained.
    pub retain_graph: bool,
    pub hooks: Option<&'a HookCalls>,
    /// For a function of the program, what it may read of the gradients of its inputs.
    pub buffers: Option<GradBuffers>,
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
            _ => Err(self.node.err_freed()),
        }
    }

    /// Returns a value that [`NodeBuilder::save_value`](super::NodeBuilder::save_value) saved.
    pub fn saved_value<T: Send + Sync + 'static>(&self, index: usize) -> Result<Arc<T>> {
        let value = match self.saved.get(index) {
            Some(Some(SavedValue::Other(value))) => value.clone().downcast().ok(),
            _ => None,
        };
        value.ok_or_else(|| self.node.err_freed())
    }

    /// Computes the gradient of an input if it is needed.
    pub fn gradient(&self, input: usize, f: impl FnOnce() -> Result<Tensor>) -> Result<Option<Tensor>> {
        if self.needs(input) { f().map(Some) } else { Ok(None) }
    }
}

impl Node {
    pub(super) fn new(
        name: Cow<'static, str>,
        edges: Edges,
        output: &Tensor,
        saved: Vec<Option<SavedValue>>,
        function: BackwardFn,
    ) -> Self {
        static SEQUENCE: AtomicU64 = AtomicU64::new(0);
        Node {
            name,
            sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed),
            edges,
            result: ResultKind::of(output),
            more_results: Vec::new(),
            stream: stream_of(output),
            function,
            saved: ForkRwLock::new(Some(saved.into())),
            hooks: ForkRwLock::default(),
            object: ForkRwLock::default(),
            forward_stack: anomaly::forward_stack(),
        }
    }

    /// Sets the results after the first.
    pub(super) fn set_more_results(&mut self, results: Vec<ResultKind>) {
        self.more_results = results;
    }

    /// Sets the types in which the gradients of the results arrive.
    pub(super) fn set_grad_dtypes(&mut self, dtypes: &[GradDType]) {
        let results = std::iter::once(&mut self.result).chain(&mut self.more_results);
        results.zip(dtypes).for_each(|(result, dtype)| result.grad_dtype = *dtype);
    }

    /// Sets the saved values of a node that no pass has run yet.
    pub(super) fn set_saved(&self, saved: SavedValues) {
        let old = self.saved.write().replace(saved);
        drop(old);
    }

    /// Returns the name of the operation followed by `Backward0`, or the name of the function of the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn shared_name(&self) -> Cow<'static, str> {
        self.name.clone()
    }

    pub(super) fn err_freed(&self) -> Error {
        Error::GraphFreed { node: self.shared_name() }
    }

    pub(super) fn result_count(&self) -> usize {
        1 + self.more_results.len()
    }

    pub(super) fn result(&self, index: usize) -> &ResultKind {
        index.checked_sub(1).and_then(|more| self.more_results.get(more)).unwrap_or(&self.result)
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

    pub(super) fn shared_forward_stack(&self) -> Option<Arc<ForwardStack>> {
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

    /// Returns the tensors that the node saved, in the order in which they were saved. `None` for those that no
    /// gradient needs.
    pub fn saved_tensors(self: &Arc<Self>) -> Result<Vec<Option<Tensor>>> {
        let saved = self.saved.read().clone().ok_or_else(|| self.err_freed())?;
        let tensors = saved.iter().filter_map(|slot| match slot {
            Some(SavedValue::Tensor(saved)) => Some(saved.unpack(self).map(Some)),
            Some(SavedValue::Other(_)) => None,
            None => Some(Ok(None)),
        });
        tensors.collect()
    }

    /// Runs the backward function with its hooks, passes each needed gradient to `deliver`, and frees the saved tensors
    /// unless `retain_graph` is set.
    pub(super) fn apply(
        self: &Arc<Self>,
        mut results: Gradients,
        call: NodeCall<'_>,
        mut deliver: impl FnMut(&Edge, Tensor) -> Result<()>,
    ) -> Result<()> {
        let NodeCall { needed, retain_graph, hooks, buffers } = call;
        if let Some(hooks) = hooks {
            hooks.call_pre(&mut results)?;
        }
        if !needed.contains(&true) && self.custom_function().is_none() {
            // The result is an input of the pass: only the hooks run.
            let none = try_from_elem(None, self.edges.len())?;
            return hooks.map_or(Ok(()), |hooks| hooks.call_post(&mut { none }, &results));
        }
        let saved = self.saved.read().clone().ok_or_else(|| self.err_freed())?;
        // As in PyTorch all saved tensors must be unmodified, whichever gradients are needed.
        for slot in saved.iter().flatten() {
            if let SavedValue::Tensor(tensor) = slot {
                tensor.check_version(self)?;
            }
        }
        let ctx = BackwardContext { node: self, saved, needed };
        let free = || {
            if !retain_graph {
                self.free();
            }
        };
        let hooks = hooks.filter(|hooks| hooks.has_post());
        let needed_edge = |input: usize| {
            self.edges.get(input)?.as_ref().filter(|_| needed.get(input).copied().unwrap_or(false))
        };
        if let (BackwardFn::PerInput(function), None, [Some(gradient)]) = (&self.function, hooks, &*results) {
            for input in 0..self.edges.len() {
                if let Some(edge) = needed_edge(input) {
                    let gradient = function(&ctx, gradient, input)?;
                    anomaly::check_gradient(self, input, &gradient)?;
                    deliver(edge, gradient)?;
                }
            }
            drop((ctx, results));
            free();
            return Ok(());
        }
        let mut gradients = match (&self.function, &*results) {
            (BackwardFn::Custom(function), _) => {
                let given = self.materialized(&**function, &results)?;
                let buffers = buffers.map(custom::provide_grad_buffers);
                let given = function.backward(given)?;
                drop(buffers);
                self.checked(given)?
            }
            (BackwardFn::SeveralResults(function), results) => vec![Some(function(results)?)],
            (function, [Some(gradient)]) => function.gradients(&ctx, gradient)?,
            // A hook replaced the gradient by None: a zero gradient.
            _ => Vec::new(),
        };
        // Releases tensors that are not needed any more, whose memory the next operations can use.
        drop(ctx);
        if hooks.is_none() {
            results.clear();
        }
        free();
        for (input, gradient) in gradients.iter_mut().enumerate() {
            match needed_edge(input) {
                Some(edge) => {
                    if let Some(gradient) = gradient {
                        anomaly::check_gradient(self, input, gradient)?;
                        if hooks.is_some() {
                            *gradient = edge.convert(gradient)?;
                        }
                    }
                }
                None => drop(gradient.take()),
            }
        }
        if let Some(hooks) = hooks {
            hooks.call_post(&mut gradients, &results)?;
        }
        gradients.into_iter().enumerate().try_for_each(|(input, gradient)| {
            match (needed_edge(input), gradient) {
                (Some(edge), Some(gradient)) => deliver(edge, gradient),
                _ => Ok(()),
            }
        })
    }

    /// Returns the gradients of the results for a function of the program: zeros for those that are `None`, if the
    /// function requests them.
    fn materialized(&self, function: &dyn CustomFunction, results: &[Option<Tensor>]) -> Result<Gradients> {
        let fill = function.materialize_grads();
        let gradients = results.iter().enumerate().map(|(index, gradient)| match gradient {
            Some(gradient) => Ok(Some(gradient.clone())),
            None if fill => {
                let kind = self.result(index);
                let dtype = match kind.grad_dtype {
                    GradDType::As(dtype) => dtype,
                    GradDType::OfResult | GradDType::Any => kind.dtype,
                };
                Tensor::zeros(&kind.shape, TensorOptions { dtype, placement: kind.device.into() }).map(Some)
            }
            None => Ok(None),
        });
        gradients.collect()
    }

    /// Checks the gradients that a function of the program returned, one for each input.
    fn checked(&self, mut gradients: Gradients) -> Result<Gradients> {
        let expected = self.edges.len();
        let surplus = gradients.iter().skip(expected).any(Option::is_some);
        if gradients.len() < expected || surplus {
            return Err(Error::GradientCount { node: self.shared_name(), expected, given: gradients.len() });
        }
        gradients.truncate(expected);
        for (index, (edge, gradient)) in self.edges.iter().zip(&gradients).enumerate() {
            let (Some(edge), Some(gradient)) = (edge, gradient) else { continue };
            if !is_expandable_to(gradient.shape(), edge.shape()) {
                return Err(Error::GradientShape {
                    node: self.shared_name(),
                    index,
                    expected: edge.shape().to_vec(),
                    given: gradient.shape().to_vec(),
                });
            }
            let (expected, given) = (edge.device(), gradient.device());
            // As in PyTorch a number is moved to the device of the input.
            if expected != given && gradient.ndim() > 0 {
                return Err(Error::GradientDevice { node: self.shared_name(), index, expected, given });
            }
        }
        Ok(gradients)
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
        Deferred::Node { edges, saved, _owned: owned }.push();
    }
}
