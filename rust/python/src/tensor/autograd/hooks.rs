//! Hooks of tensors and nodes.

use std::any::Any;
use std::sync::Arc;

use interlock_tensor::autograd::{
    self as core, MultiGradHook, MultiGradMode, NodePostHook, NodePreHook, PostAccumulateHook, TensorHook,
};
use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

use super::function::FunctionBackward;
use super::saved_tensors_hooks::Packed;
use crate::args::extract_callable;
use crate::deferred_drop::DeferredDrop;
use crate::detach::{attach, call, call_with};
use crate::errors::{IntoPyResult, new_argument_error, new_type_error, shown};
use crate::tensor::args::{extract_optional_tensor, extract_tensors};
use crate::tensor::identity::{self, remember_tensor, tensor_object};
use crate::tensor::program::{call_program, optional_gradients, tuple_of};
use crate::tensor::{ReadTensor, Tensor};
use crate::traverse;

/// A Python function that a backward pass calls.
pub(super) struct PyHook(DeferredDrop);

impl PyHook {
    pub(super) fn new(function: &str, hook: &Bound<'_, PyAny>) -> PyResult<Self> {
        extract_callable(hook, &format!("{function}: hook")).map(PyHook)
    }

    /// Calls a hook of a tensor with a gradient or None.
    fn call_with_gradient(&self, gradient: &Bound<'_, PyAny>) -> PyResult<Option<CoreTensor>> {
        let result = call(self.0.bind(gradient.py()), gradient)?;
        extract_optional_tensor("register_hook: the result of the hook", &result)
    }
}

impl TensorHook for PyHook {
    fn call(&self, gradient: &CoreTensor) -> Result<Option<CoreTensor>> {
        call_program(|py| {
            let gradient = Bound::new(py, Tensor::from(gradient.clone()))?;
            self.call_with_gradient(gradient.as_any())
        })
    }

    fn call_without_gradient(&self) -> Result<Option<CoreTensor>> {
        call_program(|py| self.call_with_gradient(py.None().bind(py)))
    }
}

impl PostAccumulateHook for PyHook {
    fn call(&self, leaf: &CoreTensor) -> Result<()> {
        call_program(|py| {
            let result = call(self.0.bind(py), tensor_object(py, leaf)?.as_any())?;
            if result.is_none() {
                return Ok(());
            }
            let what = "register_post_accumulate_grad_hook: the result of the hook";
            // As in PyTorch a tensor is not a mistake of the type.
            Err(match result.is_instance_of::<Tensor>() {
                true => new_argument_error(py, what, "be None", "a Tensor"),
                false => new_type_error(what, "None", &result),
            })
        })
    }
}

/// A Python function that a backward pass calls with the gradients of several tensors.
struct MultiPyHook {
    function: DeferredDrop,
    mode: MultiGradMode,
}

impl MultiGradHook for MultiPyHook {
    fn call(&self, gradients: &[Option<CoreTensor>]) -> Result<()> {
        call_program(|py| {
            let gradients = tuple_of(py, gradients)?;
            // As in PyTorch: a list, or in the mode "any" the only gradient.
            let argument = match self.mode {
                MultiGradMode::All => gradients.to_list().into_any(),
                MultiGradMode::Any => gradients.get_item(0)?,
            };
            call(self.function.bind(py), &argument).map(drop)
        })
    }

    fn share(self: Arc<Self>) -> Arc<dyn MultiGradHook> {
        let share = |py: Python<'_>| {
            let function = DeferredDrop::new(self.function.bind(py).clone());
            Arc::new(MultiPyHook { function, mode: self.mode }) as Arc<dyn MultiGradHook>
        };
        attach(share).unwrap_or_else(|| self.clone())
    }
}

/// Register a function for `autograd.graph.register_multi_grad_hook`.
#[pyfunction]
#[pyo3(signature = (tensors, r#fn, mode))]
fn _register_multi_grad_hook(
    tensors: &Bound<'_, PyAny>,
    r#fn: &Bound<'_, PyAny>,
    mode: &Bound<'_, PyAny>,
) -> PyResult<RemovableHandle> {
    let py = tensors.py();
    let (op, wanted) = ("register_multi_grad_hook: tensors", "a sequence of Tensors");
    let mode = match mode.extract::<&str>() {
        Ok("all") => MultiGradMode::All,
        Ok("any") => MultiGradMode::Any,
        _ => {
            let (what, expected) = ("register_multi_grad_hook: mode", "be \"all\" or \"any\"");
            return Err(new_argument_error(py, what, expected, shown(mode)?));
        }
    };
    let function = extract_callable(r#fn, "register_multi_grad_hook: fn")?;
    // The rows of a tensor are new tensors that no other object can use.
    if tensors.is_instance_of::<Tensor>() {
        return Err(new_type_error(op, wanted, tensors));
    }
    let tensors = extract_tensors(op, wanted, tensors)?;
    let hook = MultiPyHook { function, mode };
    core::register_multi_grad_hook(&tensors, Arc::new(hook), mode).into_py_result(py).map(RemovableHandle)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RemovableHandle>()?;
    // Not in `__all__`: private.
    module.setattr("_register_multi_grad_hook", wrap_pyfunction!(_register_multi_grad_hook, module)?)
}

impl NodePreHook for PyHook {
    fn call(&self, gradients: &[Option<CoreTensor>]) -> Result<Option<Vec<Option<CoreTensor>>>> {
        call_program(|py| {
            let result = call(self.0.bind(py), tuple_of(py, gradients)?.as_any())?;
            replacements("Node.register_prehook: the result of the hook", &result, gradients.len())
        })
    }
}

impl NodePostHook for PyHook {
    fn call(
        &self,
        inputs: &[Option<CoreTensor>],
        results: &[Option<CoreTensor>],
    ) -> Result<Option<Vec<Option<CoreTensor>>>> {
        call_program(|py| {
            let arguments = PyTuple::new(py, [tuple_of(py, inputs)?, tuple_of(py, results)?])?;
            let result = call_with(self.0.bind(py), &arguments)?;
            replacements("Node.register_hook: the result of the hook", &result, inputs.len())
        })
    }
}

/// Extracts the gradients that a hook of a node returns in place of `count` gradients.
fn replacements(
    what: &str,
    given: &Bound<'_, PyAny>,
    count: usize,
) -> PyResult<Option<Vec<Option<CoreTensor>>>> {
    match given.cast::<PyTuple>() {
        // The caller reports the number. The items may be anything.
        Ok(items) if items.len() != count => Ok(Some(vec![None; items.len()])),
        _ => optional_gradients(what, given),
    }
}

/// Visits the Python objects that a core object owns; `visit_owned` calls its argument with each.
pub(super) fn traverse_all(
    visit: &PyVisit<'_>,
    visit_owned: impl FnOnce(&mut dyn FnMut(&dyn Any)),
) -> std::result::Result<(), PyTraverseError> {
    let mut result = Ok(());
    traverse::traverse(|| {
        visit_owned(&mut |owned| {
            if result.is_ok() {
                result = traverse(owned, visit);
            }
        });
    });
    result
}

/// Visits a Python object that a core object owns.
fn traverse(owned: &dyn Any, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
    if let Some(hook) = owned.downcast_ref::<PyHook>() {
        return hook.0.traverse(visit);
    }
    if let Some(hook) = owned.downcast_ref::<MultiPyHook>() {
        return hook.function.traverse(visit);
    }
    if let Some(packed) = owned.downcast_ref::<Packed>() {
        return packed.traverse(visit);
    }
    match owned.downcast_ref::<FunctionBackward>() {
        Some(function) => function.traverse(visit),
        None => identity::traverse(owned, visit),
    }
}

/// A registered hook. As a context manager it removes the hook on exit.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.ones(2, requires_grad=True)
///     >>> with x.register_hook(lambda grad: grad * 10):
///     ...     x.sum().backward()
///     >>> x.sum().backward()
///     >>> x.grad
///     tensor([11., 11.])
#[pyclass(frozen, weakref, module = "interlock.utils.hooks")]
pub(super) struct RemovableHandle(core::HookHandle);

impl RemovableHandle {
    pub(super) fn new(handle: core::HookHandle) -> Self {
        RemovableHandle(handle)
    }
}

#[pymethods]
impl RemovableHandle {
    /// A number that no other hook has. Hooks that were registered later have greater numbers.
    #[getter]
    fn id(&self) -> u64 {
        self.0.id()
    }

    /// Remove the hook. A backward pass that is running the hook's node still calls it. A second call has no effect.
    fn remove(&self) {
        self.0.remove();
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.remove();
    }
}

#[pymethods]
impl Tensor {
    /// Register a function that is called with the gradient of the tensor in each backward pass.
    ///
    /// The gradient is complete: all contributions of the pass have been added. Hooks are called in the order of their
    /// registration, each with the result of the one before. If the tensor is changed in place later, the hook still
    /// receives the gradient of the value before the change.
    ///
    /// Args:
    ///     hook: Called with the gradient, or with None if the backward functions return none. It returns None, or a tensor
    ///         of the same shape, dtype and device to use instead of a gradient. An exception ends the backward pass and
    ///         propagates.
    ///
    /// Returns:
    ///     A handle whose `remove` removes the hook.
    ///
    /// Raises:
    ///     RuntimeError: The tensor does not require grad.
    ///     TypeError: `hook` is not callable.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.ones(2, requires_grad=True)
    ///     >>> handle = x.register_hook(lambda grad: grad * 10)
    ///     >>> x.sum().backward()
    ///     >>> x.grad
    ///     tensor([10., 10.])
    fn register_hook(slf: &Bound<'_, Self>, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        let hook = PyHook::new("register_hook", hook)?;
        let handle = slf.core().register_hook(std::sync::Arc::new(hook)).into_py_result(slf.py())?;
        Ok(RemovableHandle(handle))
    }

    /// Register a function that is called after a backward pass has accumulated a gradient in `grad` of this leaf.
    ///
    /// Args:
    ///     hook: Called with the tensor. It returns None. An optimizer may use the gradient and set `grad` to None, so
    ///         that its memory is released before the backward pass ends.
    ///
    /// Returns:
    ///     A handle whose `remove` removes the hook.
    ///
    /// Raises:
    ///     ArgumentError: The tensor is the result of an operation.
    ///     RuntimeError: The tensor does not require grad.
    ///     TypeError: `hook` is not callable.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.ones(2, requires_grad=True)
    ///     >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
    ///     >>> x.sum().backward()
    ///     tensor([1., 1.])
    fn register_post_accumulate_grad_hook(
        slf: &Bound<'_, Self>,
        hook: &Bound<'_, PyAny>,
    ) -> PyResult<RemovableHandle> {
        let hook = PyHook::new("register_post_accumulate_grad_hook", hook)?;
        let tensor = &*slf.core();
        let handle =
            tensor.register_post_accumulate_grad_hook(std::sync::Arc::new(hook)).into_py_result(slf.py())?;
        remember_tensor(slf)?;
        Ok(RemovableHandle(handle))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        let Some(tensor) = self.0.in_collection() else { return Ok(()) };
        traverse_all(&visit, |each| tensor.visit_owned(each))
    }

    fn __clear__(&self) {
        if let Some(tensor) = self.0.in_collection() {
            tensor.clear_owned();
        }
    }
}
