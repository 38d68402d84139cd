//! Whole numbers as arguments.

use interlock::Error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

use crate::errors::exception;

/// The number that was given as `name`, which takes what `allowed` says. True and False are ints to Python, not to
/// us; what says of itself that it is a whole number is one.
pub(super) fn integer<T: TryFrom<i128>>(
    given: &Bound<'_, PyAny>,
    name: &'static str,
    allowed: &str,
) -> PyResult<T> {
    let is_number = given.is_instance_of::<PyInt>() || given.hasattr("__index__")?;
    if given.is_instance_of::<PyBool>() || !is_number {
        let class = given.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{name} takes an int, got a value of type {class}")));
    }
    let number = given.call_method0("__index__")?;
    let fits = number.extract::<i128>().ok().and_then(|number| T::try_from(number).ok());
    fits.ok_or_else(|| {
        let error = Error::Argument { name, given: number.to_string(), allowed: allowed.to_owned() };
        exception(given.py(), &error)
    })
}

/// The same where none may be given.
pub(super) fn optional<T: TryFrom<i128>>(
    given: Option<&Bound<'_, PyAny>>,
    name: &'static str,
    allowed: &str,
) -> PyResult<Option<T>> {
    given.map(|given| integer(given, name, allowed)).transpose()
}
