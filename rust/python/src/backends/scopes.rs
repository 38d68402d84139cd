//! Bindings of flag scopes and freezes: context managers and decorators.

use interlock::backends::{self, FlagSpec};
use interlock_core::base::mutex::Mutex;
use interlock_core::binding::flags::{FlagScopeBuilder, Purpose};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString, PyTuple, PyType};
use pyo3::{PyTraverseError, PyVisit};

use super::values::{from_py, named, named_values, plain_object};
use crate::args::extract_dict;
use crate::autograd::decorated;
use crate::context::traverse_scope;
use crate::errors::IntoPyResult;
use crate::{call_site, scope_debug, switches};

/// The result of `__reduce__`: a class and its arguments.
type Reduced<'py, Arguments> = (Bound<'py, PyType>, Arguments);

/// Builds a scope from a dict of names and values, an argument of a function.
pub(crate) fn scope_of(
    function: &str,
    values: &Bound<'_, PyDict>,
    purpose: Purpose,
) -> PyResult<backends::FlagScope> {
    let py = values.py();
    let mut scope = FlagScopeBuilder::new(purpose, values.len());
    for (spec, given) in named_values(function, values)? {
        scope.add(spec, &given).into_py_result(py)?;
    }
    Ok(scope.build(call_site::current_if_tracing(py)))
}

/// Returns a dict of names and values, which [`scope_of`] accepts as a copy.
pub(crate) fn dict_of<'py>(
    py: Python<'py>,
    flags: Vec<(&'static str, backends::Value)>,
) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    for (name, value) in flags {
        values.set_item(name, plain_object(py, value)?)?;
    }
    Ok(values)
}

/// A context manager and decorator that sets flags in the current context, as `backends.override` and the `flags`
/// functions return it. It can be entered again, and on other threads.
///
/// Args:
///     values: Values by dotted name of the flag.
///     copied: Whether the values are those of another scope; for copies and pickles.
///
/// Raises:
///     UnknownFlagError: There is no flag of this name.
///     FlagTypeError: A value has the wrong type.
///     FlagValueError: A flag does not accept its value.
#[pyclass(frozen, module = "interlock.backends")]
pub(super) struct FlagScope(pub(super) backends::FlagScope);

#[pymethods]
impl FlagScope {
    /// Create a scope. The values are checked now; the scope has no effect until it is entered. If the values are
    /// `copied` from another scope, None is an empty node of the precision tree.
    #[new]
    #[pyo3(signature = (values, copied = false, /))]
    fn new(
        values: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = switches::flag_scope::copied)] copied: bool,
    ) -> PyResult<Self> {
        let values = extract_dict(values, "FlagScope: values")?;
        let purpose = if copied { Purpose::Copied } else { Purpose::Named };
        Ok(FlagScope(scope_of("FlagScope", values, purpose)?))
    }

    /// A copy has the same values and is not open.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py, (Bound<'py, PyDict>, bool)>> {
        Ok((slf.get_type(), (dict_of(slf.py(), slf.get().0.values())?, true)))
    }

    fn __repr__(&self) -> String {
        let display: Vec<String> =
            self.0.values().iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("FlagScope({})", display.join(", "))
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        scope_debug::enter(py, self.0.scope(), || self.name(), || self.0.try_enter())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        traverse_scope(self.0.scope(), &visit)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        scope_debug::exit(py, self.0.scope(), || self.name())
    }

    #[pyo3(signature = (function, /))]
    fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // Calls use their own scope: an exit of this one must find the layer that it pushed.
        let calls = Bound::new(slf.py(), FlagScope(slf.get().0.clone_unentered()))?;
        decorated(calls.as_any(), function)
    }
}

/// The flags that a module's `flags(...)` sets, in the order of its arguments.
#[pyclass(frozen, module = "interlock._core.backends")]
pub(super) struct FlagArguments {
    specs: Vec<&'static FlagSpec>,
    /// The last scope. Programs often pass the same objects repeatedly; their values need no second check.
    last: Mutex<Option<CheckedValues>>,
}

/// A scope and the immutable objects that it was created from.
struct CheckedValues {
    values: Py<PyTuple>,
    scope: backends::FlagScope,
}

impl CheckedValues {
    fn consist_of(&self, values: &Bound<'_, PyTuple>) -> bool {
        let checked = self.values.bind(values.py());
        checked.len() == values.len()
            && checked.iter_borrowed().zip(values.iter_borrowed()).all(|(known, value)| known.is(value))
    }
}

#[pymethods]
impl FlagArguments {
    #[new]
    #[pyo3(signature = (*names))]
    fn new(names: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let specs = names.iter().map(|name| named(&name, "FlagArguments: names")).collect::<PyResult<_>>()?;
        Ok(FlagArguments { specs, last: Mutex::default() })
    }

    /// Return a scope of these values, one for each flag; None does not set the flag.
    #[pyo3(signature = (*values))]
    fn scope(&self, values: &Bound<'_, PyTuple>) -> PyResult<FlagScope> {
        let py = values.py();
        let is_traced = scope_debug::is_on();
        if !is_traced && let Some(scope) = self.reuse_last(values) {
            return Ok(FlagScope(scope));
        }
        if values.len() != self.specs.len() {
            let message = format!("scope() takes {} values, got {}", self.specs.len(), values.len());
            return Err(PyTypeError::new_err(message));
        }
        let mut scope = FlagScopeBuilder::new(Purpose::WholeModule, self.specs.len());
        for (spec, value) in self.specs.iter().zip(values).filter(|(_, value)| !value.is_none()) {
            scope.add(spec, &from_py(&value)?).into_py_result(py)?;
        }
        let scope = scope.build(call_site::current_if_tracing(py));
        if !is_traced && values.iter_borrowed().all(|value| is_immutable(&value)) {
            self.store_last(CheckedValues {
                values: values.clone().unbind(),
                scope: scope.clone_unentered(),
            });
        }
        Ok(FlagScope(scope))
    }
}

impl FlagScope {
    /// Names the scope in a message, by at most three of its flags.
    fn name(&self) -> String {
        const NAMED: usize = 3;
        let flags: Vec<&str> = self.0.values().into_iter().map(|(name, _)| name).collect();
        let named = flags.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        match flags.len().saturating_sub(NAMED) {
            0 if flags.is_empty() => "no flags".into(),
            0 => named,
            more => format!("{named} and {more} more flags"),
        }
    }
}

impl FlagArguments {
    /// Returns a scope of the last call's values, if `values` are the same objects.
    fn reuse_last(&self, values: &Bound<'_, PyTuple>) -> Option<backends::FlagScope> {
        let last = self.last.try_lock()?;
        last.as_ref()
            .filter(|checked| checked.consist_of(values))
            .map(|checked| checked.scope.clone_unentered())
    }

    fn store_last(&self, checked: CheckedValues) {
        let Some(mut last) = self.last.try_lock() else { return };
        let replaced = last.replace(checked);
        // Dropping objects may run Python code, which may call this function.
        drop(last);
        drop(replaced);
    }
}

/// Returns whether the value is immutable: an exact instance of an immutable type, because a subclass may change its
/// value.
fn is_immutable(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyString>()
}

/// A context manager and decorator that freezes flags on all threads, as `backends.frozen` returns it.
#[pyclass(frozen, module = "interlock.backends")]
#[derive(Default)]
pub(super) struct FreezeScope(backends::FreezeScope);

#[pymethods]
impl FreezeScope {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __enter__(&self, py: Python<'_>) {
        self.0.enter(call_site::current(py));
    }

    #[pyo3(signature = (*_arguments))]
    fn __exit__(&self, py: Python<'_>, _arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
        if self.0.exit() { Ok(()) } else { scope_debug::warn_not_open(py, "frozen") }
    }

    fn __repr__(&self) -> &'static str {
        "FreezeScope()"
    }

    /// A copy is a new scope that is not open.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Reduced<'py, Bound<'py, PyTuple>> {
        (slf.get_type(), PyTuple::empty(slf.py()))
    }

    #[pyo3(signature = (function, /))]
    fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        decorated(slf.as_any(), function)
    }
}
