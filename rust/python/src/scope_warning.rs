//! Issues `ScopeWarning`.

use interlock::backends::SourceLocation;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyDict};

use crate::detach::call_with_keywords;
use crate::shutdown::is_finalizing;

/// For each file the dict in which `warnings` records what it has shown, so that a warning is shown once for each line. The
/// module of the file, which has such a dict, may not be known.
static REGISTRIES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// Warns at a line of the program. While the interpreter is finalized nothing can be imported, so there is no warning.
pub(crate) fn warn(py: Python<'_>, message: &str, at: &SourceLocation) -> PyResult<()> {
    if is_finalizing() == Some(true) {
        return Ok(());
    }
    let class = py.import("interlock.errors")?.getattr("ScopeWarning")?;
    let (file, line) = file_and_line(at);
    let warn = py.import("warnings")?.getattr("warn_explicit")?;
    let registries = REGISTRIES.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    let registry = registries.call_method1("setdefault", (file, PyDict::new(py)))?;
    let keywords = [("registry", registry)].into_py_dict(py)?;
    let arguments = (message, class, file, line).into_pyobject(py)?;
    call_with_keywords(&warn, &arguments, Some(&keywords)).map(drop)
}

/// Returns the parts of a location.
pub(crate) fn file_and_line(at: &SourceLocation) -> (&str, u32) {
    match at {
        SourceLocation::Foreign { file, line } => (file, *line),
        SourceLocation::Rust(location) => (location.file(), location.line()),
    }
}
