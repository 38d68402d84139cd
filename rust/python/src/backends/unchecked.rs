//! Libraries that have registered flags and whose environment variables have not been checked since.
//!
//! A variable may be that of a flag which the library registers next, so the check waits for the first use of a flag.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

/// Set while `interlock.backends._register` has libraries to check. It publishes nothing, so the order is relaxed.
static WAITING: AtomicBool = AtomicBool::new(false);

/// Whether a library waits for the check.
#[inline]
pub(super) fn is_waiting() -> bool {
    WAITING.load(Ordering::Relaxed)
}

/// Checks the libraries that wait. Raises where warnings are errors.
#[cold]
pub(super) fn check(py: Python<'_>) -> PyResult<()> {
    WAITING.store(false, Ordering::Relaxed);
    // No frame of Python's stands between the check and the use of the flag, so the warning names the line of the use.
    py.import("interlock.backends._register")?.call_method1("check_variables", (2,))?;
    Ok(())
}

/// Has the next use of a flag handle check the variables.
#[pyfunction]
pub(super) fn check_on_next_use() {
    WAITING.store(true, Ordering::Relaxed);
}
