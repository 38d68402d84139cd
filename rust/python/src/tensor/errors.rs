//! Conversion of errors of the tensor runtime to Python exceptions.

use interlock_tensor::Error;
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::{ToPyErr, new_exception};

impl ToPyErr for Error {
    fn to_pyerr(&self, py: Python<'_>) -> PyErr {
        let message = self.to_string();
        match self {
            Error::Shapes { .. } | Error::Shape { .. } | Error::TooLarge { .. } => {
                new_exception(py, "ShapeError", message)
            }
            Error::DType { .. } | Error::ResultType { .. } | Error::AssignedType { .. } => {
                new_exception(py, "DTypeError", message)
            }
            Error::OutOfBounds { .. } => new_exception(py, "ArgumentError", message),
            Error::GraphFreed { .. } => new_exception(py, "GraphFreedError", message),
            Error::Dimension { .. } | Error::OutOfRange { .. } | Error::Indexing { .. } => {
                PyIndexError::new_err(message)
            }
            Error::Value { op: "slice", .. } => PyValueError::new_err(message),
            Error::Accelerator(error) => error.to_pyerr(py),
            _ => PyRuntimeError::new_err(message),
        }
    }
}
