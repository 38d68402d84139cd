//! Conversion of errors of the tensor runtime to Python exceptions.

use interlock_tensor::Error;
use pyo3::exceptions::{PyIndexError, PyRecursionError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use super::program::{anomaly_exception, raised};
use crate::advice::in_python;
use crate::errors::{ToPyErr, new_exception};

impl ToPyErr for Error {
    fn to_pyerr(&self, py: Python<'_>) -> PyErr {
        match self {
            Error::Anomaly { node, stack, error } => {
                let original = with_message(py, error, in_python(self.to_string()));
                anomaly_exception(py, node, stack.as_deref(), original)
            }
            error => with_message(py, error, in_python(error.to_string())),
        }
    }
}

/// Returns the exception for an error, with a message that may say more than the error.
fn with_message(py: Python<'_>, error: &Error, message: String) -> PyErr {
    match error {
        Error::Foreign(error) => raised(py, error).unwrap_or_else(|| PyRuntimeError::new_err(message)),
        Error::Broadcast { .. }
        | Error::Shapes { .. }
        | Error::Shape { .. }
        | Error::ViewNeedsCopy { .. }
        | Error::GradientShape { .. }
        | Error::TooLarge { .. }
        | Error::TooManyDimensions { .. } => new_exception(py, "ShapeError", message),
        Error::DTypes { .. }
        | Error::DType { .. }
        | Error::FactorType { .. }
        | Error::ResultType { .. }
        | Error::AssignedType { .. } => new_exception(py, "DTypeError", message),
        Error::OutOfBounds { .. } | Error::PackHook { .. } | Error::Value { .. } => {
            new_exception(py, "ArgumentError", message)
        }
        Error::LinAlg { .. } => new_exception(py, "LinAlgError", message),
        Error::Arguments { .. } => PyTypeError::new_err(message),
        Error::Capturing { .. } | Error::StaleStream { .. } => new_exception(py, "GraphError", message),
        Error::GraphFreed { .. } => new_exception(py, "GraphFreedError", message),
        Error::Dimension { .. }
        | Error::Index { .. }
        | Error::Position { .. }
        | Error::Class { .. }
        | Error::NoDimensions { .. }
        | Error::Indexing { .. } => PyIndexError::new_err(message),
        Error::Type { .. } => PyTypeError::new_err(message),
        Error::Accelerator(error) => error.to_pyerr(py),
        Error::NestedPasses { .. } | Error::NoStackForPass { .. } => PyRecursionError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}
