//! Python functions that are called when modes have changed, and that save and restore values of other libraries.

use std::sync::Arc;

use interlock::autograd::{self, Mode, ModeChange as CoreModeChange};
use interlock::state::{self, Carried, CarriedValue};
use interlock_core::binding::modes::{self as binding, ModeSetter};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::args::{extract_callable, extract_str};
use crate::deferred_drop::DeferredDrop;
use crate::detach::{attach, attach_unsynced, call_with};
use crate::errors::IntoPyResult;
use crate::qualified_name::qualified_name;
use crate::raise_later::raise_later;
use crate::registration_observer::{self, observed};
use crate::registrations::{Registration, keep};

/// Adds the classes and functions to the modules of modes and of state.
pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = |name| Ok::<_, PyErr>(parent.getattr(name)?.cast_into::<PyModule>()?);
    let (autograd, state) = (module("autograd")?, module("state")?);
    autograd.add_class::<ModeChange>()?;
    autograd.add_function(wrap_pyfunction!(on_mode_change, &autograd)?)?;
    autograd.add_function(wrap_pyfunction!(on_setters, &autograd)?)?;
    state.add_class::<Registration>()?;
    registration_observer::register(&state)?;
    state.add_function(wrap_pyfunction!(register_carried, &state)?)
}

/// Calls a function of the program, on a thread that may not be attached. An exception is reported as that of a
/// destructor is, because the code that has changed something cannot raise it. A `KeyboardInterrupt` is raised later.
pub(crate) fn call_function<'py>(
    py: Python<'py>,
    function: &DeferredDrop,
    arguments: PyResult<Bound<'py, PyTuple>>,
) -> Option<Bound<'py, PyAny>> {
    // A destructor may change modes while an exception is set.
    let pending = PyErr::take(py);
    let function = function.bind(py);
    let result = arguments.and_then(|arguments| call_with(function, &arguments));
    let report = |error: PyErr| {
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            raise_later(py, error);
        } else {
            error.write_unraisable(py, Some(function));
        }
    };
    let result = result.map_err(report).ok();
    if let Some(pending) = pending {
        pending.restore(py);
    }
    result
}

/// The modes that are set on a thread, before and after a change, as `autograd.on_change` reports it.
#[pyclass(frozen, module = "interlock.autograd")]
struct ModeChange(CoreModeChange);

fn modes(py: Python<'_>, set: impl Fn(Mode) -> Option<bool>) -> PyResult<Bound<'_, PyDict>> {
    let modes = PyDict::new(py);
    for mode in Mode::ALL {
        if let Some(on) = set(mode) {
            modes.set_item(mode.name(), on)?;
        }
    }
    Ok(modes)
}

#[pymethods]
impl ModeChange {
    /// The modes that were set before, by name.
    #[getter(old)]
    fn set_before<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        modes(py, |mode| self.0.was_set(mode))
    }

    /// The modes that are set now, by name.
    #[getter(new)]
    fn set_now<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        modes(py, |mode| self.0.set(mode))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("ModeChange({} -> {})", self.set_before(py)?.repr()?, self.set_now(py)?.repr()?))
    }
}

/// Register a function that is called on a thread after the modes that are set on it have changed: when a scope or guard is
/// entered or exited, a mode is written, or the thread switches to another task or context.
///
/// Only modes that a scope, a write or the process sets are reported, not defaults. The interpreter reports switches from
/// Python 3.14; before, they are seen with the next call into interlock, and at each step of a task under `interlock.aio`.
/// So before Python 3.14 a function that another thread has given a context, as `asyncio.to_thread` does, reports the modes
/// that it sets itself, and not those that the other thread has set: the end of the context would not be reported. They are
/// reported in such a task, and where `interlock.Executor` or `apply` has brought values of other libraries.
/// After a registration each thread reports the modes that are set on it, as if none had been set before.
/// While a function is registered, scopes and reads of modes cost more. Its exceptions are reported through
/// `sys.unraisablehook`; a `KeyboardInterrupt` is raised again on the thread after the change.
///
/// Args:
///     callback: Called with a `ModeChange`.
///
/// Returns:
///     The registration. The function is removed by its `remove` method, or at the end of a `with` block.
///
/// Raises:
///     TypeError: `callback` is not callable.
///
/// Example:
///     >>> import interlock
///     >>> with interlock.autograd.on_change(print), interlock.no_grad():
///     ...     pass
///     ModeChange({} -> {'grad': False})
///     ModeChange({'grad': False} -> {})
#[pyfunction(name = "on_change")]
#[pyo3(signature = (callback, /))]
fn on_mode_change<'py>(callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Registration>> {
    let function = extract_callable(callback, "autograd.on_change: callback")?;
    let registration = keep(autograd::on_change(move |change| {
        attach(|py| {
            let argument = Bound::new(py, ModeChange(*change));
            call_function(py, &function, argument.and_then(|change| PyTuple::new(py, [change])));
        });
    }));
    observed("interlock.autograd.on_change", Bound::new(callback.py(), registration)?)
}

/// Register a function as `on_change` does, which is called also where a scope that sets a mode to the value that it has is
/// entered or exited.
///
/// Args:
///     callback: Called with a dict from the name of each mode that is set to what sets it, outermost first: pairs of a number
///         and the value. The number is unique in the process; 0 stands for writes and the process.
///
/// Returns:
///     The registration.
///
/// Raises:
///     TypeError: `callback` is not callable.
#[pyfunction]
#[pyo3(signature = (callback, /))]
fn on_setters<'py>(callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Registration>> {
    let function = extract_callable(callback, "on_setters: callback")?;
    let registration = keep(binding::on_setters(move |setters| {
        attach(|py| {
            let modes = PyDict::new(py);
            let fill = || {
                for mode in Mode::ALL {
                    let set = |setter: &ModeSetter| Some((setter.layer.number(), setter.set(mode)?));
                    let by: Vec<_> = setters.iter().rev().filter_map(set).collect();
                    if !by.is_empty() {
                        modes.set_item(mode.name(), by)?;
                    }
                }
                PyTuple::new(py, [&modes])
            };
            call_function(py, &function, fill());
        });
    }));
    observed("interlock._core.autograd.on_setters", Bound::new(callback.py(), registration)?)
}

/// The functions of `state.register_carried`.
struct Functions {
    save: DeferredDrop,
    restore: DeferredDrop,
    /// The names of both, if they have some.
    declared_by: Option<String>,
}

impl Carried for Functions {
    fn save(&self) -> CarriedValue {
        let saved = attach_unsynced(|py| {
            call_function(py, &self.save, Ok(PyTuple::empty(py))).map(DeferredDrop::new)
        });
        Arc::new(saved.flatten())
    }

    fn restore(&self, value: &CarriedValue) {
        // There is none if saving it has failed.
        let Some(Some(value)) = value.downcast_ref::<Option<DeferredDrop>>() else { return };
        attach_unsynced(|py| {
            call_function(py, &self.restore, PyTuple::new(py, [value.bind(py)]));
        });
    }

    fn declared_by(&self) -> Option<String> {
        self.declared_by.clone()
    }

    fn are_same(&self, one: &CarriedValue, other: &CarriedValue) -> bool {
        let values = [one, other].map(|value| value.downcast_ref::<Option<DeferredDrop>>());
        matches!(values, [Some(Some(one)), Some(Some(other))] if one.is(other))
    }
}

/// Register a value of another library that belongs to a thread there, so that captured states and tasks have it.
///
/// `interlock.capture` saves it, and where the state is applied, also on other threads, it is the value of the thread until
/// the end. Under `interlock.aio`, and from Python 3.14 under plain asyncio, each task has a value of its own, which starts
/// as that of its creator. Values are saved and restored in the order of registrations. Exceptions of the functions are
/// reported through `sys.unraisablehook`; a `KeyboardInterrupt` is raised again on the thread after the call into interlock.
///
/// A registration whose functions have the modules and names of those of an earlier one replaces it, as after
/// `importlib.reload`: the earlier one has no effect any more.
///
/// Args:
///     name: A name that no other value has.
///     save: Called without arguments; returns the value of the thread.
///     restore: Called with a value that `save` has returned; makes it that of the thread. It is not called if `save` has just
///         returned this very object on the thread.
///
/// Returns:
///     The registration. The value is carried until its `remove` method is called, or to the end of a `with` block.
///
/// Raises:
///     TypeError: `name` is not a str, or `save` or `restore` is not callable.
///     ArgumentError: `name` is registered already, with other functions.
///
/// Example:
///     >>> import threading
///     >>> import interlock
///     >>> verbosity = threading.local()
///     >>> verbosity.level = 0
///     >>> def save():
///     ...     return verbosity.level
///     >>> def restore(level):
///     ...     verbosity.level = level
///     >>> with interlock.state.register_carried("verbosity", save, restore):
///     ...     verbosity.level = 2
///     ...     state = interlock.capture()
///     ...     verbosity.level = 0
///     ...     state.run(save)
///     2
#[pyfunction]
#[pyo3(signature = (name, save, restore))]
fn register_carried<'py>(
    name: &Bound<'py, PyAny>,
    save: &Bound<'py, PyAny>,
    restore: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, Registration>> {
    let py = name.py();
    let name = extract_str(name, "register_carried: name")?;
    let functions = Functions {
        save: extract_callable(save, "register_carried: save")?,
        restore: extract_callable(restore, "register_carried: restore")?,
        declared_by: qualified_name(save)
            .zip(qualified_name(restore))
            .map(|(save, restore)| save + ", " + &restore),
    };
    let registration = state::register_carried(name, functions).map(keep).into_py_result(py)?;
    observed("interlock.state.register_carried", Bound::new(py, registration)?)
}
