//! Functions of the Python program that the tensor runtime calls: hooks and functions of `autograd.Function`.

use std::sync::Arc;

use interlock::autograd::scope_barrier;
use interlock_tensor::autograd::{Creator, ForwardStack};
use interlock_tensor::{Error, ForeignError, Result, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::Tensor;
use super::args::extract_optional_tensor;
use crate::deferred_drop::DeferredDrop;
use crate::detach::{attach, call_with};
use crate::errors::new_type_error;

/// Calls `work` attached to the interpreter, inside an operation that may be detached. An exception becomes an error
/// that [`raised`] converts back.
pub(super) fn call_program<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
    let finalized = || {
        let message = "a Python function cannot be called after the interpreter was finalized".to_owned();
        Err(ForeignError::new(message, Arc::new(())).into())
    };
    attach(|py| {
        // Scopes that the function leaves open end here, where the context is at hand.
        let _barrier = scope_barrier();
        work(py).map_err(|raised| foreign_error(py, raised))
    })
    .unwrap_or_else(finalized)
}

fn foreign_error(py: Python<'_>, raised: PyErr) -> Error {
    let message = raised.to_string();
    let exception = DeferredDrop::new(raised.into_value(py).into_bound(py));
    ForeignError::new(message, Arc::new(exception)).into()
}

/// Returns the exception of a function of the program, with its traceback.
pub(super) fn raised(py: Python<'_>, error: &ForeignError) -> Option<PyErr> {
    let exception = error.payload().downcast_ref::<DeferredDrop>()?;
    Some(PyErr::from_value(exception.bind(py).clone()))
}

/// Returns the gradients as a tuple of tensors and None.
pub(super) fn tuple_of<'py>(
    py: Python<'py>,
    gradients: &[Option<CoreTensor>],
) -> PyResult<Bound<'py, PyTuple>> {
    let gradients = gradients.iter().map(|gradient| gradient.clone().map(Tensor::from).into_pyobject(py));
    super::fallible_alloc::try_tuple(py, gradients)
}

/// Extracts a tuple of gradients, of which some may be None. None means that nothing is replaced.
pub(super) fn optional_gradients(
    what: &str,
    given: &Bound<'_, PyAny>,
) -> PyResult<Option<Vec<Option<CoreTensor>>>> {
    if given.is_none() {
        return Ok(None);
    }
    let Ok(items) = given.cast::<PyTuple>() else {
        return Err(new_type_error(what, "a tuple of Tensors or None", given));
    };
    let items = items.iter().map(|item| extract_optional_tensor(what, &item));
    super::fallible_alloc::try_collect(given.py(), items).map(Some)
}

fn forward_text(stack: Option<&ForwardStack>) -> String {
    match stack {
        Some(stack) => format!("the forward operation was called at:\n{}", stack.text()),
        None => "the forward operation ran without anomaly detection, so its line is not known".to_owned(),
    }
}

/// Warns of an error in anomaly mode, with the stack of the forward operation, and returns the exception.
pub(super) fn anomaly_exception(
    py: Python<'_>,
    node: &str,
    stack: Option<&ForwardStack>,
    original: PyErr,
) -> PyErr {
    let mut text = format!("{node} failed; {}", forward_text(stack));
    let mut creator = stack.and_then(ForwardStack::creator);
    while let Some(Creator { node, stack }) = creator {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("It was created by the backward function of {node}; "));
        text.push_str(&forward_text(stack.as_deref()));
        creator = stack.as_deref().and_then(ForwardStack::creator);
    }
    let warning = py.get_type::<pyo3::exceptions::PyUserWarning>();
    let warned = py
        .import("warnings")
        .and_then(|warnings| warnings.getattr("warn"))
        .and_then(|warn| call_with(&warn, (PyString::new(py, &text), warning)));
    match warned {
        Ok(_) => original,
        // A filter turned the warning into an exception.
        Err(raised) => {
            raised.set_cause(py, Some(original));
            raised
        }
    }
}
