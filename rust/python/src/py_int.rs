//! Conversion of Python ints. No function calls a method that a subclass of `int` overrides. An exception that
//! `__index__` raises is returned unchanged.

use std::ffi::c_int;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyInt;

use crate::errors::new_type_error;

/// Returns the result of `__index__`, or `None` for an object whose class lacks the method. An int is returned as it
/// is.
pub(crate) fn index<'py>(given: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyInt>>> {
    if !has_index(given) {
        return Ok(None);
    }
    // SAFETY: the object is alive; the result is a new reference, or null with an exception set.
    let number = unsafe { Bound::from_owned_ptr_or_err(given.py(), ffi::PyNumber_Index(given.as_ptr())) }?;
    Ok(Some(number.cast_into()?))
}

/// Returns the result of `__index__` of the argument `what`, which must be `wanted`.
pub(crate) fn extract_index<'py>(
    what: &str,
    wanted: &str,
    given: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyInt>> {
    index_of_argument(given)?.ok_or_else(|| new_type_error(what, wanted, given))
}

/// Returns the result of `__index__`, or `None` for an object that has no value as an int. Exceptions propagate, except
/// those of tensors and arrays, which have `__dlpack__`: their messages name neither the function nor the argument.
pub(crate) fn index_of_argument<'py>(given: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyInt>>> {
    match index(given) {
        Err(_) if given.hasattr("__dlpack__")? => Ok(None),
        index => index,
    }
}

/// Returns whether the class of an object has `__index__`.
pub(crate) fn has_index(given: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object is alive, and this thread is attached to the interpreter.
    unsafe { ffi::PyIndex_Check(given.as_ptr()) != 0 }
}

/// Returns the value, or `None` if it does not fit into an `i64`.
pub(crate) fn int64(given: &Bound<'_, PyInt>) -> Option<i64> {
    let (value, overflow) = clamped(given);
    (!overflow).then_some(value)
}

/// Returns the value clamped to the range of `i64`, and whether it was out of range.
pub(crate) fn clamped(given: &Bound<'_, PyInt>) -> (i64, bool) {
    let mut overflow: c_int = 0;
    // SAFETY: the object is alive. For an int the function neither fails nor runs Python code.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(given.as_ptr(), &raw mut overflow) };
    match overflow {
        0 => (value, false),
        1.. => (i64::MAX, true),
        _ => (i64::MIN, true),
    }
}

/// Returns the value, or `None` if it does not fit into a `u64`.
pub(crate) fn uint64(given: &Bound<'_, PyInt>) -> Option<u64> {
    exact(given).ok()?.extract().ok()
}

/// Returns the nearest `f64`, or `None` if the value is out of range.
pub(crate) fn float64(given: &Bound<'_, PyInt>) -> Option<f64> {
    // SAFETY: the object is alive. For an int the function only reads its digits.
    let value = unsafe { ffi::PyLong_AsDouble(given.as_ptr()) };
    // -1 may mean an exception, which is cleared.
    if value == -1.0 && PyErr::take(given.py()).is_some() { None } else { Some(value) }
}

/// Returns the text of an int for messages, without the digits of large ints, which Python refuses to convert.
pub(crate) fn text(given: &Bound<'_, PyInt>) -> String {
    exact(given)
        .and_then(|number| number.extract::<i128>())
        .map_or_else(|_| "an int of more than 128 bits".to_owned(), |value| value.to_string())
}

/// Returns the value as an object of exactly the class `int`.
fn exact<'py>(given: &Bound<'py, PyInt>) -> PyResult<Bound<'py, PyAny>> {
    given.py().get_type::<PyInt>().call_method1("__int__", (given,))
}
