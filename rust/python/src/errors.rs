//! Conversion of Rust errors into exceptions of `interlock.errors`.

use std::fmt::Display;

use interlock::Error as CoreError;
use interlock::accelerator::Error;
use interlock_core::base::quote;
use pyo3::exceptions::{PyException, PyMemoryError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use crate::pending_exception;

/// Returns the class of `interlock.errors` for an error of the core crate.
pub(crate) fn core_class_name(error: &CoreError) -> &'static str {
    match error {
        CoreError::FlagType { .. } => "FlagTypeError",
        CoreError::FlagValue { .. } | CoreError::FlagRefused { .. } => "FlagValueError",
        CoreError::FlagsFrozen { .. } => "FlagsFrozenError",
        CoreError::FlagRegistration { .. }
        | CoreError::FlagDefault { .. }
        | CoreError::FlagUnregistration { .. } => "FlagRegistrationError",
        CoreError::UnknownFlag { .. }
        | CoreError::FlagNamespace { .. }
        | CoreError::UnregisteredFlag { .. } => "UnknownFlagError",
        CoreError::ReadOnlyFlag { .. } => "ReadOnlyFlagError",
        CoreError::UnknownDeviceType { .. }
        | CoreError::DeviceIndex { .. }
        | CoreError::DeviceName { .. } => "DeviceError",
        CoreError::LibraryNotFound { .. } => "LibraryNotFoundError",
        CoreError::LibraryPath { .. } => "LibraryPathError",
        CoreError::UnknownLibrary { .. } => "UnknownLibraryError",
        CoreError::LibraryRefused { .. } => "LibraryError",
        CoreError::ContextNotAtHand { .. } => "ContextNotAtHandError",
        CoreError::CarriedName { .. } | CoreError::UnknownName { .. } => "ArgumentError",
        CoreError::ThreadEnded { .. } => "UnsupportedError",
        CoreError::TaskIsRunning => "TaskIsRunningError",
        _ => "InterlockError",
    }
}

/// Errors that convert into a Python exception.
pub(crate) trait ToPyErr {
    fn to_pyerr(&self, py: Python<'_>) -> PyErr;
}

impl ToPyErr for PyErr {
    fn to_pyerr(&self, py: Python<'_>) -> PyErr {
        self.clone_ref(py)
    }
}

impl ToPyErr for CoreError {
    fn to_pyerr(&self, py: Python<'_>) -> PyErr {
        if matches!(self, CoreError::ContextNotStored { .. }) {
            return PyMemoryError::new_err(self.to_string());
        }
        let exception = new_exception(py, core_class_name(self), self.to_string());
        let cause = match self {
            CoreError::FlagDefault { error, .. } => error,
            error => error,
        };
        if let CoreError::FlagRefused { .. } = cause
            && let Some(raised) = pending_exception::take(py, &Error::Core(cause.clone()))
        {
            // A `KeyboardInterrupt` is not a refusal of the value.
            if !raised.is_instance_of::<PyException>(py) {
                return raised;
            }
            exception.set_cause(py, Some(raised));
        }
        exception
    }
}

/// Returns the exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &impl ToPyErr) -> PyErr {
    error.to_pyerr(py)
}

/// Creates an exception of a class of `interlock.errors`, which is looked up on every call: statics store no Python
/// object.
pub(crate) fn new_exception(py: Python<'_>, class: &str, message: String) -> PyErr {
    let created = py
        .import("interlock.errors")
        .and_then(|errors| errors.getattr(class))
        .and_then(|class| class.call1((&message,)));
    match created {
        Ok(exception) => PyErr::from_value(exception),
        // An embedding program may have registered the module without the Python layer.
        Err(_) => PyRuntimeError::new_err(message),
    }
}

/// Returns the name of the type of an object for a message. None, constants such as a dtype, and classes are shown
/// themselves, because their types say nothing about them.
pub(crate) fn type_name(given: &Bound<'_, PyAny>) -> String {
    let name = given.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    match &*name {
        "NoneType" | "dtype" | "QuantizedDType" | "layout" | "memory_format" | "type" => {
            shown(given).unwrap_or(name)
        }
        _ => name,
    }
}

/// Returns the `repr` of an argument for a message, on one line and bounded in length.
pub(crate) fn shown(given: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(quote::shown(&given.repr()?.to_string_lossy()).into_owned())
}

/// Creates a TypeError with the expected type and the type of the argument.
pub(crate) fn new_type_error(what: &str, wanted: &str, given: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("{what} must be {wanted}, got {}", type_name(given)))
}

/// Creates an ArgumentError with what the argument must be or do, such as "be positive", and the given value.
pub(crate) fn new_argument_error(
    py: Python<'_>,
    what: impl Display,
    expected: impl Display,
    given: impl Display,
) -> PyErr {
    new_exception(py, "ArgumentError", format!("{what} must {expected}, got {given}"))
}

/// Converts a result of the crates below into a `PyResult`.
pub(crate) trait IntoPyResult<T> {
    fn into_py_result(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: ToPyErr> IntoPyResult<T> for Result<T, E> {
    fn into_py_result(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| error.to_pyerr(py))
    }
}
