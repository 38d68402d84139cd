//! Ensures that a process has one copy of the state, in the main interpreter.

use interlock_core::base::duplicate_instances::{self, Copies, LoadedCopy};
use interlock_core::base::sync::RelaxedBool;
use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Whether this copy has been imported. Copies that were refused since then do not matter.
static IS_IMPORTED: RelaxedBool = RelaxedBool::new(false);

const NAME: &str = "interlock._core";

/// Raises `ImportError` in a sub-interpreter and if the process has a second copy of the state: statics and
/// thread-locals would exist twice and contradict each other. Returns the file that contains this copy.
pub(crate) fn ensure_single_instance(py: Python<'_>) -> PyResult<String> {
    // SAFETY: the interpreter is attached, so it exists.
    let interpreter = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if interpreter != 0 {
        return Err(PyImportError::new_err(
            "interlock keeps its state once per process and can't be imported in a sub-interpreter; \
             import it in the main interpreter",
        ));
    }
    let Copies { this, others } = duplicate_instances::find();
    if let (Some(this), [other, ..], false) = (&this, others.as_slice(), IS_IMPORTED.get()) {
        return Err(refusal(py, this, other)?);
    }
    IS_IMPORTED.set(true);
    // This copy is not found on systems whose loader is not queried.
    Ok(this.map_or_else(|| NAME.into(), |this| this.file.to_string_lossy().into_owned()))
}

fn refusal(py: Python<'_>, this: &LoadedCopy, other: &LoadedCopy) -> PyResult<PyErr> {
    let library = other.file.display();
    let hint = if other.is_program {
        "register the program's copy with pyo3::append_to_inittab!(_core) before Python is initialized"
            .to_owned()
    } else if other.file.file_name() == this.file.file_name() {
        "remove one of the files, or import interlock from one folder only".to_owned()
    } else {
        format!("build {library} with interlock-capi instead of the crate interlock")
    };
    let message = format!(
        "interlock keeps its state once per process, and this process has two copies of it: {other} and {this}; {hint}"
    );
    let details = PyDict::new(py);
    details.set_item("name", NAME)?;
    details.set_item("path", this.file.as_os_str())?;
    let error = py.get_type::<PyImportError>().call((message,), Some(&details))?;
    Ok(PyErr::from_value(error))
}
