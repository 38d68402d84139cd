//! Native parts of `utils.checkpoint`, which is written in Python.

use std::any::Any;
use std::sync::Arc;

use interlock_tensor::autograd::{self as core, pass_object};
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use super::hooks::traverse_all;
use crate::deferred_drop::DeferredDrop;
use crate::detach::detach;
use crate::errors::IntoPyResult;
use crate::tensor::Tensor;
use crate::tensor::args::extract_tensor;
use crate::tensor::identity::{remember_tensor, tensor_object};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Not in `__all__`: private.
    module.setattr("_BackwardPass", module.py().get_type::<BackwardPass>())?;
    module.setattr("_SavedInput", module.py().get_type::<SavedInput>())?;
    module.setattr("_backward_pass", wrap_pyfunction!(_backward_pass, module)?)
}

/// A backward pass. It exists until the pass ends, so that weak references to it find its data.
#[pyclass(frozen, weakref, module = "interlock._core.tensor", name = "_BackwardPass")]
struct BackwardPass;

/// Return the innermost backward pass that is open on this thread, or None.
#[pyfunction]
fn _backward_pass(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let new = Bound::new(py, BackwardPass)?;
    let found = pass_object(|| Arc::new(DeferredDrop::new(new)) as Arc<dyn Any + Send + Sync>);
    Ok(found.and_then(|found| Some(found.downcast_ref::<DeferredDrop>()?.bind(py).clone())))
}

/// A tensor that is saved as an input of an operation is: hooks of saved tensors pack it, and changes in place are
/// detected.
#[pyclass(frozen, module = "interlock._core.tensor", name = "_SavedInput")]
struct SavedInput(core::SavedInput);

#[pymethods]
impl SavedInput {
    #[new]
    fn new(tensor: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = tensor.py();
        let saved = extract_tensor("checkpoint: an argument", tensor)?;
        // A leaf is saved itself, and `unpack` returns its object.
        if let Ok(tensor) = tensor.cast::<Tensor>() {
            remember_tensor(tensor)?;
        }
        detach(py, || core::SavedInput::new("checkpoint", &saved)).into_py_result(py).map(SavedInput)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        traverse_all(&visit, |each| self.0.visit_owned(each))
    }

    /// Return the tensor. Raises RuntimeError if it was changed in place.
    fn unpack<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Tensor>> {
        let tensor = detach(py, || self.0.unpack()).into_py_result(py)?;
        tensor_object(py, &tensor)
    }
}
