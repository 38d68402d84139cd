//! Conversion of errors of the tensor runtime to Python exceptions.

use interlock_tensor::{Error, ErrorCause, ErrorKind};
use pyo3::exceptions::{PyIndexError, PyRecursionError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use super::program::{anomaly_exception, raised};
use crate::advice::in_python;
use crate::errors::{ToPyErr, new_exception};

impl ToPyErr for Error {
    fn to_pyerr(&self, py: Python<'_>) -> PyErr {
        match self.cause() {
            ErrorCause::Anomaly { node, stack, error } => {
                let original = with_message(py, error, in_python(self.to_string()));
                anomaly_exception(py, node, stack.as_deref(), original)
            }
            _ => with_message(py, self, in_python(self.to_string())),
        }
    }
}

/// Returns the exception for an error, with a message that may say more than the error.
fn with_message(py: Python<'_>, error: &Error, message: String) -> PyErr {
    match error.cause() {
        ErrorCause::Foreign(error) => {
            return raised(py, error).unwrap_or_else(|| PyRuntimeError::new_err(message));
        }
        ErrorCause::Accelerator(error) => return error.to_pyerr(py),
        _ => {}
    }
    match error.kind() {
        Some(ErrorKind::Shape | ErrorKind::ViewNeedsCopy) => new_exception(py, "ShapeError", message),
        Some(ErrorKind::DType) => new_exception(py, "DTypeError", message),
        Some(ErrorKind::Value) => new_exception(py, "ArgumentError", message),
        Some(ErrorKind::LinAlg) => new_exception(py, "LinAlgError", message),
        Some(ErrorKind::Capture) => new_exception(py, "GraphError", message),
        Some(ErrorKind::GraphFreed) => new_exception(py, "GraphFreedError", message),
        Some(ErrorKind::Type) => PyTypeError::new_err(message),
        Some(ErrorKind::Index) => PyIndexError::new_err(message),
        Some(ErrorKind::Nesting) => PyRecursionError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}
