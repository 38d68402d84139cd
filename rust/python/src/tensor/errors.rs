//! Conversion of errors of the tensor runtime to Python exceptions.

use interlock_tensor::Error;
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;

use crate::errors::{ToPyErr, new_exception};

impl ToPyErr for Error {
    fn to_pyerr(&self, py: Python<'_>) -> PyErr {
        let message = self.to_string();
        match self {
            Error::Broadcast { .. }
            | Error::Shapes { .. }
            | Error::Shape { .. }
            | Error::ViewNeedsCopy { .. }
            | Error::TooLarge { .. }
            | Error::TooManyDimensions { .. } => new_exception(py, "ShapeError", message),
            Error::DTypes { .. }
            | Error::DType { .. }
            | Error::AlphaType { .. }
            | Error::ResultType { .. }
            | Error::AssignedType { .. } => new_exception(py, "DTypeError", message),
            Error::OutOfBounds { .. } | Error::Value { .. } => new_exception(py, "ArgumentError", message),
            Error::GraphFreed { .. } => new_exception(py, "GraphFreedError", message),
            Error::Dimension { .. }
            | Error::Index { .. }
            | Error::Class { .. }
            | Error::NoDimensions
            | Error::Indexing { .. } => PyIndexError::new_err(message),
            Error::Accelerator(error) => error.to_pyerr(py),
            _ => PyRuntimeError::new_err(message),
        }
    }
}
