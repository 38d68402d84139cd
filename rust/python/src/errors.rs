//! Errors of the core as exceptions of `interlock.errors`.

use interlock::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The class of `interlock.errors` for an error.
fn class_name(error: &Error) -> &'static str {
    match error {
        Error::FlagType { .. } => "FlagTypeError",
        Error::FlagValue { .. } => "FlagValueError",
        Error::FlagsFrozen { .. } => "FlagsFrozenError",
        Error::FlagRegistration { .. } => "FlagRegistrationError",
        Error::UnknownFlag { .. } => "UnknownFlagError",
        Error::ReadOnlyFlag { .. } => "ReadOnlyFlagError",
        Error::UnknownDeviceType { .. } | Error::DeviceIndex { .. } | Error::NoSuchDevice { .. } => {
            "DeviceError"
        }
        Error::NoAccelerator { .. } => "NoAcceleratorError",
        Error::LibraryNotFound { .. } => "LibraryNotFoundError",
        Error::LibraryRefused { .. } => "LibraryError",
        Error::TaskIsRunning => "TaskIsRunningError",
        Error::OutOfMemory { .. } => "OutOfMemoryError",
        _ => "InterlockError",
    }
}

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    raised(py, class_name(error), error.to_string())
}

/// An exception of a class of `interlock.errors`. The class is looked up when it is needed: statics
/// hold no Python object.
pub(crate) fn raised(py: Python<'_>, class: &str, message: String) -> PyErr {
    let made = py
        .import("interlock.errors")
        .and_then(|errors| errors.getattr(class))
        .and_then(|class| class.call1((&message,)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        // A host may have registered the module without installing the Python layer.
        Err(_) => PyRuntimeError::new_err(message),
    }
}

/// Turns the core's results into Python's.
pub(crate) trait IntoPython<T> {
    fn into_python(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> IntoPython<T> for interlock::Result<T> {
    fn into_python(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}
