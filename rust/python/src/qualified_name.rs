//! The names of functions, which identify them after `importlib.reload`.

use pyo3::prelude::*;

/// Returns the module and the qualified name of a function, a method or a class; `None` for other objects.
pub(crate) fn qualified_name(object: &Bound<'_, PyAny>) -> Option<String> {
    let text = |name: &str| object.getattr(name).ok()?.extract::<String>().ok();
    Some(format!("{}.{}", text("__module__")?, text("__qualname__")?))
}
