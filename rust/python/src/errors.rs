//! Errors of the core as exceptions of `interlock.errors`.

use interlock::Error;
use interlock::accelerator::memory::OutOfMemory;
use pyo3::exceptions::{PyBaseException, PyRuntimeError};
use pyo3::prelude::*;

use crate::accelerator::Device;
use crate::kept;

/// The class of `interlock.errors` for an error.
fn class_name(error: &Error) -> &'static str {
    match error {
        Error::FlagType { .. } => "FlagTypeError",
        Error::FlagValue { .. } | Error::FlagTableFull { .. } => "FlagValueError",
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
        Error::LibraryPath { .. } => "LibraryPathError",
        Error::UnknownLibrary { .. } => "UnknownLibraryError",
        Error::LibraryRefused { .. } => "LibraryError",
        Error::TaskIsRunning => "TaskIsRunningError",
        Error::OutOfMemory { .. } => "OutOfMemoryError",
        _ => "InterlockError",
    }
}

/// The exception for an error: what a function of Python raised, if that is why the core returned it.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    if let Some(kept) = kept::take(py, error) {
        return kept;
    }
    let raised = raised(py, class_name(error), error.to_string());
    // Without its attributes the exception still says what happened.
    let _ = add_attributes(py, raised.value(py), error);
    raised
}

/// What a program can ask the exception instead of reading its message.
fn add_attributes(py: Python<'_>, exception: &Bound<'_, PyBaseException>, error: &Error) -> PyResult<()> {
    if let Error::OutOfMemory(told) = error {
        return add_what_was_short(py, exception, told);
    }
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

/// How things stood when a request for memory could not be served.
fn add_what_was_short(
    py: Python<'_>,
    exception: &Bound<'_, PyBaseException>,
    told: &OutOfMemory,
) -> PyResult<()> {
    exception.setattr("requested", told.requested)?;
    exception.setattr("device", Bound::new(py, Device::of(told.device))?)?;
    let Some(cache) = &told.cache else { return Ok(()) };
    exception.setattr("rounded", cache.rounded)?;
    exception.setattr("allocated", cache.allocated)?;
    exception.setattr("reserved", cache.reserved)?;
    exception.setattr("largest_free", cache.largest_free)?;
    exception.setattr("limit", cache.limit)?;
    exception.setattr("free", cache.free)?;
    exception.setattr("stream", cache.stream)?;
    exception.setattr("pool", cache.pool)
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
