//! Errors of the tensor runtime as exceptions.

use interlock_tensor::{Error, Result, Tensor as CoreTensor};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use super::Tensor;
use crate::errors::raised;

/// The exception for an error.
pub(super) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Shapes { .. } | Error::Shape { .. } | Error::TooLarge { .. } => {
            raised(py, "ShapeError", message)
        }
        Error::DType { .. } | Error::ResultType { .. } | Error::AssignedType { .. } => {
            raised(py, "DTypeError", message)
        }
        Error::OutOfBounds { .. } => raised(py, "ArgumentError", message),
        Error::GraphFreed { .. } => raised(py, "GraphFreedError", message),
        Error::Dimension { .. } | Error::OutOfRange { .. } | Error::Indexing { .. } => {
            PyIndexError::new_err(message)
        }
        Error::Value { op: "slice", .. } => PyValueError::new_err(message),
        Error::Core(error) => crate::errors::exception(py, error),
        _ => PyRuntimeError::new_err(message),
    }
}

/// Turns the runtime's results into Python's.
pub(super) trait IntoTensor<T> {
    fn into_tensor(self, py: Python<'_>) -> PyResult<T>;
}

impl IntoTensor<Tensor> for Result<CoreTensor> {
    fn into_tensor(self, py: Python<'_>) -> PyResult<Tensor> {
        self.map(Tensor).map_err(|error| exception(py, &error))
    }
}

/// As [`IntoTensor`], for results that are no tensors.
pub(super) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}
