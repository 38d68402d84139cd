//! The Python objects of a registered flag: its enumeration, its validator and the function that is called after
//! changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use interlock::backends::{FlagSpec, Validator, Value};
use interlock_core::base::mutex::Mutex;
use interlock_core::base::quote::one_line;
use interlock_core::base::sync::RelaxedBool;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use super::values::object_of_enum;
use crate::detach::{attach, call};
use crate::errors::new_type_error;
use crate::pending_exception;
use crate::qualified_name::qualified_name;
use crate::switches::try_bool;

/// For each name a tuple of the class of the enumeration, the validator, the function that is called after changes, and
/// its registration; each may be None.
static PARTS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// Whether a flag of an enumeration was registered: without one, reads and writes of flags look nothing up.
static ANY_ENUMERATION: RelaxedBool = RelaxedBool::new(false);

const ENUMERATION: usize = 0;
const VALIDATOR: usize = 1;
const ON_CHANGE: usize = 2;
const REGISTRATION: usize = 3;

fn part<'py>(py: Python<'py>, name: &str, index: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(parts) = PARTS.get(py) else { return Ok(None) };
    let Some(parts) = parts.bind(py).get_item(name)? else { return Ok(None) };
    Ok(Some(parts.cast_into::<PyTuple>()?.get_item(index)?).filter(|part| !part.is_none()))
}

/// Returns the class of the enumeration whose members a flag accepts.
pub(super) fn enumeration<'py>(
    py: Python<'py>,
    spec: &'static FlagSpec,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let may_have_one = ANY_ENUMERATION.get() && spec.is_registered();
    if may_have_one { part(py, spec.name(), ENUMERATION) } else { Ok(None) }
}

/// Stores the parts of a flag.
pub(super) fn store(
    py: Python<'_>,
    name: &str,
    enumeration: Option<&Bound<'_, PyAny>>,
    validator: Option<&Bound<'_, PyAny>>,
    on_change: Option<&Bound<'_, PyAny>>,
    registration: Option<Bound<'_, PyAny>>,
) -> PyResult<()> {
    if enumeration.is_some() {
        ANY_ENUMERATION.set(true);
    }
    let parts = PARTS.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    parts.set_item(name, (enumeration, validator, on_change, registration))
}

/// Takes the parts of an equal registration of a flag, whose module may have been imported again: the enumeration, and the
/// functions that have the names of the earlier ones. `register` registers a function that is called after changes.
///
/// Returns a reason if the flag accepts the members of an enumeration of another name, or those of none.
pub(super) fn adopt<'py>(
    py: Python<'py>,
    name: &str,
    enumeration: Option<&Bound<'py, PyAny>>,
    validator: Option<&Bound<'py, PyAny>>,
    on_change: Option<&Bound<'py, PyAny>>,
    register: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Option<String>> {
    let known = part(py, name, ENUMERATION)?;
    let (known_name, given_name) = (type_name(known.as_ref())?, type_name(enumeration)?);
    if known_name != given_name {
        return Ok(Some(format!("the type is {known_name}, not {given_name}")));
    }
    let known = part(py, name, VALIDATOR)?;
    let validator = again(known.as_ref(), validator).or(known.as_ref());
    let (known, mut registration) = (part(py, name, ON_CHANGE)?, part(py, name, REGISTRATION)?);
    let mut called = known.as_ref();
    if let Some(on_change) = again(known.as_ref(), on_change) {
        let earlier = registration.replace(register(on_change)?);
        earlier.map(|earlier| earlier.call_method0("remove")).transpose()?;
        called = Some(on_change);
    }
    if enumeration.is_some() || validator.is_some() || called.is_some() {
        store(py, name, enumeration, validator, called, registration)?;
    }
    Ok(None)
}

/// Returns a function that has the name of an earlier one.
fn again<'a, 'py>(
    known: Option<&Bound<'py, PyAny>>,
    given: Option<&'a Bound<'py, PyAny>>,
) -> Option<&'a Bound<'py, PyAny>> {
    let name = qualified_name(known?)?;
    given.filter(|given| qualified_name(given).is_some_and(|given| given == name))
}

/// Returns the full name of an enumeration, or `str` for a flag without one.
fn type_name(enumeration: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    let Some(enumeration) = enumeration else { return Ok("str".to_owned()) };
    let attribute = |name| enumeration.getattr(name)?.str().map(|text| text.to_string());
    Ok(format!("{}.{}", attribute("__module__")?, attribute("__qualname__")?))
}

/// Removes the parts of a flag, and its registration of changes.
pub(super) fn remove(py: Python<'_>, name: &str) -> PyResult<()> {
    let registration = part(py, name, REGISTRATION)?;
    if let Some(parts) = PARTS.get(py)
        && parts.bind(py).contains(name)?
    {
        parts.bind(py).del_item(name)?;
    }
    if let Some(registration) = registration {
        registration.call_method0("remove")?;
    }
    Ok(())
}

/// The validators by the names of flags and functions: a flag that is registered again has an equal one, and so uses
/// the storage of the flag that was unregistered.
static VALIDATORS: Mutex<BTreeMap<(String, Arc<str>), Validator>> = Mutex::new(BTreeMap::new());

/// Returns the validator of a flag, which calls the function of its parts.
pub(super) fn validator(flag: String, function: &Bound<'_, PyAny>) -> Validator {
    let qualified = function.getattr("__qualname__").and_then(|name| name.extract::<String>());
    let name: Arc<str> = qualified.unwrap_or_else(|_| "the validator".to_owned()).into();
    let new = || new_validator(flag.clone(), name.clone());
    VALIDATORS.lock().entry((flag.clone(), name.clone())).or_insert_with(new).clone()
}

fn new_validator(flag: String, name: Arc<str>) -> Validator {
    Validator::new(name.clone(), move |value| {
        // Without an interpreter nothing can be checked any more.
        attach(|py| {
            // A destructor may write flags while an exception is set.
            let pending = PyErr::take(py);
            let checked = check(py, &flag, &name, value);
            if let Some(pending) = pending {
                pending.restore(py);
            }
            checked
        })
        .unwrap_or(Ok(()))
    })
}

/// Calls a validator. It refuses the value if it raises or returns anything but True and None.
fn check(py: Python<'_>, flag: &str, validator: &str, value: Value) -> Result<(), String> {
    let called = || {
        let Some(function) = part(py, flag, VALIDATOR)? else { return Ok(true) };
        let enumeration = part(py, flag, ENUMERATION)?;
        let result = call(&function, &object_of_enum(py, enumeration.as_ref(), value)?)?;
        if result.is_none() {
            return Ok(true);
        }
        let wrong = || new_type_error("the result of the validator", "a bool or None", &result);
        try_bool(&result)?.ok_or_else(wrong)
    };
    match called() {
        Ok(true) => Ok(()),
        Ok(false) => Err("it returned False".to_owned()),
        Err(error) => {
            let text = error.value(py).str().map(|text| text.to_string()).unwrap_or_default();
            let kind = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
            let reason = if text.trim().is_empty() { kind } else { one_line(&text).to_string() };
            pending_exception::stash(py, refused(flag, validator, value, &reason), error);
            Err(reason)
        }
    }
}

/// Returns the error that the write in progress is about to return.
fn refused(flag: &str, validator: &str, value: Value, reason: &str) -> interlock::accelerator::Error {
    let error = interlock::Error::FlagRefused {
        name: flag.to_owned(),
        given: value.shown(),
        validator: validator.to_owned(),
        reason: reason.to_owned(),
    };
    interlock::accelerator::Error::Core(error)
}
