//! Conversion of flag values from and to Python.

use std::ffi::c_int;

use interlock::backends::{self, FlagSpec, InputValue, Value};
use interlock_core::base::quote;
use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::python_parts;
use crate::call_site;
use crate::detach::call_with;
use crate::errors::IntoPyResult;
use crate::py_int;
use crate::raw_types::{catch_panic_status, ffi_ptr};
use crate::switches::try_bool;

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
    let item = |item: Bound<'_, PyAny>| match from_scalar(&item) {
        Some(given) => Ok(given.into_owned()),
        None => Ok(path(&item)?.unwrap_or_else(|| InputValue::Other(type_of(&item)))),
    };
    if let Some(items) = items_of(value) {
        Ok(InputValue::List(items.map(item).collect::<PyResult<_>>()?))
    } else if let Some(path) = path(value)? {
        Ok(path)
    } else if let Some(number) = whole_number(value)? {
        Ok(number)
    } else if let Some(number) = real_number(value)? {
        Ok(number)
    } else if let Some(switch) = try_bool(value)? {
        Ok(InputValue::Bool(switch))
    } else {
        Ok(InputValue::Other(display(value)?))
    }
}

/// Iterates over the items of a tuple or list; `None` for another value.
fn items_of<'py>(value: &Bound<'py, PyAny>) -> Option<Box<dyn Iterator<Item = Bound<'py, PyAny>> + 'py>> {
    if let Ok(tuple) = value.cast::<PyTuple>() {
        Some(Box::new(tuple.clone().into_iter()))
    } else {
        value.cast::<PyList>().ok().map(|list| Box::new(list.clone().into_iter()) as _)
    }
}

/// Converts an object with `__fspath__`; `None` if it has none, or if its path is not text.
fn path(value: &Bound<'_, PyAny>) -> PyResult<Option<InputValue<'static>>> {
    let class = value.get_type();
    if !class.hasattr("__fspath__")? {
        return Ok(None);
    }
    let path = call_with(&class.getattr("__fspath__")?, (value,))?;
    let text = path.cast::<PyString>().ok().and_then(|path| path.to_str().ok().map(str::to_owned));
    Ok(text.map(|text| InputValue::Path(text.into())))
}

/// Converts a value for a flag, which may accept the members of an enumeration.
#[inline]
pub(super) fn from_py_of<'a>(
    spec: &'static FlagSpec,
    value: &'a Bound<'_, PyAny>,
) -> PyResult<InputValue<'a>> {
    match python_parts::enumeration(value.py(), spec)? {
        Some(enumeration) => from_enum(&enumeration, value),
        None => from_py(value),
    }
}

/// Converts members of an enumeration to their names. A member of another one is not a name, though it may be a str.
#[cold]
fn from_enum<'a>(enumeration: &Bound<'_, PyAny>, value: &'a Bound<'_, PyAny>) -> PyResult<InputValue<'a>> {
    let class = value.get_type();
    if class.is(enumeration) {
        Ok(InputValue::Text(value.getattr("name")?.extract::<String>()?.into()))
    } else if let Some(items) = items_of(value) {
        let item = |item: Bound<'_, PyAny>| match items_of(&item) {
            // A list may contain itself.
            Some(_) => Ok(InputValue::Other(type_of(&item))),
            None => Ok(from_enum(enumeration, &item)?.into_owned()),
        };
        Ok(InputValue::List(items.map(item).collect::<PyResult<_>>()?))
    } else if class.hasattr("__members__")? {
        Ok(InputValue::Other(display(value)?))
    } else {
        from_py(value)
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

/// Converts a float, or an object of a class that is registered as a real number, such as NumPy floats.
fn real_number(value: &Bound<'_, PyAny>) -> PyResult<Option<InputValue<'static>>> {
    let py = value.py();
    let is_real = || match py.import("sys")?.getattr("modules")?.cast::<PyDict>()?.get_item("numbers")? {
        Some(numbers) => value.is_instance(&numbers.getattr("Real")?),
        // No class can be registered yet.
        None => Ok(false),
    };
    if !value.is_instance_of::<PyFloat>() && !is_real()? {
        return Ok(None);
    }
    match value.extract() {
        Ok(number) => Ok(Some(InputValue::Float(number))),
        // A `KeyboardInterrupt` is not an error of the value.
        Err(error) if !error.is_instance_of::<PyException>(py) => Err(error),
        Err(_) => Ok(None),
    }
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
    let flag_and_value = |item: Bound<'_, PyAny>| {
        let (name, value) = name_and_value(function, &item)?;
        let spec = backends::find(&name).into_py_result(values.py())?;
        Ok((spec, from_py_of(spec, &value)?.into_owned()))
    };
    // A copy of the items, because the repr of a value may change the dict.
    values.items().iter().map(flag_and_value).collect()
}

fn name_and_value<'py>(function: &str, item: &Bound<'py, PyAny>) -> PyResult<(String, Bound<'py, PyAny>)> {
    let (name, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item.extract()?;
    Ok((name_of_flag(&name, || format!("{function}: the name of a flag"))?, value))
}

/// Converts a dict of names and values, an argument of a function. The flags need not exist.
pub(super) fn texts_and_values(
    function: &str,
    values: &Bound<'_, PyDict>,
) -> PyResult<Vec<(String, InputValue<'static>)>> {
    let text_and_value = |item: Bound<'_, PyAny>| {
        let (name, value) = name_and_value(function, &item)?;
        let given = match backends::find(&name) {
            Ok(spec) => from_py_of(spec, &value)?,
            Err(_) => from_py(&value)?,
        };
        Ok((name, given.into_owned()))
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

/// Returns a new reference to the Python object of a flag's value, or null with an error set.
#[inline]
pub(super) fn new_reference(spec: &'static FlagSpec, value: Value) -> *mut ffi::PyObject {
    match value {
        // SAFETY: called while attached, and a bool lives as long as the interpreter.
        Value::Bool(value) => unsafe { ffi::Py_NewRef(switch(value)) },
        Value::Name(_) | Value::List(_) if spec.is_registered() => {
            ffi_ptr(|py| Ok(object_of(py, spec, value)?.into_ptr()))
        }
        value => new_object(value),
    }
}

/// Like [`new_reference`], for a value of any type. The members of an enumeration are their names.
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
            Value::Path(path) => ffi_ptr(|py| Ok(call_with(path_class(py)?, (path,))?.into_ptr())),
            Value::List(items) => ffi_ptr(|py| {
                let items = items.iter().map(|item| object(py, *item)).collect::<PyResult<Vec<_>>>()?;
                Ok(PyTuple::new(py, items)?.into_any().into_ptr())
            }),
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
        // A validator is called once for each write.
        !backends::writes_are_traced()
            && spec.validator().is_none()
            && backends::assign(&[(spec, Some(given))], None).is_ok()
    };
    catch_panic_status(assign_bool, |py| {
        // SAFETY: as the caller guarantees.
        let value = unsafe { Bound::from_borrowed_ptr_or_opt(py, value) };
        let given: Option<InputValue> = value.as_ref().map(|value| from_py_of(spec, value)).transpose()?;
        backends::assign(&[(spec, given)], call_site::current_if_tracing(py)).into_py_result(py)
    })
}

/// Returns a borrowed reference to True or False.
unsafe fn switch(on: bool) -> *mut ffi::PyObject {
    // SAFETY: the two singletons live as long as the interpreter.
    unsafe { if on { ffi::Py_True() } else { ffi::Py_False() } }
}

fn path_class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let import = || Ok::<_, PyErr>(py.import("pathlib")?.getattr("Path")?.unbind());
    Ok(CLASS.get_or_try_init(py, import)?.bind(py))
}

/// Returns the Python object of a value; the members of an enumeration are their names.
pub(super) fn object(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, new_object(value)) }
}

/// Returns the Python object of a value of a flag.
pub(crate) fn object_of<'py>(
    py: Python<'py>,
    spec: &'static FlagSpec,
    value: Value,
) -> PyResult<Bound<'py, PyAny>> {
    object_of_enum(py, python_parts::enumeration(py, spec)?.as_ref(), value)
}

/// Returns the Python object of a value, whose names are those of the members of an enumeration if there is one.
pub(super) fn object_of_enum<'py>(
    py: Python<'py>,
    enumeration: Option<&Bound<'py, PyAny>>,
    value: Value,
) -> PyResult<Bound<'py, PyAny>> {
    match (enumeration, value) {
        (Some(enumeration), Value::Name(name)) => enumeration.get_item(name),
        (Some(_), Value::List(items)) => {
            let items = items.iter().map(|item| object_of_enum(py, enumeration, *item));
            Ok(PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        _ => object(py, value),
    }
}

/// Returns the Python object of a value as JSON and pickles store it: names of members, and the texts of paths.
pub(super) fn plain_object(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Value::Path(path) => object(py, Value::Text(path)),
        Value::List(items) => {
            let items = items.iter().map(|item| plain_object(py, *item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyTuple::new(py, items)?.into_any())
        }
        value => object(py, value),
    }
}

/// Returns the Python object of a value of the flag with this name, which may have been unregistered meanwhile.
pub(crate) fn object_of_named<'py>(py: Python<'py>, name: &str, value: Value) -> PyResult<Bound<'py, PyAny>> {
    match backends::find(name) {
        Ok(spec) => object_of(py, spec, value),
        Err(_) => object(py, value),
    }
}
