//! Issues `ScopeWarning`.

use interlock::backends::SourceLocation;
use pyo3::prelude::*;

/// Warns at a line of the program.
pub(crate) fn warn(py: Python<'_>, message: &str, at: &SourceLocation) -> PyResult<()> {
    let class = py.import("interlock.errors")?.getattr("ScopeWarning")?;
    let (file, line) = match at {
        SourceLocation::Foreign { file, line } => (&**file, *line),
        SourceLocation::Rust(location) => (location.file(), location.line()),
    };
    py.import("warnings")?.call_method1("warn_explicit", (message, class, file, line))?;
    Ok(())
}
