//! The line of the Python program that called interlock.

use std::sync::Arc;

use interlock::backends::SourceLocation;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Modules whose functions call others on behalf of their callers.
pub(crate) const CALL_FOR_CALLERS: [&str; 6] =
    ["contextlib", "functools", "unittest.mock", "mock.mock", "_pytest.monkeypatch", "pytest_mock.plugin"];

/// Returns the current line of the innermost frame of the program, or a placeholder if no Python code runs.
pub(crate) fn current(py: Python<'_>) -> SourceLocation {
    user_frame(py)
        .and_then(|frame| site_of(&frame).ok())
        .unwrap_or_else(|| SourceLocation::Foreign { file: Arc::from("<no Python program>"), line: 0 })
}

/// Like [`current`], but `None` unless writes are traced, because walking frames is slow.
pub(crate) fn current_if_tracing(py: Python<'_>) -> Option<SourceLocation> {
    interlock::backends::writes_are_traced().then(|| current(py))
}

/// Returns the innermost frame of the program.
pub(crate) fn user_frame(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    let mut frames = std::iter::successors(innermost_frame(py), caller_of);
    frames.find(|frame| !runs_for_caller(frame))
}

/// Returns the running frame.
pub(crate) fn innermost_frame(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    // SAFETY: PyEval_GetFrame returns a borrowed reference, or null where no frame runs.
    unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) }
}

/// Returns the frame that called this one.
pub(crate) fn caller_of<'py>(frame: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    frame.getattr("f_back").ok().filter(|back| !back.is_none())
}

/// Returns the name of the module whose code the frame runs.
pub(crate) fn module_of(frame: &Bound<'_, PyAny>) -> Option<String> {
    frame.getattr("f_globals").ok()?.get_item("__name__").ok()?.extract().ok()
}

fn site_of(frame: &Bound<'_, PyAny>) -> PyResult<SourceLocation> {
    let file = frame.getattr("f_code")?.getattr("co_filename")?;
    // The path of a folder may be no UTF-8.
    let file = file.cast::<PyString>()?.to_string_lossy();
    Ok(SourceLocation::Foreign { file: file.into(), line: frame.getattr("f_lineno")?.extract()? })
}

/// Returns whether a frame runs code of interlock, or of another module on behalf of its caller.
pub(crate) fn runs_for_caller(frame: &Bound<'_, PyAny>) -> bool {
    let is = |name: &str| {
        name == "interlock" || name.starts_with("interlock.") || CALL_FOR_CALLERS.contains(&name)
    };
    module_of(frame).is_some_and(|name| is(&name))
}
