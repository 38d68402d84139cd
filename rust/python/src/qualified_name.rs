//! The names of functions, which identify them after `importlib.reload`.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Returns the module and the qualified name of a function, a method or a class; `None` for other objects.
pub(crate) fn qualified_name(object: &Bound<'_, PyAny>) -> Option<String> {
    let text = |name: &str| object.getattr(name).ok()?.extract::<String>().ok();
    Some(format!("{}.{}", text("__module__")?, text("__qualname__")?))
}

/// Returns the qualified name of a function, or of the class of another callable.
pub(crate) fn callable_name(function: &Bound<'_, PyAny>) -> PyResult<String> {
    let name = match function.getattr("__qualname__") {
        Ok(name) => name.cast_into::<PyString>().ok(),
        // A callable needs no name, but interrupts propagate.
        Err(error) if error.is_instance_of::<PyException>(function.py()) => None,
        Err(interrupt) => return Err(interrupt),
    };
    Ok(name.map_or_else(|| function.get_type().name(), Ok)?.to_string_lossy().into_owned())
}
