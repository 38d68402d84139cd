//! Values of flags to and from Python.

use interlock::backends::{self, Attribute, Given, Value};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};

use crate::errors::IntoPython;

/// How much of an unsuitable value a message shows.
const LONGEST_SHOWN: usize = 60;

/// What a program gave, for the core to check.
pub(super) fn given<'a>(value: &'a Bound<'_, PyAny>) -> Given<'a> {
    // A bool is an int to Python, so it comes first.
    if let Ok(switch) = value.cast::<PyBool>() {
        Given::Bool(switch.is_true())
    } else if value.is_none() {
        Given::None
    } else if let Ok(number) = value.cast::<PyInt>() {
        number.extract().map_or_else(|_| Given::HugeInteger(shown(value)), Given::Integer)
    } else if let Some(text) = value.cast::<PyString>().ok().and_then(|text| text.to_str().ok()) {
        Given::Text(text.into())
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        Given::List(tuple.iter().map(|item| given(&item).into_owned()).collect())
    } else if let Ok(list) = value.cast::<PyList>() {
        Given::List(list.iter().map(|item| given(&item).into_owned()).collect())
    } else {
        Given::Other(shown(value))
    }
}

/// The value and its type, for a message.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let class = value.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    match value.repr().map(|repr| repr.to_string()) {
        Ok(repr) if repr.chars().count() <= LONGEST_SHOWN => format!("{repr} ({class})"),
        // Too long, or a repr that raises: the class says enough.
        _ => format!("a value of type {class}"),
    }
}

/// `{"cudnn.enabled": False}` as the attributes and values that it names.
pub(super) fn named_values(
    values: &Bound<'_, PyDict>,
) -> PyResult<Vec<(&'static Attribute, Given<'static>)>> {
    let named =
        |name: Bound<'_, PyAny>| backends::find(name.cast::<PyString>()?.to_str()?).into_python(name.py());
    values.iter().map(|(name, value)| Ok((named(name)?, given(&value).into_owned()))).collect()
}

/// A new reference to the value as Python has it, or null with an error set.
#[inline]
pub(super) fn new_reference(value: Value) -> *mut ffi::PyObject {
    // SAFETY: called while attached; every branch gives a new reference, or null with an error set.
    unsafe {
        match value {
            Value::Bool(true) => ffi::Py_NewRef(ffi::Py_True()),
            Value::Bool(false) => ffi::Py_NewRef(ffi::Py_False()),
            Value::None => ffi::Py_NewRef(ffi::Py_None()),
            Value::Integer(number) => ffi::PyLong_FromLongLong(number),
            Value::Name(name) => {
                ffi::PyUnicode_FromStringAndSize(name.as_ptr().cast(), name.len() as ffi::Py_ssize_t)
            }
            Value::Pair(first, second) => ffi::PyTuple_Pack(2, switch(first), switch(second)),
        }
    }
}

/// A borrowed reference.
unsafe fn switch(on: bool) -> *mut ffi::PyObject {
    // SAFETY: the two singletons live as long as the interpreter.
    unsafe { if on { ffi::Py_True() } else { ffi::Py_False() } }
}

/// The value as Python has it.
pub(super) fn object(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, new_reference(value)) }
}
