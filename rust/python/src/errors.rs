//! Errors of the core as exceptions of `interlock.errors`.

use interlock::Error as CoreError;
use interlock::accelerator::Error;
use interlock::accelerator::memory::OutOfMemory;
use pyo3::exceptions::{PyBaseException, PyRuntimeError};
use pyo3::prelude::*;

use crate::accelerator::Device;
use crate::kept;

/// The class of `interlock.errors` for an error of flags, names of devices and vendor libraries.
fn core_class_name(error: &CoreError) -> &'static str {
    match error {
        CoreError::FlagType { .. } => "FlagTypeError",
        CoreError::FlagValue { .. } | CoreError::FlagTableFull { .. } => "FlagValueError",
        CoreError::FlagsFrozen { .. } => "FlagsFrozenError",
        CoreError::FlagRegistration { .. } => "FlagRegistrationError",
        CoreError::UnknownFlag { .. } => "UnknownFlagError",
        CoreError::ReadOnlyFlag { .. } => "ReadOnlyFlagError",
        CoreError::UnknownDeviceType { .. } | CoreError::DeviceIndex { .. } => "DeviceError",
        CoreError::LibraryNotFound { .. } => "LibraryNotFoundError",
        CoreError::LibraryPath { .. } => "LibraryPathError",
        CoreError::UnknownLibrary { .. } => "UnknownLibraryError",
        CoreError::LibraryRefused { .. } => "LibraryError",
        CoreError::TaskIsRunning => "TaskIsRunningError",
        _ => "InterlockError",
    }
}

/// The class of `interlock.errors` for an error of a device.
fn class_name(error: &Error) -> &'static str {
    match error {
        Error::Core(error) => core_class_name(error),
        Error::NoSuchDevice { .. } | Error::UnknownDriver { .. } => "DeviceError",
        Error::Device { .. } => "AcceleratorError",
        Error::DeviceLost { .. } => "DeviceLostError",
        Error::Unsupported { .. } => "UnsupportedError",
        Error::Forked { .. } => "ForkedProcessError",
        Error::Graph { .. } => "GraphError",
        Error::DriverInUse { .. } => "DriverInUseError",
        Error::Argument { .. } => "ArgumentError",
        Error::NoAccelerator { .. } => "NoAcceleratorError",
        Error::OutOfMemory { .. } => "OutOfMemoryError",
        _ => "InterlockError",
    }
}

/// An error of a crate below as an exception.
pub(crate) trait ToPyErr {
    fn to_pyerr(&self, py: Python<'_>) -> PyErr;
}

impl ToPyErr for CoreError {
    fn to_pyerr(&self, py: Python<'_>) -> PyErr {
        new_exception(py, core_class_name(self), self.to_string())
    }
}

impl ToPyErr for Error {
    /// The exception that a function of Python raised, if that is why the operation returned this error; else a new one.
    fn to_pyerr(&self, py: Python<'_>) -> PyErr {
        if let Some(kept) = kept::take(py, self) {
            return kept;
        }
        let exception = new_exception(py, class_name(self), self.to_string());
        // Without its attributes the exception still has its class and message.
        let _ = add_attributes(py, exception.value(py), self);
        exception
    }
}

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &impl ToPyErr) -> PyErr {
    error.to_pyerr(py)
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
pub(crate) fn new_exception(py: Python<'_>, class: &str, message: String) -> PyErr {
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

/// Converts the result of a crate below into Python's.
pub(crate) trait IntoPyResult<T> {
    fn into_py_result(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: ToPyErr> IntoPyResult<T> for Result<T, E> {
    fn into_py_result(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| error.to_pyerr(py))
    }
}
