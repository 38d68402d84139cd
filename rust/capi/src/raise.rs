//! Errors as Python exceptions.

use crate::Error;
use crate::import::try_api;
use crate::python::{is_attached, raise_import_error};

impl Error {
    /// Raises the Python exception: the class of `interlock.errors` for the code, with the text. If a signal handler or
    /// a Python callback caused the error, raises its exception. Has no effect unless this thread is attached.
    ///
    /// With PyO3, return `PyErr::fetch(py)` afterwards.
    pub fn raise(&self) {
        if !is_attached() {
            return;
        }
        match try_api() {
            Some(api) => {
                let error = self.to_raw();
                // SAFETY: the error is ours, and the thread is attached.
                unsafe { (api.error_raise)(&raw const error) };
            }
            None => raise_import_error(&self.to_string()),
        }
    }
}
