//! Scopes of flags and of the freeze, as context managers that are decorators too.

use interlock::backends::{self, Purpose};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::convert::named_values;
use crate::autograd::decorated;
use crate::errors::IntoPython;
use crate::site;

/// Flags that hold for this thread while the scope is open; also a decorator.
#[pyclass(frozen, module = "interlock._core.backends")]
pub(super) struct FlagScope(backends::FlagScope);

#[pymethods]
impl FlagScope {
    /// `values` maps dotted names to values; all are checked now, nothing is in force yet.
    /// `whole_module` says that they are the arguments of a module's own `flags(...)`.
    #[new]
    #[pyo3(signature = (values, *, whole_module = false))]
    fn new(values: &Bound<'_, PyDict>, whole_module: bool) -> PyResult<Self> {
        let py = values.py();
        let purpose = if whole_module { Purpose::WholeModule } else { Purpose::Named };
        let scope = backends::FlagScope::new(&named_values(values)?, purpose, site::if_traced(py));
        Ok(FlagScope(scope.into_python(py)?))
    }

    fn __enter__(&self) {
        self.0.enter();
    }

    fn __exit__(&self, _kind: &Bound<'_, PyAny>, _error: &Bound<'_, PyAny>, _traceback: &Bound<'_, PyAny>) {
        self.0.leave();
    }

    #[pyo3(signature = (function, /))]
    fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        decorated(slf.as_any(), function)
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
