//! The header that each Python object begins with.

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

/// The first field of an object. In the stable ABI of free-threaded builds (abi3t) `ffi::PyObject` has no fields and no size,
/// because a build with the GIL has another header. Then there is room for the header of free-threaded builds, the longer one.
#[repr(C)]
pub(crate) struct Header {
    known: ffi::PyObject,
    room: [usize; ROOM],
}

const ROOM: usize = if size_of::<ffi::PyObject>() == 0 { 4 } else { 0 };

/// Fails if the header of the interpreter is longer than a [`Header`].
pub(super) fn ensure_room(py: Python<'_>) -> PyResult<()> {
    let needed: usize = py.get_type::<PyAny>().getattr("__basicsize__")?.extract()?;
    if needed <= size_of::<Header>() {
        return Ok(());
    }
    Err(PyImportError::new_err(format!(
        "interlock was built for objects with a header of {} bytes, and this interpreter's has {needed}",
        size_of::<Header>()
    )))
}
