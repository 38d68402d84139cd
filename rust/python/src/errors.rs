//! Errors of the core as exceptions of `interlock.errors`.

use interlock::Error;
use pyo3::exceptions::{PyBaseException, PyRuntimeError};
use pyo3::prelude::*;

use crate::accelerator::Device;

/// The class of `interlock.errors` for an error.
fn class_name(error: &Error) -> &'static str {
    match error {
        Error::FlagType { .. } => "FlagTypeError",
        Error::FlagValue { .. } => "FlagValueError",
        Error::FlagsFrozen { .. } => "FlagsFrozenError",
        Error::FlagRegistration { .. } => "FlagRegistrationError",
        Error::UnknownFlag { .. } => "UnknownFlagError",
        Error::ReadOnlyFlag { .. } => "ReadOnlyFlagError",
        Error::UnknownDeviceType { .. }
        | Error::DeviceIndex { .. }
        | Error::NoSuchDevice { .. }
        | Error::UnknownDriver { .. } => "DeviceError",
        Error::Device { .. } => "AcceleratorError",
        Error::DeviceLost { .. } => "DeviceLostError",
        Error::Unsupported { .. } => "UnsupportedError",
        Error::Forked { .. } => "ForkedProcessError",
        Error::Graph { .. } => "GraphError",
        Error::DriverInUse { .. } => "DriverInUseError",
        Error::Argument { .. } => "ArgumentError",
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
    let raised = raised(py, class_name(error), error.to_string());
    // Without its attributes the exception still says what happened.
    let _ = add_attributes(py, raised.value(py), error);
    raised
}

/// What a program can ask the exception instead of reading its message.
fn add_attributes(py: Python<'_>, exception: &Bound<'_, PyBaseException>, error: &Error) -> PyResult<()> {
    let (Error::Device { device, operation, .. } | Error::DeviceLost { device, operation, .. }) = error
    else {
        return Ok(());
    };
    exception.setattr("operation", operation)?;
    exception.setattr("device", Bound::new(py, Device::of(*device))?)?;
    if let Error::Device { code, .. } = error {
        exception.setattr("error_code", code)?;
    }
    Ok(())
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
