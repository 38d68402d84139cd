//! The names of functions, which identify them after `importlib.reload`.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Returns the module and the qualified name of a function, a method or a class; `None` for other objects.
pub(crate) fn qualified_name(object: &Bound<'_, PyAny>) -> Option<String> {
    let text = |name: &str| object.getattr(name).ok()?.extract::<String>().ok();
    Some(format!("{}.{}", text("__module__")?, text("__qualname__")?))
}

/// Returns the qualified name of a function, also of one in a `functools.partial`, or of the class of another callable.
pub(crate) fn callable_name(function: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut function = function.clone();
    loop {
        let name = match function.getattr("__qualname__") {
            Ok(name) => name.cast_into::<PyString>().ok(),
            // A callable needs no name, but interrupts propagate.
            Err(error) if error.is_instance_of::<PyException>(function.py()) => None,
            Err(interrupt) => return Err(interrupt),
        };
        if let Some(name) = name {
            return Ok(name.to_string_lossy().into_owned());
        }
        let partial = function.py().import("functools")?.getattr("partial")?;
        if !function.is_exact_instance(&partial) {
            return Ok(function.get_type().name()?.to_string_lossy().into_owned());
        }
        function = function.getattr("func")?;
    }
}
