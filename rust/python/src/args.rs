//! Extraction of arguments, with errors that name the function and the argument.

use std::borrow::Cow;

use interlock::accelerator::Error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};

use crate::deferred_drop::DeferredDrop;
use crate::errors::{exception, new_type_error, shown};
use crate::py_int;

/// Extracts a function. `what` names the function that was called and its argument.
pub(crate) fn extract_callable(given: &Bound<'_, PyAny>, what: &str) -> PyResult<DeferredDrop> {
    if given.is_callable() {
        Ok(DeferredDrop::new(given.clone()))
    } else {
        Err(new_type_error(what, "callable", given))
    }
}

/// Extracts an int, or an object with `__index__`, as the argument `name`. `allowed` describes the accepted values for
/// the error. A bool is not accepted, although it is an int in Python.
pub(crate) fn extract_int<T: TryFrom<i128>>(
    given: &Bound<'_, PyAny>,
    name: impl Into<Cow<'static, str>>,
    allowed: &str,
) -> PyResult<T> {
    let name = name.into();
    if given.is_instance_of::<PyBool>() {
        return Err(new_type_error(&name, "an int", given));
    }
    let number = py_int::extract_index(&name, "an int", given)?;
    let fits = wide(&number).and_then(|value| T::try_from(value).ok());
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

/// Extracts a tuple of two ints as the argument `name`, which must be `wanted`.
pub(crate) fn extract_int_pair<T: TryFrom<i128>>(
    given: &Bound<'_, PyAny>,
    name: &str,
    wanted: &str,
) -> PyResult<(T, T)> {
    let Ok(pair) = given.cast::<PyTuple>() else { return Err(new_type_error(name, wanted, given)) };
    if let Ok((first, second)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()
        && let (Some(first), Some(second)) = (try_int(&first)?, try_int(&second)?)
    {
        return Ok((first, second));
    }
    Err(PyTypeError::new_err(format!("{name} must be {wanted}, got {}", shown(given)?)))
}

/// Returns the value of an int; `None` for a bool, another object, and an int that does not fit.
fn try_int<T: TryFrom<i128>>(given: &Bound<'_, PyAny>) -> PyResult<Option<T>> {
    let number = if given.is_instance_of::<PyBool>() { None } else { py_int::index(given)? };
    let value = number.and_then(|number| wide(&number));
    Ok(value.and_then(|value| T::try_from(value).ok()))
}

/// Returns the value, or `None` if neither `i64` nor `u64` holds it.
fn wide(number: &Bound<'_, PyInt>) -> Option<i128> {
    py_int::int64(number).map(i128::from).or_else(|| py_int::uint64(number).map(i128::from))
}

/// Extracts a str as the argument `name`. Lone surrogates are replaced, so that no known name equals it.
pub(crate) fn extract_str<'a>(given: &'a Bound<'_, PyAny>, name: &str) -> PyResult<Cow<'a, str>> {
    match given.cast::<PyString>() {
        Ok(text) => Ok(text.to_string_lossy()),
        Err(_) => Err(new_type_error(name, "a str", given)),
    }
}

/// Extracts a dict as the argument `name`.
pub(crate) fn extract_dict<'a, 'py>(
    given: &'a Bound<'py, PyAny>,
    name: &str,
) -> PyResult<&'a Bound<'py, PyDict>> {
    given.cast().map_err(|_| new_type_error(name, "a dict", given))
}

/// Extracts a list as the argument `name`. Not any sequence: its length may exceed the memory.
pub(crate) fn extract_list<'a, 'py>(
    given: &'a Bound<'py, PyAny>,
    name: &str,
) -> PyResult<&'a Bound<'py, PyList>> {
    given.cast().map_err(|_| new_type_error(name, "a list", given))
}
