//! Hooks that pack saved tensors.

use std::any::Any;
use std::sync::Arc;

use interlock::autograd::{
    SavedTensorHooksContext, SavedTensorHooksDisabledContext, check_saved_tensor_hooks_enabled,
};
use interlock_tensor::autograd::{SavedTensorHooks, saved_tensor_hooks_context};
use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use super::args::extract_tensor;
use super::program::call_program;
use super::{Tensor, drain_deferred};
use crate::deferred_drop::{Clearable, DeferredDrop};
use crate::detach::{self, attach, call};
use crate::errors::new_type_error;
use crate::scope_debug;

/// Returns the exception of PyTorch: RuntimeError with the message of the caller.
fn err_disabled(error: interlock::Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// The two functions. Nodes own them as long as they have tensors that were packed.
struct Functions {
    pack: Clearable,
    unpack: Clearable,
}

impl SavedTensorHooks for Functions {
    fn pack(&self, tensor: &CoreTensor) -> Result<Arc<dyn Any + Send + Sync>> {
        call_program(|py| {
            let tensor = Bound::new(py, Tensor(tensor.clone()))?;
            let packed = call(&self.pack.get(py), &tensor)?;
            Ok(Arc::new(DeferredDrop::new(packed)) as Arc<dyn Any + Send + Sync>)
        })
    }

    fn unpack(&self, packed: &(dyn Any + Send + Sync)) -> Result<Option<CoreTensor>> {
        let Some(packed) = packed.downcast_ref::<DeferredDrop>() else { return Ok(None) };
        call_program(|py| {
            let unpacked = call(&self.unpack.get(py), packed.bind(py))?;
            extract_tensor("saved_tensors_hooks: the result of unpack_hook", &unpacked).map(Some)
        })
    }
}

/// Pack the tensors that operations save for the backward pass, for example to store them on the CPU or on disk.
///
/// A context manager. It applies to the thread that enters it, and to other threads and tasks to which a captured state
/// is applied. Inside another one, only the inner one is used.
///
/// Args:
///     pack_hook: Called with each tensor that is saved. It returns any object. It must not change the tensor.
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
pub(super) struct SavedTensorsHooks {
    functions: Arc<Functions>,
    context: SavedTensorHooksContext,
}

#[pymethods]
impl SavedTensorsHooks {
    #[new]
    fn new(pack_hook: &Bound<'_, PyAny>, unpack_hook: &Bound<'_, PyAny>) -> PyResult<Self> {
        for (name, hook) in [("pack_hook", pack_hook), ("unpack_hook", unpack_hook)] {
            if !hook.is_callable() {
                return Err(new_type_error(&format!("saved_tensors_hooks: {name}"), "callable", hook));
            }
        }
        let (pack, unpack) = (Clearable::new(pack_hook.clone()), Clearable::new(unpack_hook.clone()));
        let functions = Arc::new(Functions { pack, unpack });
        let context = saved_tensor_hooks_context(functions.clone());
        Ok(SavedTensorsHooks { functions, context })
    }

    /// The function that packs a tensor.
    #[getter]
    fn pack_hook<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.functions.pack.get(py)
    }

    /// The function that unpacks a tensor.
    #[getter]
    fn unpack_hook<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.functions.unpack.get(py)
    }

    /// Use the hooks on this thread until `__exit__`.
    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        check_saved_tensor_hooks_enabled().map_err(err_disabled)?;
        scope_debug::enter(py, self.context.scope(), || {
            // Enabled, as checked above.
            let _ = self.context.enter();
        })
    }

    /// Remove the innermost layer of this object.
    #[pyo3(signature = (exc_type, exc_value, traceback, /))]
    fn __exit__(
        &self,
        exc_type: &Bound<'_, PyAny>,
        exc_value: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let _ = (exc_value, traceback);
        scope_debug::exit(exc_type.py(), self.context.scope())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        let functions = &self.functions;
        let visited = detach::traverse(|| match self.owns_functions() {
            true => functions.pack.traverse(&visit).and_then(|()| functions.unpack.traverse(&visit)),
            false => Ok(()),
        });
        visited.unwrap_or(Ok(()))
    }

    fn __clear__(&self) {
        if self.owns_functions() {
            self.functions.pack.clear();
            self.functions.unpack.clear();
            attach(drain_deferred);
        }
    }
}

impl SavedTensorsHooks {
    /// Returns whether no node, layer or captured state owns the functions, besides this object and its context.
    fn owns_functions(&self) -> bool {
        Arc::strong_count(&self.functions) == 2 && self.context.is_only_owner()
    }
}

/// A scope in which hooks of saved tensors are disabled. `autograd.graph.disable_saved_tensors_hooks` is its public class.
#[pyclass(frozen, weakref, module = "interlock._core.tensor", name = "_SavedTensorsHooksDisabled")]
pub(super) struct SavedTensorsHooksDisabled(SavedTensorHooksDisabledContext);

#[pymethods]
impl SavedTensorsHooksDisabled {
    #[new]
    fn new(error_message: &str) -> Self {
        SavedTensorsHooksDisabled(SavedTensorHooksDisabledContext::new(error_message))
    }

    /// Disable hooks on this thread until `__exit__`.
    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        self.0.check().map_err(err_disabled)?;
        scope_debug::enter(py, self.0.scope(), || {
            // No hooks are active, as checked above.
            let _ = self.0.enter();
        })
    }

    /// Remove the innermost layer of this object.
    #[pyo3(signature = (exc_type, exc_value, traceback, /))]
    fn __exit__(
        &self,
        exc_type: &Bound<'_, PyAny>,
        exc_value: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let _ = (exc_value, traceback);
        scope_debug::exit(exc_type.py(), self.0.scope())
    }
}
