//! Exceptions in code that is compiled for each operation.

use pyo3::prelude::*;

/// A raised exception. It is one pointer: each `?` in the code of an operation would move the seven words of a `PyErr`.
pub(in crate::tensor) struct Raised(Box<PyErr>);

/// The result of a function that may raise, for the code of an operation.
pub(in crate::tensor) type Outcome<T> = Result<T, Raised>;

impl From<PyErr> for Raised {
    #[cold]
    fn from(error: PyErr) -> Self {
        Raised(Box::new(error))
    }
}

impl From<Raised> for PyErr {
    #[cold]
    fn from(raised: Raised) -> Self {
        *raised.0
    }
}
