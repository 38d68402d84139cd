//! Scopes of flags and of the freeze, as context managers that are decorators too.

use interlock::backends::{self, Attribute, FlagScopeBuilder, Purpose};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::convert::{given, named_values};
use crate::autograd::decorated;
use crate::errors::IntoPython;
use crate::{site, trace};

/// Flags that hold for this thread while the scope is open; also a decorator.
#[pyclass(frozen, module = "interlock._core.backends")]
pub(super) struct FlagScope(backends::FlagScope);

#[pymethods]
impl FlagScope {
    /// `values` maps dotted names to values; all are checked now, nothing is in force yet.
    #[new]
    #[pyo3(signature = (values, /))]
    fn new(values: &Bound<'_, PyDict>) -> PyResult<Self> {
        let py = values.py();
        let scope = backends::FlagScope::new(named_values(values)?, site::if_traced(py));
        Ok(FlagScope(scope.into_python(py)?))
    }

    fn __repr__(&self) -> String {
        let shown: Vec<String> =
            self.0.values().iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("FlagScope({})", shown.join(", "))
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        trace::enter(py, self.0.scope(), || self.0.enter())
    }

    fn __exit__(
        &self,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        trace::leave(kind.py(), self.0.scope())
    }

    #[pyo3(signature = (function, /))]
    fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // Calls have a scope of their own: a leave of this one must find the thread that entered it.
        let twin = Bound::new(slf.py(), FlagScope(slf.get().0.twin()))?;
        decorated(twin.as_any(), function)
    }
}

/// The flags that a module's own `flags(...)` decides, in the order of its arguments.
#[pyclass(frozen, module = "interlock._core.backends")]
pub(super) struct FlagArguments(Vec<&'static Attribute>);

#[pymethods]
impl FlagArguments {
    #[new]
    #[pyo3(signature = (*names))]
    fn new(py: Python<'_>, names: Vec<String>) -> PyResult<Self> {
        let attributes: interlock::Result<_> = names.iter().map(|name| backends::find(name)).collect();
        Ok(FlagArguments(attributes.into_python(py)?))
    }

    /// A scope of these values, one for each flag.
    #[pyo3(signature = (*values))]
    fn scope(&self, values: &Bound<'_, PyTuple>) -> PyResult<FlagScope> {
        let py = values.py();
        if values.len() != self.0.len() {
            let message = format!("scope() takes {} values, got {}", self.0.len(), values.len());
            return Err(PyTypeError::new_err(message));
        }
        let mut scope = FlagScopeBuilder::new(Purpose::WholeModule, self.0.len());
        for (attribute, value) in self.0.iter().zip(values) {
            scope.add(attribute, &given(&value)?).into_python(py)?;
        }
        Ok(FlagScope(scope.build(site::if_traced(py))))
    }
}

/// No flag is written while the scope is open, by any thread; also a decorator.
#[pyclass(frozen, module = "interlock._core.backends")]
#[derive(Default)]
pub(super) struct FreezeScope(backends::FreezeScope);

#[pymethods]
impl FreezeScope {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __enter__(&self, py: Python<'_>) {
        self.0.enter(site::of_caller(py));
    }

    #[pyo3(signature = (*_arguments))]
    fn __exit__(&self, _arguments: &Bound<'_, PyTuple>) {
        self.0.leave();
    }

    #[pyo3(signature = (function, /))]
    fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        decorated(slf.as_any(), function)
    }
}
