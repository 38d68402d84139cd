//! Context managers that enter several scopes.

use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::type_name;
use crate::scope_debug;

/// The base class of context managers that enter other ones together, those of the attribute `_scopes`.
///
/// It is native, because CPython runs signal handlers between two calls of a function in Python.
#[pyclass(frozen, subclass, module = "interlock._core.state")]
pub(crate) struct ScopeGroup {
    /// The number of enters without an exit: an exit without an enter warns once, and not once for each scope.
    open: AtomicUsize,
}

#[pymethods]
impl ScopeGroup {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        ScopeGroup { open: AtomicUsize::new(0) }
    }

    /// Enter the scopes, or none if one raises an exception.
    fn __enter__(slf: &Bound<'_, Self>) -> PyResult<()> {
        let mut entered = Vec::new();
        for scope in scopes(slf)?.iter() {
            match scope.call_method0("__enter__") {
                Ok(_) => entered.push(scope),
                Err(error) => {
                    // The first error is reported, and not what it may have caused.
                    let _ = exit_all(entered);
                    return Err(error);
                }
            }
        }
        slf.get().open.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Exit the scopes in the reverse order, also after one that raises, and raise the first exception.
    #[pyo3(signature = (*_error))]
    fn __exit__(slf: &Bound<'_, Self>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        let closed = |open: usize| open.checked_sub(1);
        if slf.get().open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, closed).is_err() {
            return scope_debug::warn_not_open(slf.py(), &type_name(slf));
        }
        exit_all(scopes(slf)?.iter().collect())
    }
}

fn scopes<'py>(group: &Bound<'py, ScopeGroup>) -> PyResult<Bound<'py, PyTuple>> {
    Ok(group.getattr("_scopes")?.cast_into()?)
}

fn exit_all(entered: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
    let exit = |scope: Bound<'_, PyAny>| {
        let py = scope.py();
        scope.call_method1("__exit__", (py.None(), py.None(), py.None())).map(drop)
    };
    entered.into_iter().rev().map(exit).fold(Ok(()), Result::and)
}
