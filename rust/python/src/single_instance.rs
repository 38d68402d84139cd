//! Ensures that a process loads the extension module once, in the main interpreter.

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

/// A static whose address identifies this copy of the library.
static COPY: u8 = 0;

/// The attribute of `sys` that stores the address of the first copy.
const SYS_ATTRIBUTE: &str = "__interlock_core__";

/// Raises `ImportError` in a sub-interpreter and in a second copy of the library: statics and thread-locals would exist
/// twice and contradict each other.
pub(crate) fn ensure_single_instance(py: Python<'_>) -> PyResult<()> {
    // SAFETY: the interpreter is attached, so it exists.
    let interpreter = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if interpreter != 0 {
        return Err(PyImportError::new_err(
            "interlock keeps its state once per process and can't be imported in a sub-interpreter; \
             import it in the main interpreter",
        ));
    }
    let sys = py.import("sys")?;
    let here = &raw const COPY as usize;
    match sys.getattr(SYS_ATTRIBUTE) {
        Ok(first) if first.extract::<usize>().is_ok_and(|address| address == here) => Ok(()),
        Ok(_) => Err(PyImportError::new_err(
            "a second copy of interlock's extension module was to be loaded into this process; the \
             program that embeds Python has registered one already, or it is installed twice",
        )),
        Err(_) => sys.setattr(SYS_ATTRIBUTE, here),
    }
}
