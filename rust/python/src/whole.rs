//! Ints that a program gives. Nothing here calls what a subclass of `int` overrides, and an exception that is raised
//! in `__index__` passes unchanged.

use std::ffi::c_int;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyInt;

/// The int that `__index__` returns, or `None` for an object whose class has no such method. An int stands for itself.
pub(crate) fn index<'py>(given: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyInt>>> {
    if !has_index(given) {
        return Ok(None);
    }
    // SAFETY: a new reference, or null with an error set.
    let number = unsafe { Bound::from_owned_ptr_or_err(given.py(), ffi::PyNumber_Index(given.as_ptr())) }?;
    Ok(Some(number.cast_into()?))
}

/// Whether the class of an object has `__index__`.
pub(crate) fn has_index(given: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object is alive, and this thread is attached to the interpreter.
    unsafe { ffi::PyIndex_Check(given.as_ptr()) != 0 }
}

/// The value, or `None` beyond 64 bits with a sign.
pub(crate) fn int64(given: &Bound<'_, PyInt>) -> Option<i64> {
    let (value, overflow) = clamped(given);
    (!overflow).then_some(value)
}

/// The nearest number that 64 bits with a sign can hold, and whether it is another one.
pub(crate) fn clamped(given: &Bound<'_, PyInt>) -> (i64, bool) {
    let mut overflow: c_int = 0;
    // SAFETY: the object is an int, for which this neither fails nor runs code of a program.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(given.as_ptr(), &raw mut overflow) };
    match overflow {
        0 => (value, false),
        1.. => (i64::MAX, true),
        _ => (i64::MIN, true),
    }
}

/// The value, or `None` for one that is negative or has more than 64 bits.
pub(crate) fn uint64(given: &Bound<'_, PyInt>) -> Option<u64> {
    exact(given).ok()?.extract().ok()
}

/// The nearest floating-point number, or `None` where that is infinite.
pub(crate) fn float64(given: &Bound<'_, PyInt>) -> Option<f64> {
    // SAFETY: the object is an int, whose digits are read.
    let value = unsafe { ffi::PyLong_AsDouble(given.as_ptr()) };
    // -1 may be an error, which is taken off again.
    if value == -1.0 && PyErr::take(given.py()).is_some() { None } else { Some(value) }
}

/// An int in a message: Python refuses to write ints of many digits.
pub(crate) fn text(given: &Bound<'_, PyInt>) -> String {
    exact(given)
        .and_then(|number| number.extract::<i128>())
        .map_or_else(|_| "an int of more than 128 bits".to_owned(), |value| value.to_string())
}

/// The same number as an object of the class `int` itself, none of whose methods is overridden.
fn exact<'py>(given: &Bound<'py, PyInt>) -> PyResult<Bound<'py, PyAny>> {
    given.py().get_type::<PyInt>().call_method1("__int__", (given,))
}
