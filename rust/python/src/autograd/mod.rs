//! Gradient modes: the context managers, and the questions.

mod modes;
mod mode_object;

use interlock::autograd::{self, Mode};
use pyo3::prelude::*;

use crate::submodule::submodule;
use crate::scope_debug;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "autograd")?;
    modes::register(&module)?;
    module.add_function(wrap_pyfunction!(is_grad_enabled, &module)?)?;
    module.add_function(wrap_pyfunction!(is_inference_mode_enabled, &module)?)?;
    module.add_function(wrap_pyfunction!(is_multithreading_enabled, &module)?)?;
    module.add_function(wrap_pyfunction!(is_view_replay_enabled, &module)?)
}

/// `function` with a layer of `scope` around each call, made by the Python layer.
pub(crate) fn decorated<'py>(
    scope: &Bound<'py, PyAny>,
    function: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    scope.py().import("interlock._scope_decorator")?.getattr("decorate")?.call1((scope, function))
}

/// Whether operations of this thread record what a backward pass needs.
#[pyfunction]
fn is_grad_enabled(py: Python<'_>) -> PyResult<bool> {
    scope_debug::warn_suspended_scopes(py)?;
    Ok(autograd::is_grad_enabled())
}

/// Whether tensors made by this thread are inference tensors.
#[pyfunction]
fn is_inference_mode_enabled(py: Python<'_>) -> PyResult<bool> {
    scope_debug::warn_suspended_scopes(py)?;
    Ok(autograd::is_inference_mode_enabled())
}

/// Return whether a backward pass of this thread may use other threads; see `set_multithreading_enabled`.
#[pyfunction]
fn is_multithreading_enabled(py: Python<'_>) -> PyResult<bool> {
    scope_debug::warn_suspended_scopes(py)?;
    Ok(Mode::Multithreading.is_on())
}

/// Return whether views of this thread are tracked by replaying the operation that made them.
#[pyfunction]
fn is_view_replay_enabled(py: Python<'_>) -> PyResult<bool> {
    scope_debug::warn_suspended_scopes(py)?;
    Ok(Mode::ViewReplay.is_on())
}
