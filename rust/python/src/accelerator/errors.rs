//! Conversion of errors of devices into exceptions, which have the device as an attribute.

use interlock::accelerator::Error;
use interlock::accelerator::memory::OutOfMemory;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;

use crate::advice::in_python;
use crate::device::Device;
use crate::errors::{ToPyErr, core_class_name, new_exception};
use crate::pending_exception;
use crate::python_cause::PythonCause;

/// Returns the class of `interlock.errors` for an error of the accelerator crate.
fn class_name(error: &Error) -> &'static str {
    match error {
        Error::Core(error) => core_class_name(error),
        Error::NoSuchDevice { .. } | Error::DeviceUnavailable { .. } | Error::UnknownDriver { .. } => {
            "DeviceError"
        }
        Error::Device { .. } | Error::SelfWait { .. } => "AcceleratorError",
        Error::DeviceLost { .. } => "DeviceLostError",
        Error::Unsupported { .. } => "UnsupportedError",
        Error::Forked { .. } => "ForkedProcessError",
        Error::Graph { .. } => "GraphError",
        Error::DriverInUse { .. } => "DriverInUseError",
        Error::Argument { .. } | Error::UnknownKey { .. } => "ArgumentError",
        Error::Variable { error, .. } => class_name(error),
        Error::NoAccelerator { .. } => "NoAcceleratorError",
        Error::OutOfMemory { .. } => "OutOfMemoryError",
        _ => "InterlockError",
    }
}

impl ToPyErr for Error {
    /// Returns the pending exception if a Python function raised it and caused this error; otherwise a new exception.
    fn to_pyerr(&self, py: Python<'_>) -> PyErr {
        if let Some(pending) = pending_exception::take(py, self) {
            return pending;
        }
        let exception = new_exception(py, class_name(self), in_python(self.to_string()));
        // If an attribute can't be set, the exception still has its class and message.
        let _ = add_attributes(py, exception.value(py), self);
        if let Error::Device { cause: Some(cause), .. } = self
            && let Some(raised) = cause.downcast_ref::<PythonCause>().and_then(|cause| cause.0.exception(py))
        {
            exception.set_cause(py, Some(raised));
        }
        exception
    }
}

/// Sets the attributes of an exception, so that a program need not parse its message.
fn add_attributes(py: Python<'_>, exception: &Bound<'_, PyBaseException>, error: &Error) -> PyResult<()> {
    if let Error::OutOfMemory(oom) = error {
        return add_oom_attributes(py, exception, oom);
    }
    let (Error::Device { device, operation, .. }
    | Error::SelfWait { device, operation }
    | Error::DeviceLost { device, operation, .. }) = error
    else {
        return Ok(());
    };
    exception.setattr("operation", operation)?;
    exception.setattr("device", Bound::new(py, Device::of(*device))?)?;
    if let Error::Device { code, .. } = error {
        exception.setattr("error_code", code)?;
    } else if let Error::SelfWait { .. } = error {
        exception.setattr("error_code", None::<i32>)?;
    }
    Ok(())
}

/// Sets the request and the allocator's state at the time of the error.
fn add_oom_attributes(
    py: Python<'_>,
    exception: &Bound<'_, PyBaseException>,
    oom: &OutOfMemory,
) -> PyResult<()> {
    exception.setattr("requested", oom.requested)?;
    exception.setattr("device", Bound::new(py, Device::of(oom.device))?)?;
    let Some(state) = &oom.cache else { return Ok(()) };
    exception.setattr("rounded", state.rounded)?;
    exception.setattr("allocated", state.allocated)?;
    exception.setattr("reserved", state.reserved)?;
    exception.setattr("largest_free", state.largest_free)?;
    exception.setattr("limit", state.limit)?;
    exception.setattr("free", state.free)?;
    exception.setattr("stream", state.stream)?;
    exception.setattr("pool", state.pool)
}
