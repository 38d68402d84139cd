//! Python functions that are called when flags and modes have changed, and that save and restore values of other
//! libraries.

use std::sync::Arc;

use interlock::autograd::{self, Mode, ModeChange as CoreModeChange};
use interlock::backends::{self, FlagChange as CoreFlagChange, FlagSpec};
use interlock::state::{self, Carried, CarriedValue};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::args::extract_str;
use crate::backends::object_of_named;
use crate::deferred_drop::DeferredDrop;
use crate::detach::{attach, attach_unsynced, call_with};
use crate::errors::{IntoPyResult, new_type_error};
use crate::registrations::{Registration, keep};

/// Adds the classes and functions to the modules of flags, of modes and of state.
pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = |name| Ok::<_, PyErr>(parent.getattr(name)?.cast_into::<PyModule>()?);
    let (backends, autograd, state) = (module("backends")?, module("autograd")?, module("state")?);
    backends.add_class::<FlagChange>()?;
    backends.add_function(wrap_pyfunction!(on_flag_change, &backends)?)?;
    autograd.add_class::<ModeChange>()?;
    autograd.add_function(wrap_pyfunction!(on_mode_change, &autograd)?)?;
    state.add_class::<Registration>()?;
    state.add_function(wrap_pyfunction!(register_carried, &state)?)
}

fn callable(given: &Bound<'_, PyAny>, what: &str) -> PyResult<DeferredDrop> {
    if given.is_callable() {
        Ok(DeferredDrop::new(given.clone()))
    } else {
        Err(new_type_error(what, "callable", given))
    }
}

/// Calls a function of the program, on a thread that may not be attached. An exception is reported as that of a
/// destructor is, because the code that has changed something cannot raise it.
fn call_function<'py>(
    py: Python<'py>,
    function: &DeferredDrop,
    arguments: PyResult<Bound<'py, PyTuple>>,
) -> Option<Bound<'py, PyAny>> {
    // A destructor may change modes while an exception is set.
    let pending = PyErr::take(py);
    let function = function.bind(py);
    let result = arguments.and_then(|arguments| call_with(function, &arguments));
    let result = result.map_err(|error| error.write_unraisable(py, Some(function))).ok();
    if let Some(pending) = pending {
        pending.restore(py);
    }
    result
}

/// A change of flags, as `backends.on_change` reports it.
#[pyclass(frozen, get_all, module = "interlock.backends")]
struct FlagChange {
    /// `"write"`, or `"enter"` and `"exit"` of a scope.
    kind: &'static str,
    /// The dotted name of a flag that was written; otherwise None.
    name: Option<&'static str>,
    /// The value before a write.
    old: Option<Py<PyAny>>,
    /// The value after a write.
    new: Option<Py<PyAny>>,
    /// Where a flag was written: `"scope"`, `"process"`, or `"environment"` and `"default"` if it was unset.
    level: Option<&'static str>,
    /// Identifies the scope that was entered or has ended, or in which a flag was written.
    layer: Option<u64>,
    /// The flags that an entered scope sets.
    values: Option<Py<PyDict>>,
}

impl FlagChange {
    fn new(py: Python<'_>, change: &CoreFlagChange) -> PyResult<Self> {
        let empty = |kind| FlagChange {
            kind,
            name: None,
            old: None,
            new: None,
            level: None,
            layer: None,
            values: None,
        };
        Ok(match change {
            CoreFlagChange::Write { name, old, new, level, layer } => FlagChange {
                layer: *layer,
                name: Some(name),
                old: Some(object_of_named(py, name, *old)?.unbind()),
                new: Some(object_of_named(py, name, *new)?.unbind()),
                level: Some(level.name()),
                ..empty("write")
            },
            CoreFlagChange::Enter { layer, values } => {
                let set = PyDict::new(py);
                for (name, value) in values {
                    set.set_item(name, object_of_named(py, name, *value)?)?;
                }
                FlagChange { layer: Some(*layer), values: Some(set.unbind()), ..empty("enter") }
            }
            CoreFlagChange::Exit { layer } => FlagChange { layer: Some(*layer), ..empty("exit") },
        })
    }
}

#[pymethods]
impl FlagChange {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = |value: &Option<Py<PyAny>>| match value {
            Some(value) => value.bind(py).repr().map(|text| text.to_string()),
            None => Ok("None".to_owned()),
        };
        Ok(match (self.name, &self.values, self.layer) {
            (Some(name), ..) => {
                format!("FlagChange({name}: {} -> {})", shown(&self.old)?, shown(&self.new)?)
            }
            (None, Some(values), Some(layer)) => {
                format!("FlagChange(enter {layer}: {})", values.bind(py).repr()?)
            }
            (None, _, layer) => format!("FlagChange({} {})", self.kind, layer.unwrap_or_default()),
        })
    }
}

/// Register a function that is called after each change of a flag: a write, or the enter and exit of a scope that sets
/// flags, by Python, Rust or C code.
///
/// It is called on the thread that made the change, outside of all locks, so changes of several threads may be reported in
/// another order than they were made. Scopes that are open already are not reported. Its exceptions are reported through
/// `sys.unraisablehook`.
///
/// Args:
///     callback: Called with a `FlagChange`.
///
/// Returns:
///     The registration. The function is removed by its `remove` method, or at the end of a `with` block.
///
/// Raises:
///     TypeError: `callback` is not callable.
///
/// Example:
///     >>> from interlock import backends
///     >>> with backends.on_change(print):
///     ...     backends.cudnn.benchmark = True
///     FlagChange(cudnn.benchmark: False -> True)
#[pyfunction(name = "on_change")]
#[pyo3(signature = (callback, /))]
fn on_flag_change(callback: &Bound<'_, PyAny>) -> PyResult<Registration> {
    let function = callable(callback, "backends.on_change: callback")?;
    Ok(keep(backends::on_change(move |change| report_change(&function, change))))
}

/// Registers a function that is called after each change of one flag.
pub(crate) fn on_change_of(spec: &'static FlagSpec, callback: &Bound<'_, PyAny>) -> Registration {
    let function = DeferredDrop::new(callback.clone());
    keep(backends::on_change_of(spec, move |change| report_change(&function, change)))
}

fn report_change(function: &DeferredDrop, change: &CoreFlagChange) {
    attach(|py| {
        let argument = FlagChange::new(py, change).and_then(|change| Bound::new(py, change));
        call_function(py, function, argument.and_then(|change| PyTuple::new(py, [change])));
    });
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
/// After a registration each thread reports the modes that are set on it, as if none had been set before.
/// While a function is registered, scopes and reads of modes cost more. Its exceptions are reported through
/// `sys.unraisablehook`.
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
fn on_mode_change(callback: &Bound<'_, PyAny>) -> PyResult<Registration> {
    let function = callable(callback, "autograd.on_change: callback")?;
    Ok(keep(autograd::on_change(move |change| {
        attach(|py| {
            let argument = Bound::new(py, ModeChange(*change));
            call_function(py, &function, argument.and_then(|change| PyTuple::new(py, [change])));
        });
    })))
}

/// The functions of `state.register_carried`.
struct Functions {
    save: DeferredDrop,
    restore: DeferredDrop,
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
/// reported through `sys.unraisablehook`.
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
///     ArgumentError: `name` is registered already.
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
fn register_carried(
    name: &Bound<'_, PyAny>,
    save: &Bound<'_, PyAny>,
    restore: &Bound<'_, PyAny>,
) -> PyResult<Registration> {
    let py = name.py();
    let name = extract_str(name, "register_carried: name")?;
    let functions = Functions {
        save: callable(save, "register_carried: save")?,
        restore: callable(restore, "register_carried: restore")?,
    };
    state::register_carried(name, functions).map(keep).into_py_result(py)
}
