//! Exceptions of Python functions that cause errors of the driver.

use pyo3::prelude::*;

/// What owns the exception of a function.
pub(crate) trait OwnsException: Send + Sync {
    /// Returns the exception, unless it was released or belongs to another process.
    fn exception(&self, py: Python<'_>) -> Option<PyErr>;
}

/// The cause of an error that a Python function raised.
pub(crate) struct PythonCause(pub Box<dyn OwnsException>);
