//! The line of the Python program that called.

use std::sync::Arc;

use interlock::backends::Site;
use pyo3::ffi;
use pyo3::prelude::*;

/// The innermost frame that is not interlock's own; unknown where no Python program runs.
pub(crate) fn of_caller(py: Python<'_>) -> Site {
    innermost_user_frame(py)
        .unwrap_or_else(|| Site::Foreign { file: Arc::from("<no Python program>"), line: 0 })
}

/// The same where writes are traced, else nothing: looking through frames costs.
pub(crate) fn if_traced(py: Python<'_>) -> Option<Site> {
    interlock::backends::writes_are_traced().then(|| of_caller(py))
}

fn innermost_user_frame(py: Python<'_>) -> Option<Site> {
    // SAFETY: PyEval_GetFrame returns a borrowed reference, or null where no frame runs.
    let frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) };
    let mut frame: Bound<'_, PyAny> = frame?;
    while is_ours(&frame) {
        frame = frame.getattr("f_back").ok().filter(|back| !back.is_none())?;
    }
    let file: String = frame.getattr("f_code").ok()?.getattr("co_filename").ok()?.extract().ok()?;
    let line = frame.getattr("f_lineno").ok()?.extract().ok()?;
    Some(Site::Foreign { file: file.into(), line })
}

fn is_ours(frame: &Bound<'_, PyAny>) -> bool {
    let name = frame.getattr("f_globals").and_then(|globals| globals.get_item("__name__"));
    let name = name.and_then(|name| name.extract::<String>());
    name.is_ok_and(|name| name == "interlock" || name.starts_with("interlock."))
}
