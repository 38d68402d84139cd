//! Devices, and the extraction of device arguments.

use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};

use interlock::accelerator::{self, Device as CoreDevice, DeviceScope, Error};
use interlock_core::base::quote::{quoted, shortened};
use once_cell::race::OnceBox;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString, PyTuple, PyType};
use pyo3::{PyTraverseError, PyVisit};

use crate::context::traverse_scope;
use crate::detach::{detach, detach_with_env};
use crate::errors::{IntoPyResult, exception, new_exception, new_type_error};
use crate::py_int;
use crate::scope_debug;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Device>()
}

/// A device: a type such as "cpu" or "cuda", and an index unless it means the current device of the type.
///
/// `device("cuda:1")` equals `device("cuda", 1)`; `device(1)` is a device of the accelerator of this process. `with
/// device:` makes it the default device of new tensors.
///
/// Args:
///     type: The name of a device, a device, or an index on the accelerator.
///     index: The index, if `type` is the name of a device type.
///
/// Raises:
///     DeviceError: The text is not the name of a device.
///     TypeError: An argument has another type.
///     NoAcceleratorError: An index was passed and no accelerator is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.device("cuda:1")
///     device(type='cuda', index=1)
///     >>> interlock.device("cuda").index is None
///     True
#[pyclass(frozen, eq, weakref, module = "interlock", name = "device")]
pub(crate) struct Device {
    pub(crate) core: CoreDevice,
    /// Created by the first enter.
    scope: OnceBox<DeviceScope>,
}

impl Device {
    pub(crate) fn of(core: CoreDevice) -> Self {
        Device { core, scope: OnceBox::new() }
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.core == other.core
    }
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (r#type, index = None))]
    fn new(r#type: &Bound<'_, PyAny>, index: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        const OPERATION: &str = "device";
        let py = r#type.py();
        let Some(index) = index else { return Ok(Device::of(parse(r#type, OPERATION, "type")?)) };
        if !r#type.is_instance_of::<PyString>() {
            return Err(new_type_error("device: type", "a str if index is passed", r#type));
        }
        let (device, index) =
            (parse(r#type, OPERATION, "type")?, checked_index(index, OPERATION, "index", "an int")?);
        if device.index().is_some() {
            let message = format!(
                "device: type must not have an index if index is passed, got \"{device}\" and {index}"
            );
            return Err(new_exception(py, "DeviceError", message));
        }
        let device = CoreDevice::new(device.kind(), Some(index));
        device.map(Device::of).map_err(|error| no_device(py, OPERATION, &error))
    }

    /// The device type, such as "cpu".
    #[getter]
    fn r#type(&self) -> &'static str {
        self.core.kind().name()
    }

    /// The index, or None if the device means the current device of its type.
    #[getter]
    fn index(&self) -> Option<u8> {
        self.core.index()
    }

    fn __str__(&self) -> String {
        self.core.to_string()
    }

    fn __repr__(&self) -> String {
        match self.core.index() {
            Some(index) => format!("device(type='{}', index={index})", self.core.kind()),
            None => format!("device(type='{}')", self.core.kind()),
        }
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.core.hash(&mut hasher);
        hasher.finish()
    }

    fn __enter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let device = slf.get();
        let scope = device.scope.get_or_init(|| Box::new(DeviceScope::from_default_device(device.core)));
        scope_debug::enter(slf.py(), scope.scope(), || "device".into(), || scope.try_enter())?;
        Ok(slf)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.scope.get().map_or(Ok(()), |scope| traverse_scope(scope.scope(), &visit))
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        match self.scope.get() {
            Some(scope) => scope_debug::exit(py, scope.scope(), || "device".into()),
            None => scope_debug::warn_not_open(py, "device"),
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        Ok((py.get_type::<Device>(), (self.core.to_string(),).into_pyobject(py)?))
    }
}

/// The accepted devices, for messages.
const ALLOWED: &str = "a device, a str or an int";

/// Extracts a device argument: a device, its name, or an index on the accelerator. Errors name the
/// operation and the argument.
pub(crate) fn parse(
    given: &Bound<'_, PyAny>,
    operation: &'static str,
    argument: &str,
) -> PyResult<CoreDevice> {
    let py = given.py();
    if let Ok(device) = given.cast::<Device>() {
        Ok(device.get().core)
    } else if let Ok(text) = given.cast::<PyString>() {
        let text = text.to_string_lossy();
        match text.parse() {
            Ok(device) => Ok(device),
            Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                let message = format!(
                    "{operation}: {argument} must be an int or a name such as \"host:{}\", got {}",
                    shortened(&text),
                    quoted(&text)
                );
                Err(new_exception(py, "DeviceError", message))
            }
            Err(_) => detach_with_env(py, || accelerator::parse_device(&text))
                .map_err(|error| no_device(py, operation, &error)),
        }
    } else {
        let index = checked_index(given, operation, argument, ALLOWED)?;
        let accelerator = match known_accelerator() {
            Some(accelerator) => accelerator,
            None => detach_with_env(py, || accelerator::required(operation)).into_py_result(py)?,
        };
        CoreDevice::new(accelerator.kind(), Some(index)).map_err(|error| no_device(py, operation, &error))
    }
}

/// Returns the exception of `operation` for what names no device.
fn no_device(py: Python<'_>, operation: &str, error: &impl Display) -> PyErr {
    new_exception(py, "DeviceError", format!("{operation}: {error}"))
}

/// Returns the accelerator, if it is known to have a device without a query of the driver.
fn known_accelerator() -> Option<CoreDevice> {
    accelerator::known_devices().filter(|known| known.count > 0)?.accelerator
}

/// Extracts the optional argument `device` of `operation`.
pub(crate) fn optional(
    given: Option<&Bound<'_, PyAny>>,
    operation: &'static str,
) -> PyResult<Option<CoreDevice>> {
    given.map(|given| parse(given, operation, "device")).transpose()
}

/// Extracts an optional device argument of a memory query, which also works without an accelerator: then an index of 0
/// means no device, and every other index is an error.
pub(crate) fn for_memory_query(
    given: Option<&Bound<'_, PyAny>>,
    operation: &'static str,
) -> PyResult<Option<CoreDevice>> {
    let Some(given) = given else { return Ok(None) };
    if given.is_instance_of::<Device>() || given.is_instance_of::<PyString>() {
        return parse(given, operation, "device").map(Some);
    }
    let (py, index) = (given.py(), checked_index(given, operation, "device", ALLOWED)?);
    let accelerator = known_accelerator().or_else(|| detach_with_env(py, accelerator::current_accelerator));
    let kind = accelerator.unwrap_or(CoreDevice::CUDA).kind();
    let device = CoreDevice::new(kind, Some(index)).map_err(|error| no_device(py, operation, &error))?;
    match accelerator {
        Some(_) => Ok(Some(device)),
        None if index == 0 => Ok(None),
        None => {
            let operation = operation.to_owned();
            let reason = detach_with_env(py, accelerator::unavailable_reason).unwrap_or_default();
            Err(exception(py, &Error::DeviceUnavailable { operation, device, reason }))
        }
    }
}

/// Calls `function`, a query of memory, with an optional device argument. Errors name `operation`.
pub(crate) fn query<T: Send>(
    py: Python<'_>,
    device: Option<&Bound<'_, PyAny>>,
    operation: &'static str,
    function: impl FnOnce(Option<CoreDevice>) -> accelerator::Result<T> + Send,
) -> PyResult<T> {
    let device = for_memory_query(device, operation)?;
    detach(py, || function(device)).map_err(|error| error.during(operation)).into_py_result(py)
}

/// Extracts a device argument that must have an index, for `operation`.
pub(crate) fn with_index(given: &Bound<'_, PyAny>, operation: &'static str) -> PyResult<CoreDevice> {
    let device = if given.is_none() { None } else { Some(parse(given, operation, "device")?) };
    device.filter(|device| device.index().is_some()).ok_or_else(|| {
        let given_device = device.map_or("None".to_owned(), |device| format!("\"{device}\""));
        let allowed = "an index, or a device with an index".to_owned();
        let name = format!("{operation}: device");
        exception(given.py(), &Error::NoSuchDevice { name, given: given_device, allowed })
    })
}

/// Extracts the index of a device that need not exist.
pub(crate) fn parse_index(
    given: &Bound<'_, PyAny>,
    operation: &str,
    argument: &str,
    allowed: &str,
) -> PyResult<u8> {
    let number = checked_index(given, operation, argument, allowed)?;
    let index = u8::try_from(number).ok().filter(|index| *index <= CoreDevice::MAX_INDEX);
    index.ok_or_else(|| no_device(given.py(), operation, &CoreDevice::invalid_index(number)))
}

/// Extracts an index. A bool is not accepted, although it is an int in Python.
fn checked_index(given: &Bound<'_, PyAny>, operation: &str, argument: &str, allowed: &str) -> PyResult<i64> {
    let number = given.cast::<PyInt>().ok().filter(|_| !given.is_instance_of::<PyBool>());
    let Some(number) = number else {
        let name = format!("{operation}: {argument}");
        return Err(new_type_error(&name, allowed, given));
    };
    py_int::int64(number)
        .ok_or_else(|| no_device(given.py(), operation, &CoreDevice::invalid_index(py_int::text(number))))
}
