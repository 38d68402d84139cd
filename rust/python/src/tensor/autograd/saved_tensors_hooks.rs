//! Hooks that pack saved tensors.

use std::any::Any;
use std::sync::Arc;

use interlock::autograd::{
    SavedTensorHooksContext, SavedTensorHooksDisabledContext, check_saved_tensor_hooks_enabled,
};
use interlock::state::ThreadState as CoreThreadState;
use interlock_tensor::autograd::{
    PackedTensor, SavedTensorHooks, own_hooks_of, saved_tensor_hooks_context, visit_own_creation_hooks,
    visit_own_creation_hooks_of, visit_own_hooks,
};
use interlock_tensor::{Result, Tensor as CoreTensor};
use once_cell::race::OnceBox;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::graph::CreationHook;
use crate::context::{OwningState, traverse_scope};
use crate::deferred_drop::{Clearable, DeferredDrop};
use crate::detach::call;
use crate::errors::new_type_error;
use crate::qualified_name::callable_name;
use crate::scope_debug;
use crate::switches;
use crate::tensor::Tensor;
use crate::tensor::args::extract_tensor;
use crate::tensor::identity::tensor_object;
use crate::tensor::program::call_program;
use crate::traverse;

/// Returns the exception of PyTorch: RuntimeError with the message of the caller.
fn err_disabled(error: interlock::Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// The two functions.
struct Functions {
    pack: Clearable,
    unpack: Clearable,
}

impl SavedTensorHooks for Functions {
    fn pack(&self, tensor: &CoreTensor) -> Result<Arc<dyn PackedTensor>> {
        call_program(|py| {
            // A leaf is the object that the program has.
            let tensor = match tensor.requires_grad() {
                true => tensor_object(py, tensor)?,
                false => Bound::new(py, Tensor::from(tensor.clone()))?,
            };
            let object = DeferredDrop::new(call(&self.pack.get(py), &tensor)?);
            let unpack = DeferredDrop::new(self.unpack.get(py));
            Ok(Arc::new(Packed { object, unpack }) as Arc<dyn PackedTensor>)
        })
    }
}

impl Functions {
    fn traverse(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.pack.traverse(visit).and_then(|()| self.unpack.traverse(visit))
    }
}

/// The result of `pack_hook`. Each has its own reference to `unpack_hook`, so that a garbage collector finds the one
/// owner of each reference.
pub(crate) struct Packed {
    object: DeferredDrop,
    unpack: DeferredDrop,
}

impl Packed {
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.object.traverse(visit).and_then(|()| self.unpack.traverse(visit))
    }
}

impl PackedTensor for Packed {
    fn unpack(&self) -> Result<CoreTensor> {
        call_program(|py| {
            let unpacked = call(self.unpack.bind(py), self.object.bind(py))?;
            extract_tensor("saved_tensors_hooks: the result of unpack_hook", &unpacked)
        })
    }
}

/// Visits the hooks of a captured state if only this state owns them.
pub(crate) fn traverse_hooks(
    state: &CoreThreadState,
    visit: &PyVisit<'_>,
) -> std::result::Result<(), PyTraverseError> {
    let traverse = || {
        let hooks = own_hooks_of(state).and_then(|hooks| hooks.downcast_ref::<Functions>());
        let mut result = hooks.map_or(Ok(()), |hooks| hooks.traverse(visit));
        visit_own_creation_hooks_of(state, |hook| visit_creation_hook(hook, visit, &mut result));
        result
    };
    traverse::traverse(traverse).unwrap_or(Ok(()))
}

/// Visits a hook of the creation of nodes, unless a visit has failed before.
fn visit_creation_hook(
    hook: &dyn Any,
    visit: &PyVisit<'_>,
    result: &mut std::result::Result<(), PyTraverseError>,
) {
    if let (Ok(()), Some(hook)) = (&result, hook.downcast_ref::<CreationHook>()) {
        *result = hook.traverse(visit);
    }
}

#[pymethods]
impl OwningState {
    /// Visits the hooks of layers that only this value has: their scopes are gone, and no other context shares them.
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        let mut result = Ok(());
        let visit_hooks = |hooks: &dyn Any| {
            if let (Ok(()), Some(functions)) = (&result, hooks.downcast_ref::<Functions>()) {
                result = functions.traverse(&visit);
            }
        };
        traverse::traverse(|| visit_own_hooks(&self.0, visit_hooks));
        let visit_hook = |hook: &dyn Any| visit_creation_hook(hook, &visit, &mut result);
        traverse::traverse(|| visit_own_creation_hooks(&self.0, visit_hook));
        result
    }
}

/// Pack the tensors that operations save for the backward pass, for example to store them on the CPU or on disk.
///
/// A context manager. It applies to the context that enters it, to copies of that context, and where a captured state is
/// applied. Inside another one, only the inner one is used.
///
/// Args:
///     pack_hook: Called with each tensor that is saved: a leaf that requires grad itself, and an alias without history
///         of another tensor. It returns any object. It must not change the tensor.
///     unpack_hook: Called with that object when the backward pass needs the tensor. It returns a tensor with equal
///         elements.
///
/// Raises:
///     TypeError: A hook is not callable.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
///     >>> with interlock.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), interlock.tensor):
///     ...     y = (x * x).sum()
///     >>> y.backward()
///     >>> x.grad
///     tensor([2., 4.])
#[pyclass(frozen, subclass, weakref, module = "interlock.autograd.graph", name = "saved_tensors_hooks")]
pub(crate) struct SavedTensorsHooks(OnceBox<Initialized>);

/// The values that `__init__` sets, which a subclass may override.
struct Initialized {
    functions: Arc<Functions>,
    context: SavedTensorHooksContext,
}

impl SavedTensorsHooks {
    fn initialized(&self) -> PyResult<&Initialized> {
        let missing = || PyRuntimeError::new_err("saved_tensors_hooks: __init__() was not called");
        self.0.get().ok_or_else(missing)
    }
}

#[pymethods]
impl SavedTensorsHooks {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs), text_signature = "(pack_hook, unpack_hook)")]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        SavedTensorsHooks(OnceBox::new())
    }

    fn __init__(&self, pack_hook: &Bound<'_, PyAny>, unpack_hook: &Bound<'_, PyAny>) -> PyResult<()> {
        for (name, hook) in [("pack_hook", pack_hook), ("unpack_hook", unpack_hook)] {
            if !hook.is_callable() {
                return Err(new_type_error(&format!("saved_tensors_hooks: {name}"), "callable", hook));
            }
        }
        let (pack, unpack) = (Clearable::new(pack_hook.clone()), Clearable::new(unpack_hook.clone()));
        let functions = Arc::new(Functions { pack, unpack });
        let context = saved_tensor_hooks_context(functions.clone());
        let again = |_| PyRuntimeError::new_err("saved_tensors_hooks: __init__() was called before");
        self.0.set(Box::new(Initialized { functions, context })).map_err(again)
    }

    /// The function that packs a tensor.
    #[getter]
    fn pack_hook<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.initialized()?.functions.pack.get(py))
    }

    /// The function that unpacks a tensor.
    #[getter]
    fn unpack_hook<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.initialized()?.functions.unpack.get(py))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let (class, functions) = (slf.get_type().name()?, &slf.get().initialized()?.functions);
        // Names, because the repr of a method of this object has the repr of this object.
        let [pack, unpack] =
            [&functions.pack, &functions.unpack].map(|hook| callable_name(&hook.get(slf.py())));
        Ok(format!("{class}(pack_hook={}, unpack_hook={})", pack?, unpack?))
    }

    /// Use the hooks in the current context until `__exit__`.
    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        let context = &self.initialized()?.context;
        check_saved_tensor_hooks_enabled().map_err(err_disabled)?;
        scope_debug::enter(py, context.scope(), || "saved_tensors_hooks".into(), || context.enter())
    }

    /// Remove the innermost layer of this object.
    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        scope_debug::exit(py, self.initialized()?.context.scope(), || "saved_tensors_hooks".into())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        let visited = traverse::traverse(|| match self.owned_functions() {
            Some(functions) => functions.traverse(&visit),
            None => Ok(()),
        });
        visited.unwrap_or(Ok(()))?;
        self.0.get().map_or(Ok(()), |initialized| traverse_scope(initialized.context.scope(), &visit))
    }

    fn __clear__(&self) {
        if let Some(functions) = self.owned_functions() {
            functions.pack.clear();
            functions.unpack.clear();
        }
    }
}

impl SavedTensorsHooks {
    /// Returns the functions if no layer or captured state owns them, besides this object and its context.
    fn owned_functions(&self) -> Option<&Functions> {
        let Initialized { functions, context } = self.0.get()?;
        (Arc::strong_count(functions) == 2 && context.is_only_owner()).then_some(functions)
    }
}

/// A scope in which hooks of saved tensors are disabled. `autograd.graph.disable_saved_tensors_hooks` is its public class.
#[pyclass(frozen, subclass, weakref, module = "interlock._core.tensor", name = "_SavedTensorsHooksDisabled")]
pub(crate) struct SavedTensorsHooksDisabled(SavedTensorHooksDisabledContext);

#[pymethods]
impl SavedTensorsHooksDisabled {
    #[new]
    fn new(error_message: &Bound<'_, PyAny>) -> PyResult<Self> {
        let what = "disable_saved_tensors_hooks: error_message";
        let message: &str = switches::extract_as(what, "a str", error_message)?;
        Ok(SavedTensorsHooksDisabled(SavedTensorHooksDisabledContext::new(message)))
    }

    /// Disable hooks in the current context until `__exit__`.
    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        self.0.check().map_err(err_disabled)?;
        scope_debug::enter(py, self.0.scope(), || "disable_saved_tensors_hooks".into(), || self.0.enter())
    }

    /// Remove the innermost layer of this object.
    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        scope_debug::exit(py, self.0.scope(), || "disable_saved_tensors_hooks".into())
    }
}
