//! Native parts of `autograd.graph`: hooks of the creation of nodes, callbacks of a backward pass, observers of changes
//! in place, and what backward passes do with streams.

use std::sync::Arc;

use interlock::autograd::NodeCreationHookContext;
use interlock_core::base::mutex::Mutex;
use interlock_tensor::autograd::{
    self as core, ChangeObservation, ChangeObserver, NextFunction, NodeCreationHook,
    node_creation_hook_context,
};
use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

use super::node::next_object;
use crate::args::extract_callable;
use crate::context::traverse_scope;
use crate::deferred_drop::{Clearable, DeferredDrop};
use crate::detach::{call, call_with};
use crate::errors::{IntoPyResult, new_exception, new_type_error};
use crate::qualified_name::callable_name;
use crate::tensor::args::extract_tensor;
use crate::tensor::program::{call_program, tuple_of};
use crate::{scope_debug, traverse};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyNodeCreationHook>()?;
    module.add_function(wrap_pyfunction!(queue_callback, module)?)?;
    module.add_function(wrap_pyfunction!(set_warn_on_accumulate_grad_stream_mismatch, module)?)?;
    module.add_function(wrap_pyfunction!(set_override_stale_capture_stream, module)?)?;
    // Not in `__all__`: private.
    module.setattr("_stream_options", wrap_pyfunction!(_stream_options, module)?)?;
    module.setattr("_ChangeObservation", module.py().get_type::<PyChangeObservation>())?;
    module.setattr("_storage_version", wrap_pyfunction!(_storage_version, module)?)?;
    module.setattr("_input_grad_buffers", wrap_pyfunction!(_input_grad_buffers, module)?)
}

/// The function that is called with new nodes.
pub(super) struct CreationHook(Clearable);

impl CreationHook {
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.0.traverse(visit)
    }
}

impl NodeCreationHook for CreationHook {
    fn call(&self, node: &NextFunction) -> Result<()> {
        call_program(|py| {
            let returned = call(&self.0.get(py), &next_object(py, node.clone())?)?;
            if returned.is_none() {
                return Ok(());
            }
            let given = returned.get_type().name()?.to_string();
            let message = format!("node_creation_hook: hook must return None, got {given}");
            Err(PyRuntimeError::new_err(message))
        })
    }
}

/// Call a function with each new node of the autograd graph, for example to register hooks on it.
///
/// A context manager. It applies to the context that enters it, to copies of that context, and where a captured state
/// is applied. Inside another one both functions are called, first the outer one. The nodes that a backward pass with
/// `create_graph=True` or a checkpoint records are new nodes, too.
///
/// The function is called when the node has its `next_functions` and saved tensors. The node "AccumulateGrad" of a leaf
/// is new if no graph that uses the leaf exists.
///
/// Args:
///     hook: Called with each new node, an `autograd.graph.Node`. It must return None. Its exception is raised by the
///         operation, and further functions are not called. An operation in it that would create a node raises
///         RuntimeError.
///
/// Raises:
///     TypeError: `hook` is not callable.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.ones(2, requires_grad=True)
///     >>> with interlock.autograd.graph.node_creation_hook(lambda node: print(node.name())):
///     ...     y = (x * 2).sum()
///     AccumulateGrad
///     MulBackward0
///     SumBackward0
#[pyclass(frozen, weakref, module = "interlock.autograd.graph", name = "node_creation_hook")]
struct PyNodeCreationHook {
    hook: Arc<CreationHook>,
    context: NodeCreationHookContext,
}

#[pymethods]
impl PyNodeCreationHook {
    #[new]
    fn new(hook: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !hook.is_callable() {
            return Err(new_type_error("node_creation_hook: hook", "callable", hook));
        }
        let hook = Arc::new(CreationHook(Clearable::new(hook.clone())));
        Ok(PyNodeCreationHook { context: node_creation_hook_context(hook.clone()), hook })
    }

    /// The function.
    #[getter]
    fn hook<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.hook.0.get(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("node_creation_hook({})", callable_name(&self.hook(py))?))
    }

    /// Call the function in the current context until `__exit__`.
    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        scope_debug::enter(py, self.context.scope(), || "node_creation_hook".into(), || self.context.enter())
    }

    /// Remove the innermost layer of this object.
    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        scope_debug::exit(py, self.context.scope(), || "node_creation_hook".into())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        let visited = traverse::traverse(|| match self.owned_hook() {
            Some(hook) => hook.traverse(&visit),
            None => Ok(()),
        });
        visited.unwrap_or(Ok(()))?;
        traverse_scope(self.context.scope(), &visit)
    }

    fn __clear__(&self) {
        if let Some(hook) = self.owned_hook() {
            hook.0.clear();
        }
    }
}

impl PyNodeCreationHook {
    /// Returns the hook if no layer or captured state owns it, besides this object and its context.
    fn owned_hook(&self) -> Option<&CreationHook> {
        (Arc::strong_count(&self.hook) == 2 && self.context.is_only_owner()).then_some(&self.hook)
    }
}

/// Queue a function that is called at the end of the backward pass that runs on this thread.
///
/// A backward function or a hook calls it. The pass calls the functions in the order in which they were queued, after
/// it has computed all gradients, also those that others of them queue. A pass that fails calls none. Inside of several
/// passes the function belongs to the innermost one.
///
/// Args:
///     callback: Called without arguments. Its result is ignored. The pass raises its exception, and further functions
///         are not called; the gradients remain.
///
/// Raises:
///     RuntimeError: No backward pass runs on this thread.
///     TypeError: `callback` is not callable.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.autograd.graph import queue_callback
///     >>> x = interlock.ones(1, requires_grad=True)
///     >>> y = x * 2
///     >>> handle = y.register_hook(lambda gradient: queue_callback(lambda: print(x.grad)))
///     >>> y.backward()
///     tensor([2.])
#[pyfunction]
fn queue_callback(callback: &Bound<'_, PyAny>) -> PyResult<()> {
    let function = extract_callable(callback, "queue_callback: callback")?;
    let run = move || call_program(|py| call_with(function.bind(py), ()).map(drop));
    core::queue_callback(Box::new(run)).into_py_result(callback.py())
}

/// Extracts the argument of a switch.
fn extract_enabled(function: &str, given: &Bound<'_, PyAny>) -> PyResult<bool> {
    given.extract().map_err(|_| {
        let kind = given.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        let message = format!("{function}: enabled must be a bool, got {kind}");
        new_exception(given.py(), "FlagTypeError", message)
    })
}

/// Set whether a backward pass warns if the gradients of a leaf were computed on several streams.
///
/// A pass sums the gradients of a leaf on the stream that has computed the first of them, which then waits for the
/// other streams. The UserWarning is issued once in a process. The setting belongs to the process; the default is True.
///
/// Args:
///     enabled: Whether the warning is issued.
///
/// Raises:
///     FlagTypeError: `enabled` is not a bool.
#[pyfunction]
fn set_warn_on_accumulate_grad_stream_mismatch(enabled: &Bound<'_, PyAny>) -> PyResult<()> {
    let enabled = extract_enabled("set_warn_on_accumulate_grad_stream_mismatch", enabled)?;
    core::set_warn_on_accumulate_grad_stream_mismatch(enabled);
    Ok(())
}

/// Set how a backward pass in a graph capture treats operations whose forward pass ran on another stream.
///
/// Backward functions run on the streams of their operations. If such a stream is not part of the capture, its work
/// would not be captured. With True the backward function runs on the stream that is captured, and the end of the pass
/// does not wait for streams outside of the capture. With False, the default, the pass raises GraphError for a default
/// stream, which can never be captured, and uses other streams as they are. The setting belongs to the process.
///
/// Args:
///     enabled: Whether the stream that is captured is used instead.
///
/// Raises:
///     FlagTypeError: `enabled` is not a bool.
#[pyfunction]
fn set_override_stale_capture_stream(enabled: &Bound<'_, PyAny>) -> PyResult<()> {
    let enabled = extract_enabled("set_override_stale_capture_stream", enabled)?;
    core::set_override_stale_capture_stream(enabled);
    Ok(())
}

/// Return what the two functions before have set.
#[pyfunction]
fn _stream_options() -> (bool, bool) {
    (core::warns_on_accumulate_grad_stream_mismatch(), core::overrides_stale_capture_stream())
}

/// Returns the identity of the storage of a tensor and its version. `None` for an inference tensor, which no node
/// saves.
fn storage_version(tensor: &CoreTensor) -> Option<(usize, u32)> {
    Some((Arc::as_ptr(&tensor.storage()).addr(), tensor.version().ok()?))
}

/// Return the identity of the storage of a tensor and its version, or None for an inference tensor.
#[pyfunction]
fn _storage_version(tensor: &Bound<'_, PyAny>) -> PyResult<Option<(usize, u32)>> {
    Ok(storage_version(&extract_tensor("_storage_version: tensor", tensor)?))
}

/// A function that is called before a tensor is changed in place.
struct Observer(DeferredDrop);

impl ChangeObserver for Observer {
    fn call(&self, tensor: &CoreTensor) -> Result<()> {
        let Some(key) = storage_version(tensor) else { return Ok(()) };
        call_program(|py| {
            let key = key.into_pyobject(py)?;
            call(self.0.bind(py), key.as_any()).map(drop)
        })
    }
}

/// Calls a function with the identity and version of a storage before an operation of any thread changes it, until
/// `end`.
#[pyclass(frozen, module = "interlock._core.tensor", name = "_ChangeObservation")]
struct PyChangeObservation(Mutex<Option<ChangeObservation>>);

#[pymethods]
impl PyChangeObservation {
    #[new]
    fn new(function: &Bound<'_, PyAny>) -> Self {
        let observer = Observer(DeferredDrop::new(function.clone()));
        PyChangeObservation(Mutex::new(Some(core::observe_changes(Arc::new(observer)))))
    }

    /// End the observation. A second call has no effect.
    fn end(&self) {
        let observation = self.0.lock().take();
        drop(observation);
    }
}

/// Return for each tensor argument of the backward function that runs on this thread the sum of the gradients so far.
#[pyfunction]
fn _input_grad_buffers(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    tuple_of(py, &core::input_grad_buffers().into_py_result(py)?)
}
