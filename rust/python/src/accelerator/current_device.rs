//! The driver of the process, the current device and the current streams.

use std::ffi::CString;

use interlock::accelerator::host::{HostDriver, HostOptions};
use interlock::accelerator::{self, Device as CoreDevice, DeviceScope, DeviceType};
use interlock_core::base::env;
use interlock_core::base::quote::quoted;
use once_cell::race::OnceBox;
use pyo3::exceptions::{PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::fault_injection::FaultInjector;
use super::stream::{self, Stream};
use crate::advice::in_python;
use crate::args;
use crate::context::sync;
use crate::context::traverse_scope;
use crate::detach::{detach, detach_with_env, wait};
use crate::device::{self, Device};
use crate::errors::{IntoPyResult, exception, new_exception, new_type_error};
use crate::scope_debug;
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DeviceIndex>()?;
    module.add_function(wrap_pyfunction!(use_driver, module)?)?;
    module.add_function(wrap_pyfunction!(current_accelerator, module)?)?;
    module.add_function(wrap_pyfunction!(is_available, module)?)?;
    module.add_function(wrap_pyfunction!(device_count, module)?)?;
    module.add_function(wrap_pyfunction!(unavailable_reason, module)?)?;
    module.add_function(wrap_pyfunction!(current_device_index, module)?)?;
    module.add_function(wrap_pyfunction!(set_device_index, module)?)?;
    module.add_function(wrap_pyfunction!(current_stream, module)?)?;
    module.add_function(wrap_pyfunction!(set_stream, module)?)?;
    module.add_function(wrap_pyfunction!(synchronize, module)?)?;
    module.add_function(wrap_pyfunction!(stream_priority_range, module)?)?;
    module.add_function(wrap_pyfunction!(device_name, module)?)?;
    module.add_function(wrap_pyfunction!(properties, module)?)?;
    module.add_function(wrap_pyfunction!(check_device_of_capability, module)?)?;
    module.add_function(wrap_pyfunction!(get_memory_info, module)?)?;
    module.add_function(wrap_pyfunction!(get_default_device, module)?)?;
    module.add_function(wrap_pyfunction!(set_default_device, module)?)
}

/// Select the driver of this process. The driver is fixed when a device is used first.
///
/// Args:
///     name: "host" for devices that run on threads of the CPU, "host:N" for N of them, "cuda", the name of a driver
///         that the embedding program has registered, or "none".
///     devices: The number of devices, only for "host". None means 1.
///     memory: The bytes of memory of each device, only for "host". None means 4 GiB.
///     faults: Injects errors for tests, only for "host".
///
/// Raises:
///     DriverInUseError: A device has been used.
///     DeviceError: The name is unknown.
///     ArgumentError: A number is out of range.
///     TypeError: `devices`, `memory` or `faults` was passed for another driver than "host".
///
/// Example:
///     >>> from interlock import accelerator
///     >>> accelerator.use("host", devices=2, memory=1 << 30)
///     >>> accelerator.device_count()
///     2
#[pyfunction(name = "use")]
#[pyo3(signature = (name, *, devices=None, memory=None, faults=None))]
fn use_driver(
    py: Python<'_>,
    name: &Bound<'_, PyAny>,
    devices: Option<&Bound<'_, PyAny>>,
    memory: Option<&Bound<'_, PyAny>>,
    faults: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let name = &*args::extract_str(name, "accelerator.use: name")?;
    if name != "host" && (devices.is_some() || memory.is_some() || faults.is_some()) {
        let message = format!(
            "accelerator.use: devices, memory and faults are arguments of the driver \"host\" only, got {}",
            quoted(name)
        );
        return Err(PyTypeError::new_err(message));
    }
    let devices = args::extract_optional_int(devices, "accelerator.use: devices", "from 0 to 128")?;
    let memory = args::extract_optional_int(memory, "accelerator.use: memory", "a number of bytes")?;
    let faults = faults.map(|given| match given.cast::<FaultInjector>() {
        Ok(faults) => Ok(faults.get().0.clone()),
        Err(_) => Err(new_type_error("accelerator.use: faults", "a FaultInjector", given)),
    });
    let faults = faults.transpose()?;
    let selected = detach_with_env(py, || match name {
        "host" => {
            let mut options = HostOptions::default();
            options.devices = devices.unwrap_or(options.devices);
            options.memory = memory.unwrap_or(options.memory);
            options.faults = faults.unwrap_or(options.faults);
            accelerator::use_driver(HostDriver::new(options)?)
        }
        _ => accelerator::use_named(name),
    });
    selected.into_py_result(py)
}

/// Warns about a variable that has changed without effect, because the driver was fixed before.
fn warn_stale_env(py: Python<'_>) -> PyResult<()> {
    let Some(message) = detach_with_env(py, accelerator::stale_env_warning) else {
        return Ok(());
    };
    let class = py.import("interlock.errors")?.getattr("AcceleratorEnvironmentWarning")?;
    let message = CString::new(message)
        .map_err(|_| PyValueError::new_err("an environment variable contains a zero byte"))?;
    PyErr::warn(py, &class, &message, 1)
}

/// Return the accelerator of this process as a device without an index, or None. Does not fix the driver.
///
/// Args:
///     check_available: Whether to return None for a driver that was selected but has no device.
///
/// Example:
///     >>> from interlock import accelerator
///     >>> accelerator.use("host")
///     >>> accelerator.current_accelerator()
///     device(type='host')
#[pyfunction]
#[pyo3(signature = (check_available = false))]
fn current_accelerator(
    py: Python<'_>,
    #[pyo3(from_py_with = switches::current_accelerator::check_available)] check_available: bool,
) -> PyResult<Option<Device>> {
    if let Some(known) = accelerator::known_devices() {
        let found = known.accelerator.filter(|_| !check_available || known.count > 0);
        return Ok(found.map(Device::of));
    }
    warn_stale_env(py)?;
    let found = detach_with_env(py, || {
        accelerator::current_accelerator().filter(|_| !check_available || accelerator::is_available())
    });
    Ok(found.map(Device::of))
}

/// Return whether an accelerator with at least one device is available. Does not fix the driver.
#[pyfunction]
fn is_available(py: Python<'_>) -> PyResult<bool> {
    if let Some(known) = accelerator::known_devices() {
        return Ok(known.count > 0);
    }
    warn_stale_env(py)?;
    Ok(detach_with_env(py, accelerator::is_available))
}

/// Return the number of devices of the accelerator, 0 if there is none. Does not fix the driver.
#[pyfunction]
fn device_count(py: Python<'_>) -> PyResult<u32> {
    if let Some(known) = accelerator::known_devices() {
        return Ok(known.count);
    }
    warn_stale_env(py)?;
    Ok(detach_with_env(py, accelerator::device_count))
}

/// Return the reason why no accelerator with a device is available, in one sentence; None if one is.
#[pyfunction]
fn unavailable_reason(py: Python<'_>) -> Option<String> {
    detach_with_env(py, accelerator::unavailable_reason).map(in_python)
}

/// Return the index of the current device of this context, 0 unless another device was made current.
///
/// Raises:
///     NoAcceleratorError: No accelerator is available.
#[pyfunction]
fn current_device_index(py: Python<'_>) -> PyResult<u8> {
    if let Some(index) = sync(py).current_device_index() {
        return Ok(index);
    }
    let device = detach_with_env(py, accelerator::current_device).into_py_result(py)?;
    Ok(device.index().unwrap_or(0))
}

/// Make a device the current one, until the innermost open scope that sets it is exited; without one, for the context.
///
/// Args:
///     device: The device, which must have an index.
///
/// Raises:
///     NoAcceleratorError: No accelerator is available.
///     DeviceError: The accelerator does not have the device.
///     AcceleratorError: Another device has a context of CUDA, and `TORCH_CUDA_CHECK_STRAY_CONTEXT` is "error".
#[pyfunction]
#[pyo3(signature = (device, /))]
fn set_device_index(device: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = device.py();
    const OPERATION: &str = "accelerator.set_device_index";
    let device = device::with_index(device, OPERATION)?;
    // The first use of the device may start the driver. The write is attached, so that the context is at hand.
    detach(py, || accelerator::resolve_device(Some(device), OPERATION)).into_py_result(py)?;
    check_stray_contexts(py, device)?;
    accelerator::set_device(device).into_py_result(py)
}

/// Warns of contexts on other devices, or refuses them, if the environment asks for that.
fn check_stray_contexts(py: Python<'_>, device: CoreDevice) -> PyResult<()> {
    let found = detach_with_env(py, || {
        let mode = env::read("TORCH_CUDA_CHECK_STRAY_CONTEXT")?.to_ascii_lowercase();
        let is_error = mode == "error";
        (is_error || mode == "warn").then(|| Ok((is_error, accelerator::stray_contexts(device)?)))
    });
    let Some(found) = found else { return Ok(()) };
    let (is_error, stray) = found.map_err(|error: accelerator::Error| exception(py, &error))?;
    if stray.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = stray.iter().map(CoreDevice::to_string).collect();
    let message = format!(
        "accelerator.set_device_index: {device} is set after a context was created on {}, which takes memory there; \
         set the device before the first operation on a device and before memory is pinned",
        names.join(", ")
    );
    if is_error {
        return Err(new_exception(py, "AcceleratorError", message));
    }
    let message = CString::new(message)?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)
}

/// Return the current stream of a device in this context, its default stream unless another one was made current.
///
/// Args:
///     device: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     NoAcceleratorError: No accelerator is available.
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device=None, /))]
fn current_stream(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Stream> {
    let device = device::optional(device, "accelerator.current_stream")?;
    detach(py, || accelerator::current_stream(device)).into_py_result(py).map(Stream::of)
}

/// Make a stream the current one of its device, and that device the current one; each until the
/// innermost open scope that sets it is exited. `with stream:` limits it to a block.
///
/// Args:
///     stream: A `Stream`, or an object with `__cuda_stream__`.
///
/// Raises:
///     TypeError: `stream` is not a stream.
#[pyfunction]
#[pyo3(signature = (stream))]
fn set_stream(stream: &Bound<'_, PyAny>) -> PyResult<()> {
    let core = stream::extract(stream, "accelerator.set_stream")?;
    accelerator::set_stream(&core).into_py_result(stream.py())
}

/// Wait for all work that is queued on a device. Ctrl-C interrupts the wait.
///
/// Args:
///     device: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     AcceleratorError: Queued work has failed, and the error was not reported yet.
///     NoAcceleratorError: No accelerator is available.
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device=None, /))]
fn synchronize(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let device = device::optional(device, "accelerator.synchronize")?;
    wait(py, || accelerator::begin_wait(device).map(Some))
}

/// Return the range of stream priorities of a device.
///
/// Args:
///     device: The device. None, or a device without an index, means the current device.
///
/// Returns:
///     The least priority, which is the largest number, and the greatest priority, which is the smallest number.
///
/// Raises:
///     NoAcceleratorError: No accelerator is available.
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device=None, /))]
fn stream_priority_range(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<(i32, i32)> {
    let device = device::optional(device, "accelerator.stream_priority_range")?;
    let range = detach(py, || accelerator::priority_range(device)).into_py_result(py)?;
    Ok((range.least, range.greatest))
}

/// Return the name of a device, as its driver reports it.
///
/// Args:
///     device: The device. None, or a device without an index, means the current device.
///
/// Raises:
///     NoAcceleratorError: No accelerator is available.
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device=None, /))]
fn device_name(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    let device = device::optional(device, "accelerator.device_name")?;
    let found = detach(py, || accelerator::properties(device));
    Ok(found.map_err(|error| error.during("accelerator.device_name")).into_py_result(py)?.name)
}

/// Check the device of `get_device_capability`, whose result is the same for every device.
#[pyfunction]
#[pyo3(signature = (device=None, /))]
fn check_device_of_capability(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    const OPERATION: &str = "accelerator.get_device_capability";
    let device = device::optional(device, OPERATION)?;
    let found = detach(py, || accelerator::properties(device));
    found.map_err(|error| error.during(OPERATION)).into_py_result(py).map(drop)
}

/// Return the properties of a device as a dict.
#[pyfunction]
#[pyo3(signature = (device=None, /))]
fn properties<'py>(py: Python<'py>, device: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyDict>> {
    let device = device::optional(device, "accelerator.device_properties")?;
    let found = detach(py, || accelerator::properties(device)).into_py_result(py)?;
    let dict = PyDict::new(py);
    dict.set_item("name", found.name)?;
    dict.set_item("total_memory", found.total_memory)?;
    dict.set_item("multi_processor_count", found.multi_processor_count)?;
    let extra = PyDict::new(py);
    found.extra.into_iter().try_for_each(|(name, value)| extra.set_item(name, value))?;
    dict.set_item("extra", extra)?;
    Ok(dict)
}

/// Return the free and the total memory of a device in bytes, as its driver reports them.
///
/// Args:
///     device_index: The device. None, or a device without an index, means the current device.
///
/// Returns:
///     The free and the total bytes. Memory that the caching allocator has reserved is not free.
///
/// Raises:
///     NoAcceleratorError: No accelerator is available.
///     DeviceError: The accelerator does not have the device.
#[pyfunction]
#[pyo3(signature = (device_index=None, /))]
fn get_memory_info(py: Python<'_>, device_index: Option<&Bound<'_, PyAny>>) -> PyResult<(u64, u64)> {
    let device = device::optional(device_index, "accelerator.get_memory_info")?;
    let info = detach(py, || accelerator::memory_info(device)).into_py_result(py)?;
    Ok((info.free, info.total))
}

/// Return the device on which tensors are created unless one is passed: the CPU unless another one was set. For a
/// device without an index, the result has the index of the current device.
#[pyfunction]
fn get_default_device(py: Python<'_>) -> Device {
    let default = sync(py).default_device();
    if default.index().is_some() || default.kind() == DeviceType::Cpu {
        return Device::of(default);
    }
    let current = detach_with_env(py, accelerator::current_device);
    Device::of(current.ok().filter(|current| current.kind() == default.kind()).unwrap_or(default))
}

/// Set the device on which tensors are created unless one is passed, until the innermost open scope that sets
/// it is exited.
///
/// Args:
///     device: A device, its name, or an index on the accelerator. None means the CPU. The device is not checked to
///         exist.
///
/// Raises:
///     DeviceError: The text is not the name of a device.
///     NoAcceleratorError: An index was passed and no accelerator is available.
#[pyfunction]
#[pyo3(signature = (device))]
fn set_default_device(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let device = device::optional(device, "set_default_device")?;
    accelerator::set_default_device(device).into_py_result(py)
}

/// Context manager that makes a device the current one of the context that enters it.
///
/// Args:
///     device: An index, a device or its name, with an index. None has no effect.
///
/// Raises:
///     NoAcceleratorError: No accelerator is available when the block is entered.
///     DeviceError: The device has no index, or the accelerator does not have it when the block is entered.
///
/// Example:
///     >>> from interlock import accelerator
///     >>> accelerator.use("host", devices=2)
///     >>> with accelerator.device_index(1):
///     ...     accelerator.current_device_index()
///     1
#[pyclass(frozen, subclass, module = "interlock.accelerator", name = "device_index")]
struct DeviceIndex {
    device: Option<interlock::accelerator::Device>,
    /// Created by the first enter, which checks that the device exists.
    scope: OnceBox<DeviceScope>,
}

/// Names a [`DeviceIndex`] in messages.
const DEVICE_INDEX: &str = "accelerator.device_index";

#[pymethods]
impl DeviceIndex {
    #[new]
    #[pyo3(signature = (device, /))]
    fn new(device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let extract = |device| device::with_index(device, "accelerator.device_index");
        Ok(DeviceIndex { device: device.map(extract).transpose()?, scope: OnceBox::new() })
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        let Some(device) = self.device else { return Ok(()) };
        let scope =
            detach(py, || self.scope.get_or_try_init(|| DeviceScope::from_device(device).map(Box::new)));
        let scope = scope.into_py_result(py)?;
        scope.check().into_py_result(py)?;
        scope_debug::enter(py, scope.scope(), || DEVICE_INDEX.into(), || scope.try_enter())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.scope.get().map_or(Ok(()), |scope| traverse_scope(scope.scope(), &visit))
    }

    #[pyo3(signature = (*exc_info))]
    fn __exit__(&self, py: Python<'_>, exc_info: &Bound<'_, PyTuple>) -> PyResult<()> {
        let _ = exc_info;
        match self.scope.get() {
            Some(scope) => scope_debug::exit(py, scope.scope(), || DEVICE_INDEX.into()),
            // The scope of None enters nothing.
            None if self.device.is_none() => Ok(()),
            None => scope_debug::warn_not_open(py, DEVICE_INDEX),
        }
    }

    fn __repr__(&self) -> String {
        let device = self.device.map_or_else(|| "None".to_owned(), |device| format!("'{device}'"));
        format!("interlock.accelerator.device_index({device})")
    }
}
