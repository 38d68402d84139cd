//! The GIL of the interpreter, on which unsafe code relies (SAFETY.md, "Without a GIL").

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// Raises `ImportError` if the interpreter runs without a GIL. A free-threaded build enables it for a module that declares
/// that it uses the GIL, except under `PYTHON_GIL=0` and `-X gil=0`.
pub(crate) fn ensure_enabled(py: Python<'_>) -> PyResult<()> {
    // Since CPython 3.13, whose free-threaded build was the first one.
    let Some(is_enabled) = py.import("sys")?.getattr_opt("_is_gil_enabled")? else { return Ok(()) };
    if is_enabled.call0()?.is_truthy()? {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "interlock needs the GIL, which PYTHON_GIL=0 or -X gil=0 disables in this free-threaded build of Python; \
         remove the setting, or use a build with the GIL",
    ))
}
