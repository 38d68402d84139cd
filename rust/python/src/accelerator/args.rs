//! Extraction of int and str arguments.

use std::borrow::Cow;

use interlock::accelerator::Error;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use crate::errors::{exception, new_type_error};
use crate::py_int;

/// Extracts an int, or an object with `__index__`, as the argument `name`. `allowed` describes the accepted values for
/// the error. A bool is not accepted, although it is an int in Python.
pub(super) fn extract_int<T: TryFrom<i128>>(
    given: &Bound<'_, PyAny>,
    name: &'static str,
    allowed: &str,
) -> PyResult<T> {
    let number = if given.is_instance_of::<PyBool>() { None } else { py_int::index(given)? };
    let Some(number) = number else { return Err(new_type_error(name, "an int", given)) };
    let value = py_int::int64(&number).map(i128::from).or_else(|| py_int::uint64(&number).map(i128::from));
    let fits = value.and_then(|value| T::try_from(value).ok());
    fits.ok_or_else(|| {
        let error = Error::argument(name, py_int::text(&number), allowed);
        exception(given.py(), &error)
    })
}

/// Extracts an optional int like [`extract_int`].
pub(crate) fn extract_optional_int<T: TryFrom<i128>>(
    given: Option<&Bound<'_, PyAny>>,
    name: &'static str,
    allowed: &str,
) -> PyResult<Option<T>> {
    given.map(|given| extract_int(given, name, allowed)).transpose()
}

/// Extracts a str as the argument `name`.
pub(super) fn extract_str<'a>(given: &'a Bound<'_, PyAny>, name: &str) -> PyResult<Cow<'a, str>> {
    match given.cast::<PyString>() {
        Ok(text) => text.to_cow(),
        Err(_) => Err(new_type_error(name, "a str", given)),
    }
}
