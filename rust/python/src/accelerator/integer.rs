//! Whole numbers as arguments.

use interlock::accelerator::Error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::errors::exception;
use crate::py_int;

/// The number that was given as `name`, which takes what `allowed` says. True and False are ints to Python, not to
/// us; what says of itself that it is a whole number is one.
pub(super) fn integer<T: TryFrom<i128>>(
    given: &Bound<'_, PyAny>,
    name: &'static str,
    allowed: &str,
) -> PyResult<T> {
    let number = if given.is_instance_of::<PyBool>() { None } else { py_int::index(given)? };
    let Some(number) = number else {
        let class = given.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{name} takes an int, got a value of type {class}")));
    };
    let value = py_int::int64(&number).map(i128::from).or_else(|| py_int::uint64(&number).map(i128::from));
    let fits = value.and_then(|value| T::try_from(value).ok());
    fits.ok_or_else(|| {
        let error = Error::Argument { name, given: py_int::text(&number), allowed: allowed.to_owned() };
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
