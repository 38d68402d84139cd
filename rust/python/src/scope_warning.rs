//! Issues `ScopeWarning`.

use interlock::backends::SourceLocation;
use pyo3::prelude::*;

use crate::detach::call_with;

/// Warns at a line of the program.
pub(crate) fn warn(py: Python<'_>, message: &str, at: &SourceLocation) -> PyResult<()> {
    let class = py.import("interlock.errors")?.getattr("ScopeWarning")?;
    let (file, line) = file_and_line(at);
    let warn = py.import("warnings")?.getattr("warn_explicit")?;
    call_with(&warn, (message, class, file, line)).map(drop)
}

/// Returns the parts of a location.
pub(crate) fn file_and_line(at: &SourceLocation) -> (&str, u32) {
    match at {
        SourceLocation::Foreign { file, line } => (file, *line),
        SourceLocation::Rust(location) => (location.file(), location.line()),
    }
}
