//! Which driver is used, and which device and streams are current.

use std::ffi::CString;

use interlock::accelerator::host::{HostDriver, HostOptions};
use interlock::accelerator::{self, DeviceType, DeviceScope};
use once_cell::race::OnceBox;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::device::{self, Device};
use super::faults::FaultInjector;
use super::integer;
use super::stream::{self, Stream};
use crate::detached::{detached, detached_with_environment, wait};
use crate::errors::IntoPyResult;
use crate::trace;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DeviceIndex>()?;
    module.add_function(wrap_pyfunction!(use_driver, module)?)?;
    module.add_function(wrap_pyfunction!(current_accelerator, module)?)?;
    module.add_function(wrap_pyfunction!(is_available, module)?)?;
    module.add_function(wrap_pyfunction!(device_count, module)?)?;
    module.add_function(wrap_pyfunction!(why_unavailable, module)?)?;
    module.add_function(wrap_pyfunction!(current_device_index, module)?)?;
    module.add_function(wrap_pyfunction!(set_device_index, module)?)?;
    module.add_function(wrap_pyfunction!(current_stream, module)?)?;
    module.add_function(wrap_pyfunction!(set_stream, module)?)?;
    module.add_function(wrap_pyfunction!(synchronize, module)?)?;
    module.add_function(wrap_pyfunction!(stream_priority_range, module)?)?;
    module.add_function(wrap_pyfunction!(device_name, module)?)?;
    module.add_function(wrap_pyfunction!(properties, module)?)?;
    module.add_function(wrap_pyfunction!(get_memory_info, module)?)?;
    module.add_function(wrap_pyfunction!(get_default_device, module)?)?;
    module.add_function(wrap_pyfunction!(set_default_device, module)?)
}

/// Chooses the driver of this process: "host" for devices made of threads and memory of this computer, "cuda", the
/// name of one that the program which embeds Python has registered, or "none".
///
/// `devices` (how many, 1 if not given), `memory` (bytes that each has, 4 GiB if not given) and `faults` (what is
/// to go wrong, for tests) belong to "host".
/// The driver is fixed when a device is used first; afterwards this raises `DriverInUseError`. Raises
/// `DeviceError` for an unknown name, `ArgumentError` for numbers that don't fit.
#[pyfunction(name = "use")]
#[pyo3(signature = (name, *, devices=None, memory=None, faults=None))]
fn use_driver(
    py: Python<'_>,
    name: &str,
    devices: Option<&Bound<'_, PyAny>>,
    memory: Option<&Bound<'_, PyAny>>,
    faults: Option<&Bound<'_, FaultInjector>>,
) -> PyResult<()> {
    if name != "host" && (devices.is_some() || memory.is_some() || faults.is_some()) {
        let message = "devices, memory and faults may be given for the driver \"host\" alone";
        return Err(PyTypeError::new_err(message));
    }
    let devices = integer::optional(devices, "devices of the host driver", "0 to 128")?;
    let memory = integer::optional(memory, "memory of the host driver", "a number of bytes")?;
    let faults = faults.map(|faults| faults.get().0.clone());
    let chosen = detached_with_environment(py, || match name {
        "host" => {
            let mut options = HostOptions::default();
            options.devices = devices.unwrap_or(options.devices);
            options.memory = memory.unwrap_or(options.memory);
            options.faults = faults.unwrap_or(options.faults);
            accelerator::use_driver(HostDriver::new(options)?)
        }
        _ => accelerator::use_named(name),
    });
    chosen.into_py_result(py)
}

/// Warns of a variable that changed when the driver, or what it shows, was fixed already.
fn warn_of_the_environment(py: Python<'_>) -> PyResult<()> {
    let Some(message) = detached_with_environment(py, accelerator::stale_env_warning) else {
        return Ok(());
    };
    let class = py.import("interlock.errors")?.getattr("AcceleratorEnvironmentWarning")?;
    let message = CString::new(message).map_err(|_| PyValueError::new_err("a variable holds a zero byte"))?;
    PyErr::warn(py, &class, &message, 1)
}

/// The accelerator of this process without an index, or None.
///
/// It is there once a driver was chosen, even if that has no device; with `check_available` only if it has one.
#[pyfunction]
#[pyo3(signature = (check_available = false))]
fn current_accelerator(py: Python<'_>, check_available: bool) -> PyResult<Option<Device>> {
    if let Some(known) = accelerator::known_devices() {
        let found = known.accelerator.filter(|_| !check_available || known.count > 0);
        return Ok(found.map(Device::of));
    }
    warn_of_the_environment(py)?;
    let found = detached_with_environment(py, || {
        accelerator::current_accelerator().filter(|_| !check_available || accelerator::is_available())
    });
    Ok(found.map(Device::of))
}

/// Whether there is an accelerator with at least one device. Fixes nothing: a driver may still be chosen.
#[pyfunction]
fn is_available(py: Python<'_>) -> PyResult<bool> {
    if let Some(known) = accelerator::known_devices() {
        return Ok(known.count > 0);
    }
    warn_of_the_environment(py)?;
    Ok(detached_with_environment(py, accelerator::is_available))
}

/// How many devices the accelerator has; 0 where there is none. Fixes nothing: a driver may still be chosen.
#[pyfunction]
fn device_count(py: Python<'_>) -> PyResult<u32> {
    if let Some(known) = accelerator::known_devices() {
        return Ok(known.count);
    }
    warn_of_the_environment(py)?;
    Ok(detached_with_environment(py, accelerator::device_count))
}

/// Why there is no accelerator with a device, in one sentence; None where there is one.
#[pyfunction]
fn why_unavailable(py: Python<'_>) -> Option<String> {
    detached_with_environment(py, accelerator::unavailable_reason)
}

/// The index of the current device of this thread: 0 until another is made current.
#[pyfunction]
fn current_device_index(py: Python<'_>) -> PyResult<u8> {
    if let Some(index) = accelerator::current_index() {
        return Ok(index);
    }
    let device = detached_with_environment(py, accelerator::current_device).into_py_result(py)?;
    Ok(device.index().unwrap_or(0))
}

/// Makes a device the current one of this thread, until the innermost open scope that decides it is left. The
/// device must have an index.
#[pyfunction]
#[pyo3(signature = (device, /))]
fn set_device_index(device: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = device.py();
    let device = device::with_index(device, "accelerator.set_device_index")?;
    detached(py, || accelerator::set_device(device)).into_py_result(py)
}

/// The current stream of a device on this thread: its default one until another is made current. No device, or
/// one without an index, is the current one.
#[pyfunction]
#[pyo3(signature = (device=None, /))]
fn current_stream(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Stream> {
    let device = device::optional(device)?;
    detached(py, || accelerator::current_stream(device)).into_py_result(py).map(Stream::of)
}

/// Makes a stream the current one of its device on this thread, and that device the current one; each until the
/// innermost open scope that decides it is left.
#[pyfunction]
#[pyo3(signature = (stream))]
fn set_stream(stream: &Bound<'_, PyAny>) -> PyResult<()> {
    let core = stream::taken(stream)?;
    accelerator::set_stream(&core).into_py_result(stream.py())
}

/// Waits until all work of a device has been done. Raises what failed there, if that was not raised before. No
/// device, or one without an index, is the current one.
#[pyfunction]
#[pyo3(signature = (device=None, /))]
fn synchronize(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let device = device::optional(device)?;
    wait(py, || accelerator::begin_wait(device).map(Some))
}

/// The priorities that streams of a device may have: the largest number, which goes last, and the smallest,
/// which goes first.
#[pyfunction]
#[pyo3(signature = (device=None, /))]
fn stream_priority_range(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<(i32, i32)> {
    let device = device::optional(device)?;
    let range = detached(py, || accelerator::priority_range(device)).into_py_result(py)?;
    Ok((range.least, range.greatest))
}

/// A device as its maker calls it.
#[pyfunction]
#[pyo3(signature = (device=None, /))]
fn device_name(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    let device = device::optional(device)?;
    Ok(detached(py, || accelerator::properties(device)).into_py_result(py)?.name)
}

/// What a device is, as a dict.
#[pyfunction]
#[pyo3(signature = (device=None, /))]
fn properties<'py>(py: Python<'py>, device: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyDict>> {
    let device = device::optional(device)?;
    let found = detached(py, || accelerator::properties(device)).into_py_result(py)?;
    let told = PyDict::new(py);
    told.set_item("name", found.name)?;
    told.set_item("total_memory", found.total_memory)?;
    told.set_item("multi_processor_count", found.multi_processor_count)?;
    let more = PyDict::new(py);
    found.extra.into_iter().try_for_each(|(name, value)| more.set_item(name, value))?;
    told.set_item("extra", more)?;
    Ok(told)
}

/// Free and total memory of a device, in bytes. No device, or one without an index, is the current one.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn get_memory_info(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<(u64, u64)> {
    let device = device::optional(device_index)?;
    let info = detached(py, || accelerator::memory_info(device)).into_py_result(py)?;
    Ok((info.free, info.total))
}

/// The device on which tensors are made that are given none: the processor until another is chosen. One that was chosen
/// without an index has that of the current device of its type.
#[pyfunction]
fn get_default_device(py: Python<'_>) -> Device {
    let chosen = accelerator::default_device();
    if chosen.index().is_some() || chosen.kind() == DeviceType::Cpu {
        return Device::of(chosen);
    }
    let current = detached_with_environment(py, accelerator::current_device);
    Device::of(current.ok().filter(|current| current.kind() == chosen.kind()).unwrap_or(chosen))
}

/// Chooses the device on which tensors are made that are given none, for this thread and until the innermost open
/// scope that decides it is left; None is the processor.
#[pyfunction]
#[pyo3(signature = (device))]
fn set_default_device(device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    accelerator::set_default_device(device::optional(device)?);
    Ok(())
}

/// Makes a device the current one of this thread while it is open; None changes nothing.
///
/// It takes an index, a str or a device. Entering raises `NoAcceleratorError` without an accelerator and
/// `DeviceError` for a device that it does not have.
#[pyclass(frozen, subclass, module = "interlock.accelerator", name = "device_index")]
struct DeviceIndex {
    device: Option<interlock::accelerator::Device>,
    /// Made by the first enter, which looks whether the device is there.
    scope: OnceBox<DeviceScope>,
}

#[pymethods]
impl DeviceIndex {
    #[new]
    #[pyo3(signature = (device, /))]
    fn new(device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let named = |device| device::with_index(device, "accelerator.device_index");
        Ok(DeviceIndex { device: device.map(named).transpose()?, scope: OnceBox::new() })
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        let Some(device) = self.device else { return Ok(()) };
        let made =
            detached(py, || self.scope.get_or_try_init(|| DeviceScope::of_device(device).map(Box::new)));
        let scope = made.into_py_result(py)?;
        scope.check().into_py_result(py)?;
        trace::enter(py, scope.scope(), || scope.enter())
    }

    #[pyo3(signature = (*exc_info))]
    fn __exit__(&self, py: Python<'_>, exc_info: &Bound<'_, PyTuple>) -> PyResult<()> {
        let _ = exc_info;
        self.scope.get().map_or(Ok(()), |scope| trace::leave(py, scope.scope()))
    }
}
