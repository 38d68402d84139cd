//! The node of a call of `autograd.Function`. The class itself is written in Python.

use std::sync::Arc;

use interlock_tensor::autograd::{
    self as core, CustomFunction, CustomRecord, GradDType, NextFunction, record,
};
use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

use super::node::Node;
use crate::deferred_drop::DeferredDrop;
use crate::detach::{attach, call};
use crate::errors::{IntoPyResult, new_type_error};
use crate::switches::extract_as;
use crate::tensor::args::{extract_optional_tensor, extract_tensor};
use crate::tensor::identity::{remember_tensor, tensor_object};
use crate::tensor::operation::{ArgumentName, required};
use crate::tensor::program::{call_program, optional_gradients, tuple_of};
use crate::tensor::{Tensor, fallible_alloc};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Not in `__all__`: private.
    module.setattr("_FunctionNode", module.py().get_type::<FunctionNode>())?;
    module.setattr("_record_function", wrap_pyfunction!(_record_function, module)?)
}

/// The base of `ctx`: the node of a call of `autograd.Function`.
#[pyclass(frozen, subclass, extends = Node, module = "interlock._core.tensor", name = "_FunctionNode")]
pub(super) struct FunctionNode;

#[pymethods]
impl FunctionNode {
    #[new]
    fn new() -> PyClassInitializer<Self> {
        PyClassInitializer::from(Node::of_function()).add_subclass(FunctionNode)
    }

    /// The tensors that `save_for_backward` saved. Empty before the call is recorded.
    ///
    /// Raises:
    ///     GraphFreedError: An earlier backward pass has freed the saved tensors.
    ///     RuntimeError: A saved tensor was changed in place, or no tensor refers to the recorded call any more.
    #[getter]
    fn saved_tensors<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, node) = (slf.py(), slf.as_super().get());
        if !node.is_recorded() {
            return Ok(PyTuple::empty(py));
        }
        let NextFunction::Node(node) = node.get()? else { return Ok(PyTuple::empty(py)) };
        let saved = node.saved_tensors().into_py_result(py)?;
        fallible_alloc::try_tuple(py, saved.iter().map(|tensor| optional_object(py, tensor.as_ref())))
    }
}

/// The backward function of a call, which owns the `ctx`.
pub(super) struct FunctionBackward {
    ctx: DeferredDrop,
    materialize_grads: bool,
}

impl FunctionBackward {
    pub(super) fn ctx<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.ctx.bind(py).clone()
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.ctx.traverse(visit)
    }
}

impl CustomFunction for FunctionBackward {
    fn backward(&self, gradients: Vec<Option<CoreTensor>>) -> Result<Vec<Option<CoreTensor>>> {
        call_program(|py| {
            let function = self.ctx.bind(py).getattr("_run_backward")?;
            let result = call(&function, tuple_of(py, &gradients)?.as_any())?;
            Ok(optional_gradients("backward: the gradients", &result)?.unwrap_or_default())
        })
    }

    fn materialize_grads(&self) -> bool {
        self.materialize_grads
    }

    fn recorded(&self, node: &Arc<core::Node>) {
        attach(|py| {
            if let Ok(ctx) = self.ctx.bind(py).cast::<FunctionNode>() {
                ctx.as_super().get().set_recorded(node);
            }
        });
    }
}

fn optional_object<'py>(py: Python<'py>, tensor: Option<&CoreTensor>) -> PyResult<Bound<'py, PyAny>> {
    tensor.map_or_else(|| Ok(py.None().into_bound(py)), |tensor| Ok(tensor_object(py, tensor)?.into_any()))
}

/// Returns the tuple of an attribute of `ctx`.
fn attribute<'a, 'py>(name: &str, given: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyTuple>> {
    given.cast().map_err(|_| new_type_error(&format!("apply: ctx.{name}"), "a tuple", given))
}

fn tensors(what: &str, given: &Bound<'_, PyTuple>) -> PyResult<Vec<CoreTensor>> {
    given.iter().map(|item| extract_tensor(what, &item)).collect()
}

fn optional_tensors(what: &str, given: &Bound<'_, PyTuple>) -> PyResult<Vec<Option<CoreTensor>>> {
    given.iter().map(|item| extract_optional_tensor(what, &item)).collect()
}

/// Extracts the dtype of the gradient of each result.
fn extract_grad_dtypes(given: &Bound<'_, PyAny>) -> PyResult<Vec<GradDType>> {
    let given: Bound<'_, PyTuple> = extract_as("_record_function: grad_dtypes", "a tuple or None", given)?;
    let dtypes = given.iter().map(|dtype| {
        if dtype.is_none() {
            return Ok(GradDType::Any);
        }
        required(ArgumentName::new("set_output_grad_dtype", "dtype"), &dtype).map(GradDType::As)
    });
    dtypes.collect()
}

/// Record a call of `autograd.Function` and return its results with their history.
///
/// Args:
///     ctx: The node.
///     name: The name of the node.
///     inputs: The tensors among the arguments.
///     results: The results, with None for those that are not tensors.
///     dirty: The inputs that were changed in place.
///     non_differentiable: The results without a gradient.
///     saved: The tensors to save, and None.
///     materialize_grads: Whether zeros are passed to `backward` for results without a gradient.
///     grad_dtypes: For each of the results the dtype of its gradient, None for that which the gradient has. None for
///         those of the results.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // called from one place
fn _record_function<'py>(
    ctx: &Bound<'py, PyAny>,
    name: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    results: &Bound<'py, PyAny>,
    dirty: &Bound<'py, PyAny>,
    non_differentiable: &Bound<'py, PyAny>,
    saved: &Bound<'py, PyAny>,
    materialize_grads: &Bound<'py, PyAny>,
    grad_dtypes: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = ctx.py();
    let ctx: Bound<'_, FunctionNode> = extract_as("_record_function: ctx", "a node of a Function", ctx)?;
    let name: String = extract_as("_record_function: name", "a str", name)?;
    let inputs: Bound<'_, PyTuple> = extract_as("_record_function: inputs", "a tuple", inputs)?;
    let results: Bound<'_, PyTuple> = extract_as("_record_function: results", "a tuple", results)?;
    for input in inputs.iter().chain(results.iter()) {
        if let Ok(input) = input.cast::<Tensor>() {
            remember_tensor(input)?;
        }
    }
    // Attributes of `ctx`, which a program may assign.
    let (dirty, non_differentiable) =
        (attribute("dirty_tensors", dirty)?, attribute("non_differentiable", non_differentiable)?);
    let saved = attribute("to_save", saved)?;
    let Ok(materialize_grads) = materialize_grads.extract() else {
        return Err(new_type_error("apply: ctx.materialize_grads", "a bool", materialize_grads));
    };
    let saved = optional_tensors("save_for_backward: the tensors", saved)?;
    let grad_dtypes = grad_dtypes.map_or_else(|| Ok(Vec::new()), extract_grad_dtypes)?;
    let call = CustomRecord {
        name,
        inputs: &tensors("apply: the inputs", &inputs)?,
        results: &optional_tensors("forward: the results", &results)?,
        dirty: &tensors("mark_dirty: the tensors", dirty)?,
        non_differentiable: &tensors("mark_non_differentiable: the tensors", non_differentiable)?,
        saved: &saved,
        grad_dtypes: &grad_dtypes,
    };
    let function = FunctionBackward { ctx: DeferredDrop::new(ctx.clone().into_any()), materialize_grads };
    let forward = record(&call, Arc::new(function)).into_py_result(py)?;
    fallible_alloc::try_tuple(py, forward.results.iter().map(|result| optional_object(py, result.as_ref())))
}
