//! Vendor libraries: whether they are there, which version they are, and how much they tell.

use interlock::Error;
use interlock::libraries::{self, Library, VerboseLibrary};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyType};

use super::convert::shown;
use crate::detached::detached;
use crate::errors::{IntoPython, exception};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(library_is_available, module)?)?;
    module.add_function(wrap_pyfunction!(library_version, module)?)?;
    module.add_class::<VerboseScope>()
}

/// Whether the library of this module of `backends` is loaded or would be found; looking does not load it.
#[pyfunction]
fn library_is_available(py: Python<'_>, module: &str) -> PyResult<bool> {
    let library = named(module)?;
    Ok(detached(py, || library.is_available()))
}

/// What the library of this module of `backends` answers when it is asked for its version, or None. The
/// first call loads it.
#[pyfunction]
fn library_version(py: Python<'_>, module: &str) -> PyResult<Option<u64>> {
    let library = named(module)?;
    Ok(detached(py, || library.version()))
}

fn named(module: &str) -> PyResult<&'static Library> {
    libraries::find(module).ok_or_else(|| no_such_library(module))
}

fn no_such_library(module: &str) -> PyErr {
    PyValueError::new_err(format!("backends.{module} speaks of no library that can be asked this"))
}

/// Has the library of a module of `backends` report its calls between `enter` and `leave`.
#[pyclass(frozen, module = "interlock._core.backends")]
struct VerboseScope(libraries::VerboseScope);

#[pymethods]
impl VerboseScope {
    #[new]
    #[pyo3(signature = (module, level, /))]
    fn new(module: &str, level: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = level.py();
        let library = VerboseLibrary::of_module(module).ok_or_else(|| no_such_library(module))?;
        let (name, allowed) = (library.operation().to_owned(), library.allowed());
        // A bool is an int here as in PyTorch: what this argument says is whether.
        let Ok(number) = level.cast::<PyInt>() else {
            return Err(exception(py, &Error::FlagType { name, given: shown(level)?, allowed }));
        };
        match number.extract() {
            Ok(level) => libraries::VerboseScope::new(library, level).into_python(py).map(VerboseScope),
            // It does not fit into 64 bits.
            Err(_) => Err(exception(py, &Error::FlagValue { name, given: shown(level)?, allowed })),
        }
    }

    /// Sets the level; level 0 does nothing. The first call loads the library.
    fn enter(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.0.enter()).into_python(py)
    }

    /// Ends what this scope began last.
    fn leave(&self, py: Python<'_>) {
        detached(py, || self.0.leave());
    }

    /// A copy is a scope of its own that is not open.
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (&'static str, i32)) {
        (py.get_type::<Self>(), (self.0.library().module(), self.0.level()))
    }
}
