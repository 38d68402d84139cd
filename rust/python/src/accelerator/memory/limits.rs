//! Limits of reserved and cached memory.

use interlock::accelerator::Error;
use interlock::accelerator::memory::{self, Limit};
use interlock_core::base::quote::quoted;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyString};

use crate::accelerator::device;
use crate::args;
use crate::detach::detach;
use crate::errors::{IntoPyResult, exception, new_type_error};
use crate::py_int;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_limit, module)?)?;
    module.add_function(wrap_pyfunction!(get_limit, module)?)?;
    module.add_function(wrap_pyfunction!(set_cache_limit, module)?)?;
    module.add_function(wrap_pyfunction!(get_cache_limit, module)?)?;
    // Not in `__all__`: private.
    module.setattr("_limits", wrap_pyfunction!(_limits, module)?)
}

const SET_LIMIT: &str = "accelerator.memory.set_limit: limit";
const SET_CACHE_LIMIT: &str = "accelerator.memory.set_cache_limit: limit";

/// Extracts a limit as the argument `name`. An int is a number of bytes, even 1; a float is a fraction, even 1.0.
fn extract_limit(given: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Option<Limit>> {
    let refused = |text: String| exception(given.py(), &Error::argument(name, text, Limit::ALLOWED));
    if given.is_none() {
        return Ok(None);
    }
    if let Ok(text) = given.cast::<PyString>() {
        let text = text.to_string_lossy();
        return text.parse().map(Some).map_err(|_| refused(quoted(&text)));
    }
    if let Ok(fraction) = given.cast::<PyFloat>() {
        let fraction = fraction.value();
        return Limit::fraction(fraction).map(Some).map_err(|_| refused(format!("{fraction:?}")));
    }
    if given.is_instance_of::<PyBool>() || !py_int::has_index(given) {
        return Err(new_type_error(name, Limit::ALLOWED, given));
    }
    args::extract_int(given, name, Limit::ALLOWED).map(Limit::Bytes).map(Some)
}

/// Limit the memory that this process may reserve on a device, allocated or cached. Reserved memory beyond the limit
/// remains reserved.
///
/// Args:
///     limit: Bytes as an int, a fraction of the device's memory as a float from 0.0 to 1.0 or a str such as "90%", or
///         None for no limit.
///     device: The device. None, or a device without an index, means the current device.
///
/// Returns:
///     The previous limit in bytes, or None.
///
/// Raises:
///     ArgumentError: The limit is negative, not a fraction from 0.0 to 1.0, or not a percentage.
///     TypeError: The limit is not an int, a float, a str or None.
///     NoAcceleratorError: No accelerator is available.
///     DeviceError: The accelerator does not have the device.
///
/// Example:
///     >>> from interlock import accelerator
///     >>> accelerator.use("host", memory=1 << 30)
///     >>> accelerator.memory.set_limit("50%") is None
///     True
///     >>> accelerator.memory.get_limit()
///     536870912
#[pyfunction]
#[pyo3(signature = (limit, device=None))]
fn set_limit(limit: &Bound<'_, PyAny>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let (py, limit) = (limit.py(), extract_limit(limit, SET_LIMIT)?);
    let device = device::optional(device, "accelerator.memory.set_limit")?;
    detach(py, || memory::set_limit(limit, device)).into_py_result(py)
}

/// Return the limit of reserved memory on a device in bytes, or None for no limit.
///
/// Args:
///     device: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn get_limit(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    device::query(py, device, "accelerator.memory.get_limit", memory::limit)
}

/// Limit the memory that is cached on a device. Cached blocks beyond the limit are released to the driver, those that
/// were freed first, after the queued work that uses them.
///
/// Args:
///     limit: The limit, as for `set_limit`.
///     device: The device. None, or a device without an index, means the current device.
///
/// Returns:
///     The previous limit in bytes, or None.
///
/// Raises:
///     ArgumentError: The limit is negative, not a fraction from 0.0 to 1.0, or not a percentage.
///     TypeError: The limit is not an int, a float, a str or None.
///     NoAcceleratorError: No accelerator is available.
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (limit, device=None))]
fn set_cache_limit(limit: &Bound<'_, PyAny>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let (py, limit) = (limit.py(), extract_limit(limit, SET_CACHE_LIMIT)?);
    let device = device::optional(device, "accelerator.memory.set_cache_limit")?;
    detach(py, || memory::set_cache_limit(limit, device)).into_py_result(py)
}

/// Return the limit of cached memory on a device in bytes, or None for no limit.
///
/// Args:
///     device: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn get_cache_limit(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    device::query(py, device, "accelerator.memory.get_cache_limit", memory::cache_limit)
}

/// Return the limits of reserved and of cached memory of each device; nothing before a driver is in use, and for an
/// invalid configuration.
#[pyfunction]
fn _limits(py: Python<'_>) -> Vec<(Option<u64>, Option<u64>)> {
    detach(py, memory::limits).unwrap_or_default()
}
