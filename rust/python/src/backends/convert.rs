//! Values of flags to and from Python.

use std::ffi::c_int;

use interlock::backends::{self, Attribute, Given, Value};
use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors::IntoPyResult;
use crate::py_int;
use crate::raw_types::{catch_panic_status, ffi_ptr};
use crate::site;

/// How much of an unsuitable value a message shows.
const LONGEST_SHOWN: usize = 60;

/// What a program gave, for the core to check. Fails where `__index__` of a value raises, and where asking a value for
/// its text is interrupted.
#[inline]
pub(super) fn given<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Given<'a>> {
    match plain(value) {
        Some(given) => Ok(given),
        None => unusual(value),
    }
}

/// What is neither a tuple or list nor unknown.
#[inline]
fn plain<'a>(value: &'a Bound<'_, PyAny>) -> Option<Given<'a>> {
    // A bool is an int to Python, so it comes first.
    if let Ok(switch) = value.cast::<PyBool>() {
        Some(Given::Bool(switch.is_true()))
    } else if value.is_none() {
        Some(Given::None)
    } else if let Ok(number) = value.cast::<PyInt>() {
        Some(py_int::int64(number).map_or_else(|| huge_integer(number), Given::Integer))
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        Some(Given::Float(number.value()))
    } else {
        value.cast::<PyString>().ok()?.to_str().ok().map(|text| Given::Text(text.into()))
    }
}

#[cold]
fn huge_integer(number: &Bound<'_, PyInt>) -> Given<'static> {
    let nearest = py_int::float64(number);
    let shown =
        nearest.map_or_else(|| "an int that is too large for a float".to_owned(), |_| type_of(number));
    Given::HugeInteger { shown, nearest }
}

#[cold]
fn unusual<'a>(value: &Bound<'_, PyAny>) -> PyResult<Given<'a>> {
    // What is inside an item stays a mere text: no flag takes it, and a list may contain itself.
    let item =
        |item: Bound<'_, PyAny>| plain(&item).map_or_else(|| Given::Other(type_of(&item)), Given::into_owned);
    if let Ok(tuple) = value.cast::<PyTuple>() {
        Ok(Given::List(tuple.iter().map(item).collect()))
    } else if let Ok(list) = value.cast::<PyList>() {
        Ok(Given::List(list.iter().map(item).collect()))
    } else if let Some(number) = whole_number(value)? {
        Ok(number)
    } else if let Ok(number) = value.cast::<PyFloat>() {
        Ok(Given::Float(number.value()))
    } else {
        Ok(Given::Other(shown(value)?))
    }
}

/// What says of itself that it is a whole number, as those of NumPy do; but no member of an enumeration.
fn whole_number(value: &Bound<'_, PyAny>) -> PyResult<Option<Given<'static>>> {
    if value.get_type().hasattr("__members__")? {
        return Ok(None);
    }
    let number = py_int::index(value)?;
    Ok(number.and_then(|number| plain(&number).map(Given::into_owned)))
}

/// The value and its type, for a message.
pub(super) fn shown(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.repr().map(|repr| repr.to_string()) {
        Ok(repr) if repr.chars().count() <= LONGEST_SHOWN => {
            Ok(format!("{repr} ({})", value.get_type().fully_qualified_name()?))
        }
        // A request to stop is not an error of the value's.
        Err(error) if !error.is_instance_of::<PyException>(value.py()) => Err(error),
        // Too long, or a repr that raises: the type says enough.
        _ => Ok(type_of(value)),
    }
}

fn type_of(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().fully_qualified_name().map(|name| name.to_string()).unwrap_or_default();
    format!("a value of type {name}")
}

/// The attribute with this dotted name.
pub(super) fn named(name: &Bound<'_, PyAny>) -> PyResult<&'static Attribute> {
    backends::find(&name_of_flag(name)?).into_py_result(name.py())
}

/// A [`Given`] of each flag that was named.
pub(super) type NamedValues = Vec<(&'static Attribute, Given<'static>)>;

/// `{"cudnn.enabled": False}` as the attributes and values that it names.
pub(super) fn named_values(values: &Bound<'_, PyDict>) -> PyResult<NamedValues> {
    let attribute = |name: &str| backends::find(name).into_py_result(values.py());
    texts_and_values(values)?.into_iter().map(|(name, given)| Ok((attribute(&name)?, given))).collect()
}

/// The same, with names that need not be those of flags.
pub(super) fn texts_and_values(values: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Given<'static>)>> {
    let text_and_value = |item: Bound<'_, PyAny>| {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        Ok((name_of_flag(&name)?, given(&value)?.into_owned()))
    };
    // A list of its own: what a value does when it is asked for its text may change the dict.
    values.items().iter().map(text_and_value).collect()
}

fn name_of_flag(name: &Bound<'_, PyAny>) -> PyResult<String> {
    match name.cast::<PyString>() {
        Ok(name) => Ok(name.to_string_lossy().into_owned()),
        Err(_) => {
            let error = interlock::Error::FlagType {
                name: "the name of a flag".to_owned(),
                given: shown(name)?,
                allowed: "a str".to_owned(),
            };
            Err(error).into_py_result(name.py())
        }
    }
}

/// Returns a new reference to the Python object of a value, or null with an error set.
#[inline]
pub(super) fn new_reference(value: Value) -> *mut ffi::PyObject {
    match value {
        // SAFETY: called while attached, and a bool lives as long as the interpreter.
        Value::Bool(value) => unsafe { ffi::Py_NewRef(switch(value)) },
        value => new_object(value),
    }
}

/// Like [`new_reference`], for a value of any type.
fn new_object(value: Value) -> *mut ffi::PyObject {
    // SAFETY: called while attached; every branch gives a new reference, or null with an error set.
    unsafe {
        match value {
            Value::Bool(value) => ffi::Py_NewRef(switch(value)),
            Value::None => ffi::Py_NewRef(ffi::Py_None()),
            Value::Integer(number) => ffi::PyLong_FromLongLong(number),
            Value::Float(number) => ffi::PyFloat_FromDouble(number.get()),
            Value::Name(name) | Value::Text(name) => {
                ffi::PyUnicode_FromStringAndSize(name.as_ptr().cast(), name.len() as ffi::Py_ssize_t)
            }
            Value::Pair(first, second) => ffi::PyTuple_Pack(2, switch(first), switch(second)),
            Value::Names(names) => ffi_ptr(|py| Ok(PyList::new(py, names)?.into_any().into_ptr())),
            Value::Ranking(names, ranking) => {
                let ranked: Vec<&str> = ranking.names(names).collect();
                ffi_ptr(|py| Ok(PyTuple::new(py, ranked)?.into_any().into_ptr()))
            }
        }
    }
}

/// Assigns a value for a setter, or drops what is assigned where `value` is null (`del`); 0, or -1 with an error set.
///
/// # Safety
/// This thread is attached to the interpreter, and `value` is null or alive.
pub(super) unsafe fn assign(attribute: &'static Attribute, value: *mut ffi::PyObject) -> c_int {
    // A bool that is taken needs nothing more of Python. What is refused is assigned again, for the error.
    let assigned_at_once = || {
        // SAFETY: as the caller says.
        let given = unsafe {
            if value == ffi::Py_True() {
                Given::Bool(true)
            } else if value == ffi::Py_False() {
                Given::Bool(false)
            } else {
                return false;
            }
        };
        !backends::writes_are_traced() && backends::assign(&[(attribute, Some(given))], None).is_ok()
    };
    catch_panic_status(assigned_at_once, |py| {
        // SAFETY: as the caller says.
        let value = unsafe { Bound::from_borrowed_ptr_or_opt(py, value) };
        let given: Option<Given> = value.as_ref().map(given).transpose()?;
        backends::assign(&[(attribute, given)], site::if_traced(py)).into_py_result(py)
    })
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
