//! Warnings of operations: collected on the thread while it may be detached, and issued when the operation returns.

use std::cell::{Cell, RefCell};
use std::ffi::CString;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

thread_local! {
    static PENDING: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static HAS_PENDING: Cell<bool> = const { Cell::new(false) };
}

/// Makes operations report their warnings to the interpreter.
pub(super) fn install() {
    interlock_tensor::set_warning_handler(|message| {
        // A thread that exits loses the warning.
        let _ = PENDING.try_with(|pending| pending.borrow_mut().push(message.to_owned()));
        let _ = HAS_PENDING.try_with(|has| has.set(true));
    });
}

/// Issues the warnings of operations of this thread. Raises if a filter makes one an exception.
pub(super) fn issue(py: Python<'_>) -> PyResult<()> {
    if !HAS_PENDING.try_with(|has| has.replace(false)).unwrap_or(false) {
        return Ok(());
    }
    // Filters run code of the program, which may call operations.
    for message in PENDING.with(RefCell::take) {
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(message)?, 1)?;
    }
    Ok(())
}
