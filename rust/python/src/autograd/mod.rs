//! Bindings of the gradient modes.

mod mode_object;
mod modes;

use interlock::autograd::Mode;
use pyo3::prelude::*;

use crate::detach::call_with;
use crate::scope_debug;
use crate::submodule::submodule;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "autograd")?;
    modes::register(&module)?;
    module.add_function(wrap_pyfunction!(is_grad_enabled, &module)?)?;
    module.add_function(wrap_pyfunction!(is_inference_mode_enabled, &module)?)?;
    module.add_function(wrap_pyfunction!(is_multithreading_enabled, &module)?)?;
    module.add_function(wrap_pyfunction!(is_view_replay_enabled, &module)?)?;
    module.add_function(wrap_pyfunction!(is_anomaly_enabled, &module)?)?;
    module.add_function(wrap_pyfunction!(is_anomaly_check_nan_enabled, &module)?)
}

/// Wraps `function` so that each call enters a layer of `scope`; implemented in Python.
pub(crate) fn decorated<'py>(
    scope: &Bound<'py, PyAny>,
    function: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let decorate = scope.py().import("interlock._scope_decorator")?.getattr("decorate")?;
    call_with(&decorate, (scope, function))
}

/// Return whether operations record the autograd graph in the current context.
///
/// Example:
///     >>> import interlock
///     >>> with interlock.no_grad():
///     ...     interlock.is_grad_enabled()
///     False
#[pyfunction]
fn is_grad_enabled(py: Python<'_>) -> PyResult<bool> {
    Ok(scope_debug::warn_suspended_scopes(py)?.is_on(Mode::Grad))
}

/// Return whether tensors that are created in the current context are inference tensors.
///
/// Example:
///     >>> import interlock
///     >>> with interlock.inference_mode():
///     ...     interlock.is_inference_mode_enabled()
///     True
#[pyfunction]
fn is_inference_mode_enabled(py: Python<'_>) -> PyResult<bool> {
    Ok(scope_debug::warn_suspended_scopes(py)?.is_on(Mode::Inference))
}

/// Return whether a backward pass may use other threads; see `set_multithreading_enabled`.
#[pyfunction]
fn is_multithreading_enabled(py: Python<'_>) -> PyResult<bool> {
    Ok(scope_debug::warn_suspended_scopes(py)?.is_on(Mode::Multithreading))
}

/// Return whether views are tracked by replaying the operation that created them.
#[pyfunction]
fn is_view_replay_enabled(py: Python<'_>) -> PyResult<bool> {
    Ok(scope_debug::warn_suspended_scopes(py)?.is_on(Mode::ViewReplay))
}

/// Return whether anomalies are detected in the current context; see `interlock.autograd.detect_anomaly`.
///
/// Example:
///     >>> import interlock
///     >>> with interlock.autograd.detect_anomaly():
///     ...     interlock.is_anomaly_enabled()
///     True
#[pyfunction]
fn is_anomaly_enabled(py: Python<'_>) -> PyResult<bool> {
    Ok(scope_debug::warn_suspended_scopes(py)?.is_on(Mode::Anomaly))
}

/// Return whether the detection of anomalies checks gradients for NaN.
///
/// Example:
///     >>> import interlock
///     >>> with interlock.autograd.detect_anomaly(check_nan=False):
///     ...     interlock.is_anomaly_check_nan_enabled()
///     False
#[pyfunction]
fn is_anomaly_check_nan_enabled(py: Python<'_>) -> PyResult<bool> {
    Ok(scope_debug::warn_suspended_scopes(py)?.is_on(Mode::AnomalyCheckNan))
}
