//! Conversion of flag values from and to Python.

use std::ffi::c_int;

use interlock::backends::{self, FlagSpec, InputValue, Value};
use interlock::base::quote;
use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::call_site;
use crate::errors::IntoPyResult;
use crate::py_int;
use crate::raw_types::{catch_panic_status, ffi_ptr};

/// The longest repr of a refused value that a message shows.
const LONGEST_SHOWN: usize = 60;

/// Converts a Python value to an unchecked [`InputValue`]. Fails if `__index__` of the value raises, or if its repr is
/// interrupted.
#[inline]
pub(super) fn from_py<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<InputValue<'a>> {
    match from_scalar(value) {
        Some(given) => Ok(given),
        None => from_other(value),
    }
}

/// Converts a scalar; `None` for a tuple, a list or another type.
#[inline]
fn from_scalar<'a>(value: &'a Bound<'_, PyAny>) -> Option<InputValue<'a>> {
    // A bool is an int to Python, so it comes first.
    if let Ok(switch) = value.cast::<PyBool>() {
        Some(InputValue::Bool(switch.is_true()))
    } else if value.is_none() {
        Some(InputValue::None)
    } else if let Ok(number) = value.cast::<PyInt>() {
        Some(py_int::int64(number).map_or_else(|| huge_integer(number), InputValue::Integer))
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        Some(InputValue::Float(number.value()))
    } else {
        value.cast::<PyString>().ok()?.to_str().ok().map(|text| InputValue::Text(text.into()))
    }
}

#[cold]
fn huge_integer(number: &Bound<'_, PyInt>) -> InputValue<'static> {
    InputValue::HugeInteger { display: py_int::text(number), nearest: py_int::float64(number) }
}

#[cold]
fn from_other<'a>(value: &Bound<'_, PyAny>) -> PyResult<InputValue<'a>> {
    // Nested items become text: no flag accepts them, and a list may contain itself.
    let item = |item: Bound<'_, PyAny>| {
        from_scalar(&item).map_or_else(|| InputValue::Other(type_of(&item)), InputValue::into_owned)
    };
    if let Ok(tuple) = value.cast::<PyTuple>() {
        Ok(InputValue::List(tuple.iter().map(item).collect()))
    } else if let Ok(list) = value.cast::<PyList>() {
        Ok(InputValue::List(list.iter().map(item).collect()))
    } else if let Some(number) = whole_number(value)? {
        Ok(number)
    } else if let Ok(number) = value.cast::<PyFloat>() {
        Ok(InputValue::Float(number.value()))
    } else {
        Ok(InputValue::Other(display(value)?))
    }
}

/// Converts an object with `__index__`, such as NumPy integers, but not a member of an enumeration.
fn whole_number(value: &Bound<'_, PyAny>) -> PyResult<Option<InputValue<'static>>> {
    if value.get_type().hasattr("__members__")? {
        return Ok(None);
    }
    let number = py_int::index_of_argument(value)?;
    Ok(number.and_then(|number| from_scalar(&number).map(InputValue::into_owned)))
}

/// Returns the value and its type, for a message.
pub(super) fn display(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.repr().map(|repr| repr.to_string()) {
        Ok(repr) if repr.chars().count() <= LONGEST_SHOWN => {
            Ok(format!("{} ({})", quote::shown(&repr), value.get_type().fully_qualified_name()?))
        }
        // A `KeyboardInterrupt` is not an error of the value.
        Err(error) if !error.is_instance_of::<PyException>(value.py()) => Err(error),
        // The repr is too long or raises, so only the type is shown.
        _ => Ok(type_of(value)),
    }
}

fn type_of(value: &Bound<'_, PyAny>) -> String {
    value.get_type().fully_qualified_name().map(|name| name.to_string()).unwrap_or_default()
}

/// Returns the flag with this dotted name, the argument `what`.
pub(super) fn named(name: &Bound<'_, PyAny>, what: &str) -> PyResult<&'static FlagSpec> {
    backends::find(&name_of_flag(name, || what.to_owned())?).into_py_result(name.py())
}

/// Flags with their input values.
pub(super) type NamedValues = Vec<(&'static FlagSpec, InputValue<'static>)>;

/// Converts a dict such as `{"cudnn.enabled": False}`, an argument of a function, to flags and values.
pub(super) fn named_values(function: &str, values: &Bound<'_, PyDict>) -> PyResult<NamedValues> {
    let spec = |name: &str| backends::find(name).into_py_result(values.py());
    texts_and_values(function, values)?.into_iter().map(|(name, given)| Ok((spec(&name)?, given))).collect()
}

/// Converts a dict of names and values, an argument of a function, without looking up flags.
pub(super) fn texts_and_values(
    function: &str,
    values: &Bound<'_, PyDict>,
) -> PyResult<Vec<(String, InputValue<'static>)>> {
    let text_and_value = |item: Bound<'_, PyAny>| {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        Ok((
            name_of_flag(&name, || format!("{function}: the name of a flag"))?,
            from_py(&value)?.into_owned(),
        ))
    };
    // A copy of the items, because the repr of a value may change the dict.
    values.items().iter().map(text_and_value).collect()
}

fn name_of_flag(name: &Bound<'_, PyAny>, what: impl Fn() -> String) -> PyResult<String> {
    match name.cast::<PyString>() {
        Ok(name) => Ok(name.to_string_lossy().into_owned()),
        Err(_) => {
            let error = interlock::Error::FlagType {
                name: what(),
                given: display(name)?,
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
    // SAFETY: called while attached; every branch returns a new reference, or null with an error set.
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
            Value::PriorityOrder(names, order) => {
                let ranked: Vec<&str> = order.names(names).collect();
                ffi_ptr(|py| Ok(PyTuple::new(py, ranked)?.into_any().into_ptr()))
            }
        }
    }
}

/// Assigns a value, or unsets the flag if `value` is null (`del`). Returns 0, or -1 with an error set.
///
/// # Safety
/// This thread is attached to the interpreter, and `value` is null or alive.
pub(super) unsafe fn assign(spec: &'static FlagSpec, value: *mut ffi::PyObject) -> c_int {
    // An accepted bool needs no further conversion. A refused one is assigned again below, to raise the error.
    let assign_bool = || {
        // SAFETY: as the caller guarantees.
        let given = unsafe {
            if value == ffi::Py_True() {
                InputValue::Bool(true)
            } else if value == ffi::Py_False() {
                InputValue::Bool(false)
            } else {
                return false;
            }
        };
        !backends::writes_are_traced() && backends::assign(&[(spec, Some(given))], None).is_ok()
    };
    catch_panic_status(assign_bool, |py| {
        // SAFETY: as the caller guarantees.
        let value = unsafe { Bound::from_borrowed_ptr_or_opt(py, value) };
        let given: Option<InputValue> = value.as_ref().map(from_py).transpose()?;
        backends::assign(&[(spec, given)], call_site::current_if_tracing(py)).into_py_result(py)
    })
}

/// Returns a borrowed reference to True or False.
unsafe fn switch(on: bool) -> *mut ffi::PyObject {
    // SAFETY: the two singletons live as long as the interpreter.
    unsafe { if on { ffi::Py_True() } else { ffi::Py_False() } }
}

/// Returns the Python object of a value.
pub(crate) fn object(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, new_reference(value)) }
}
