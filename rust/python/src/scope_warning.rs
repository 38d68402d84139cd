//! Issues `ScopeWarning`.

use interlock::backends::SourceLocation;
use pyo3::prelude::*;

/// Warns at a line of the program.
pub(crate) fn warn(py: Python<'_>, message: &str, at: &SourceLocation) -> PyResult<()> {
    let class = py.import("interlock.errors")?.getattr("ScopeWarning")?;
    let (file, line) = file_and_line(at);
    py.import("warnings")?.call_method1("warn_explicit", (message, class, file, line))?;
    Ok(())
}

/// Returns the parts of a location.
pub(crate) fn file_and_line(at: &SourceLocation) -> (&str, u32) {
    match at {
        SourceLocation::Foreign { file, line } => (file, *line),
        SourceLocation::Rust(location) => (location.file(), location.line()),
    }
}
