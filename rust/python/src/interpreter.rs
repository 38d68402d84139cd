//! Which interpreters may load the module, and that a process has it once.

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

/// Lives once in each copy of this library, so its address tells copies apart.
static COPY: u8 = 0;

/// The attribute of `sys` under which the first copy leaves its address.
const MARK: &str = "__interlock_core__";

/// Statics and thread-locals belong to one copy in one interpreter; two would contradict each other.
pub(crate) fn refuse_a_second_copy(py: Python<'_>) -> PyResult<()> {
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
    match sys.getattr(MARK) {
        Ok(mark) if mark.extract::<usize>().is_ok_and(|there| there == here) => Ok(()),
        Ok(_) => Err(PyImportError::new_err(
            "a second copy of interlock's extension module was to be loaded into this process; the \
             program that embeds Python has registered one already, or it is installed twice",
        )),
        Err(_) => sys.setattr(MARK, here),
    }
}
