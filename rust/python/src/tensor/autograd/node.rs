//! Nodes of the autograd graph.

use std::sync::{Arc, Weak};

use interlock_tensor::autograd::{self as core, ForwardStack, GradientEdge, NextFunction, VisitedLeaf};
use once_cell::race::OnceBox;
use pyo3::exceptions::{PyAttributeError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::function::FunctionBackward;
use super::hooks::{self, PyHook, RemovableHandle};
use crate::call_site;
use crate::detach::call_with;
use crate::errors::{IntoPyResult, new_argument_error, new_type_error};
use crate::tensor::args::{extract_int, extract_tensor};
use crate::tensor::identity::{self, metadata, tensor_object};
use crate::tensor::{Tensor, fallible_alloc};

/// A node of the autograd graph: an operation, or the accumulation of gradients in a leaf.
#[pyclass(frozen, weakref, subclass, module = "interlock.autograd.graph", name = "Node")]
pub(crate) struct Node(Reference);

enum Reference {
    Operation(Arc<core::Node>),
    /// The node of a leaf, and the leaf, from which a garbage collector visits what it owns.
    Leaf(VisitedLeaf, Py<Tensor>),
    /// The node of a call of `autograd.Function`, which owns the Python object. Empty until the call is recorded.
    Function(OnceBox<Weak<core::Node>>),
}

impl Node {
    pub(crate) fn of(py: Python<'_>, node: NextFunction) -> PyResult<Self> {
        Ok(Node(match node {
            NextFunction::Node(node) => Reference::Operation(node),
            NextFunction::Leaf(leaf) => {
                let tensor = tensor_object(py, &leaf)?.unbind();
                Reference::Leaf(VisitedLeaf::new(leaf), tensor)
            }
        }))
    }

    /// Creates the node of a call that is not recorded yet.
    pub(crate) fn of_function() -> Self {
        Node(Reference::Function(OnceBox::new()))
    }

    /// Sets the node of a call. Only the first call has an effect.
    pub(crate) fn set_recorded(&self, node: &Arc<core::Node>) {
        if let Reference::Function(recorded) = &self.0 {
            let _ = recorded.set(Box::new(Arc::downgrade(node)));
        }
    }

    /// Returns the node, or `None` for a call that was not recorded or whose graph was freed.
    pub(crate) fn try_get(&self) -> Option<NextFunction> {
        match &self.0 {
            Reference::Operation(node) => Some(NextFunction::Node(node.clone())),
            Reference::Leaf(leaf, _) => Some(NextFunction::Leaf((**leaf).clone())),
            Reference::Function(recorded) => recorded.get()?.upgrade().map(NextFunction::Node),
        }
    }

    /// Returns whether this is the node of an operation or leaf, also if its graph was freed since.
    pub(super) fn is_recorded(&self) -> bool {
        !matches!(&self.0, Reference::Function(recorded) if recorded.get().is_none())
    }

    pub(super) fn get(&self) -> PyResult<NextFunction> {
        self.try_get().ok_or_else(|| {
            PyRuntimeError::new_err(
                "Node: the call of this autograd.Function was not recorded, or no tensor refers to it any more",
            )
        })
    }

    /// Returns the identity of the node: the address of the operation or of the leaf.
    fn identity(&self) -> usize {
        match &self.0 {
            Reference::Operation(node) => Arc::as_ptr(node).addr(),
            Reference::Leaf(leaf, _) => leaf.identity(),
            Reference::Function(recorded) => std::ptr::from_ref(recorded).addr(),
        }
    }
}

/// Returns the Python object of a node, or a new one.
fn node_object(py: Python<'_>, node: NextFunction) -> PyResult<Bound<'_, PyAny>> {
    identity::node_object(py, &node, || Ok(Bound::new(py, Node::of(py, node.clone())?)?.into_any()))
}

/// Returns the Python object of a node: for a call of `autograd.Function` its `ctx`.
pub(crate) fn grad_fn_object(py: Python<'_>, node: Arc<core::Node>) -> PyResult<Bound<'_, PyAny>> {
    let function = node.custom_function().map(|function| &**function as &dyn std::any::Any);
    match function.and_then(|function| function.downcast_ref::<FunctionBackward>()) {
        Some(function) => Ok(function.ctx(py)),
        None => node_object(py, NextFunction::Node(node)),
    }
}

pub(crate) fn next_object(py: Python<'_>, next: NextFunction) -> PyResult<Bound<'_, PyAny>> {
    match next {
        NextFunction::Node(node) => grad_fn_object(py, node),
        leaf => node_object(py, leaf),
    }
}

#[pymethods]
impl Node {
    /// Return the name of the operation, such as "AddBackward0", or "AccumulateGrad" for a leaf.
    ///
    /// For a call of `autograd.Function` it is the name of the class followed by "Backward".
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.ones(2, requires_grad=True)
    ///     >>> (x * 2).grad_fn.name()
    ///     'MulBackward0'
    fn name(slf: &Bound<'_, Self>) -> PyResult<String> {
        match slf.get().try_get() {
            Some(node) => Ok(node.name().to_owned()),
            // A call of a function that no tensor refers to any more.
            None => Ok(slf.get_type().name()?.to_string()),
        }
    }

    /// For each input a pair of the node that receives its gradient (None without a gradient) and the position of the
    /// input among the results of that node.
    #[getter]
    fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let NextFunction::Node(node) = self.get()? else { return Ok(PyTuple::empty(py)) };
        let pair = |next: Option<(NextFunction, usize)>| {
            let (next, output) = match next {
                Some((next, output)) => (next_object(py, next)?, output),
                None => (py.None().into_bound(py), 0),
            };
            let output = PyInt::new(py, output).into_any();
            // PyO3's conversion of pairs panics if memory runs out.
            Ok(fallible_alloc::try_tuple(py, [Ok(next), Ok(output)].into_iter())?.into_any())
        };
        fallible_alloc::try_tuple(py, node.next_functions().map(pair))
    }

    /// The leaf of an "AccumulateGrad" node.
    ///
    /// Raises:
    ///     AttributeError: The node is an operation.
    #[getter]
    fn variable(&self, py: Python<'_>) -> PyResult<Py<Tensor>> {
        match &self.0 {
            Reference::Leaf(_, tensor) => Ok(tensor.clone_ref(py)),
            _ => {
                let message = format!("{} has no attribute 'variable'", self.get()?.name());
                Err(PyAttributeError::new_err(message))
            }
        }
    }

    /// A dict for user-defined data about the node. In anomaly mode `"traceback_"` is the list of the lines of the
    /// stack that created the node.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let node = self.get()?;
        let stack = match &node {
            NextFunction::Node(node) => node.forward_stack().map(|stack| stack.text().to_owned()),
            NextFunction::Leaf(_) => None,
        };
        metadata(py, &node, || {
            let made = PyDict::new(py);
            if let Some(stack) = stack {
                let lines: Vec<&str> = stack.split_inclusive('\n').collect();
                made.set_item("traceback_", lines)?;
            }
            Ok(made)
        })
    }

    /// Register a function that is called after the node in each backward pass.
    ///
    /// Args:
    ///     hook: Called with the tuples of gradients of the inputs and of the results. It returns None, or a tuple of
    ///         gradients of the inputs to use instead. For "AccumulateGrad" there are no gradients of inputs.
    ///
    /// Returns:
    ///     A handle whose `remove` removes the hook.
    ///
    /// Raises:
    ///     RuntimeError: The node is a call of `autograd.Function` that was not recorded.
    ///     TypeError: `hook` is not callable.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.ones(1, requires_grad=True)
    ///     >>> y = x * 2
    ///     >>> handle = y.grad_fn.register_hook(lambda inputs, results: print(inputs[0], results[0]))
    ///     >>> y.backward()
    ///     tensor([2.]) tensor([1.])
    fn register_hook(&self, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        let hook = PyHook::new("Node.register_hook", hook)?;
        Ok(RemovableHandle::new(self.get()?.register_hook(Arc::new(hook))))
    }

    /// Register a function that is called before the node in each backward pass.
    ///
    /// Args:
    ///     hook: Called with the tuple of gradients of the results. It returns None, or a tuple of gradients to use
    ///         instead.
    ///
    /// Returns:
    ///     A handle whose `remove` removes the hook.
    ///
    /// Raises:
    ///     RuntimeError: The node is a call of `autograd.Function` that was not recorded.
    ///     TypeError: `hook` is not callable.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.ones(1, requires_grad=True)
    ///     >>> y = x * 2
    ///     >>> handle = y.grad_fn.register_prehook(lambda gradients: (gradients[0] * 10,))
    ///     >>> y.backward()
    ///     >>> x.grad
    ///     tensor([20.])
    fn register_prehook(&self, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        let hook = PyHook::new("Node.register_prehook", hook)?;
        Ok(RemovableHandle::new(self.get()?.register_prehook(Arc::new(hook))))
    }

    /// Return the number of the node: nodes that were created later have greater numbers.
    fn _sequence_nr(&self) -> PyResult<u64> {
        match self.get()? {
            NextFunction::Node(node) => Ok(node.sequence()),
            // As in PyTorch: leaves are ready before every operation.
            NextFunction::Leaf(_) => Ok(u64::MAX),
        }
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{} object at {:#x}>", Node::name(slf)?, slf.get().identity()))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Node>().is_ok_and(|other| self.identity() == other.get().identity())
    }

    fn __hash__(&self) -> usize {
        self.identity()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.0 {
            // As for tensors: the reference is counted once, by the only owner of the node.
            Reference::Operation(node) if Arc::strong_count(node) == 1 => {
                hooks::traverse_all(&visit, |each| node.visit_owned(each))
            }
            Reference::Leaf(_, tensor) => visit.call(tensor),
            _ => Ok(()),
        }
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Not in `__all__`: private.
    module.setattr("_gradient_edge", wrap_pyfunction!(_gradient_edge, module)?)
}

/// The members of a `GradientEdge`: the node, the position among its results, and a token that owns the node.
type EdgeMembers<'py> = (Bound<'py, PyAny>, usize, Option<Bound<'py, Node>>);

/// Return the members of the `GradientEdge` of a tensor.
#[pyfunction]
fn _gradient_edge<'py>(tensor: &Bound<'py, PyAny>) -> PyResult<EdgeMembers<'py>> {
    let py = tensor.py();
    let edge = GradientEdge::of(&extract_tensor("get_gradient_edge: tensor", tensor)?).into_py_result(py)?;
    let node = next_object(py, edge.node())?;
    // The graph owns the `ctx` of a function, which does not own the graph.
    let is_function = matches!(node.cast::<Node>()?.get().0, Reference::Function(_));
    let token = is_function.then(|| Bound::new(py, Node::of(py, edge.node())?)).transpose()?;
    Ok((node, edge.output_nr(), token))
}

/// Extracts a `GradientEdge` of Python. Returns `None` for other objects.
pub(crate) fn try_extract_edge(given: &Bound<'_, PyAny>) -> PyResult<Option<GradientEdge>> {
    let py = given.py();
    // The class is a named tuple, so only subclasses of tuple are compared with it.
    if !given.is_instance_of::<PyTuple>() || given.is_exact_instance_of::<PyTuple>() {
        return Ok(None);
    }
    let class = py.import("interlock.autograd.graph")?.getattr("GradientEdge")?;
    if !given.is_instance(&class)? {
        return Ok(None);
    }
    let node = given.get_item(0)?;
    let Ok(node) = node.cast::<Node>() else {
        return Err(new_type_error("GradientEdge: node", "an autograd.graph.Node", &node));
    };
    let (what, output) = ("GradientEdge: output_nr", given.get_item(1)?);
    let output = extract_int(what, &output)?;
    let output =
        usize::try_from(output).map_err(|_| new_argument_error(py, what, "not be negative", output))?;
    GradientEdge::new(node.get().get()?, output).into_py_result(py).map(Some)
}

/// Makes nodes store the Python stack in anomaly mode.
pub(crate) fn install_forward_stack_provider() {
    core::set_forward_stack_provider(|| crate::detach::attach(|py| forward_stack(py).ok()).flatten());
}

fn forward_stack(py: Python<'_>) -> PyResult<ForwardStack> {
    let location = call_site::current(py).to_string();
    let lines: Vec<String> = call_with(&py.import("traceback")?.getattr("format_stack")?, ())?.extract()?;
    Ok(ForwardStack::new(location, lines.concat()))
}
