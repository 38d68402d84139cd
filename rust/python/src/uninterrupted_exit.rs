//! The exit of context managers that are written in Python.

use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::detach::call_method;

/// The base class of context managers that an interrupt, such as `KeyboardInterrupt`, must not leave open: `__exit__`
/// calls `_exit` with an empty list, and again with the same list if an interrupt ended the call.
///
/// CPython runs signal handlers before the first instruction of a function in Python, so a function in Python cannot do
/// this itself.
#[pyclass(frozen, subclass, module = "interlock._core.state")]
pub(crate) struct UninterruptedExit;

#[pymethods]
impl UninterruptedExit {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        UninterruptedExit
    }

    #[pyo3(signature = (*_error), text_signature = "($self, *args)")]
    fn __exit__(slf: &Bound<'_, Self>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        let py = slf.py();
        let pending = py.check_signals();
        let scope = PyList::empty(py);
        let exit = || call_method(slf.as_any(), intern!(py, "_exit"), (&scope,)).map(drop);
        let exited = exit();
        if exited.as_ref().is_err_and(|error| !error.is_instance_of::<PyException>(py)) {
            // The interrupt is reported, and not what it may have caused.
            let _ = exit();
        }
        pending.and(exited)
    }
}

/// The base class of those that begin when they are created, so that an interrupt of `__enter__` would leave them open.
#[pyclass(frozen, subclass, extends = UninterruptedExit, module = "interlock._core.state")]
pub(crate) struct BegunAtCreation;

#[pymethods]
impl BegunAtCreation {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        PyClassInitializer::from(UninterruptedExit).add_subclass(BegunAtCreation)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }
}
