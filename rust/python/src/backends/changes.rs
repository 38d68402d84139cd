//! Python functions that are called when flags have changed.

use interlock::backends::{self, FlagChange as CoreFlagChange, FlagSpec};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::values::object_of_named;
use crate::args::extract_callable;
use crate::deferred_drop::DeferredDrop;
use crate::detach::attach;
use crate::hooks::call_function;
use crate::registration_observer::observed;
use crate::registrations::{Registration, keep};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<FlagChange>()?;
    module.add_function(wrap_pyfunction!(on_change, module)?)
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
            _ => empty("other"),
        })
    }
}

#[pymethods]
impl FlagChange {
    /// `FlagChange[int]`, the change of an int flag, for annotations that are evaluated.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.py().import("types")?.getattr("GenericAlias")?.call1((class, value))
    }

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
/// `sys.unraisablehook`; a `KeyboardInterrupt` is raised again on the thread after the change.
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
#[pyfunction]
#[pyo3(signature = (callback, /))]
fn on_change<'py>(callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Registration>> {
    let function = extract_callable(callback, "backends.on_change: callback")?;
    let registration = keep(backends::on_change(move |change| report_change(&function, change)));
    observed("interlock.backends.on_change", Bound::new(callback.py(), registration)?)
}

/// Registers a function that is called after each change of one flag.
pub(super) fn on_change_of(spec: &'static FlagSpec, callback: &Bound<'_, PyAny>) -> Registration {
    let function = DeferredDrop::new(callback.clone());
    keep(backends::on_change_of(spec, move |change| report_change(&function, change)))
}

fn report_change(function: &DeferredDrop, change: &CoreFlagChange) {
    attach(|py| {
        let argument = FlagChange::new(py, change).and_then(|change| Bound::new(py, change));
        call_function(py, function, argument.and_then(|change| PyTuple::new(py, [change])));
    });
}
