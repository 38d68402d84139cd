//! Devices.

use std::hash::{DefaultHasher, Hash, Hasher};

use interlock::Error;
use interlock::accelerator::{self, Device as CoreDevice};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString, PyTuple, PyType};

use crate::errors::{IntoPython, exception, raised};
use crate::submodule::submodule;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "accelerator")?;
    module.add_class::<Device>()?;
    module.add_function(wrap_pyfunction!(current_accelerator, &module)?)?;
    module.add_function(wrap_pyfunction!(is_available, &module)?)?;
    module.add_function(wrap_pyfunction!(device_count, &module)?)?;
    module.add_function(wrap_pyfunction!(why_unavailable, &module)?)
}

/// A device: a type such as "cpu" or "cuda" and, unless it stands for the current one, an index.
///
/// Written `device("cuda:1")`, `device("cuda", 1)`, or `device(1)` for an index on the accelerator of
/// this process. Raises RuntimeError (`interlock.errors.DeviceError`) for text that names no device,
/// TypeError for other types, and `NoAcceleratorError` for an index without an accelerator.
#[pyclass(frozen, eq, module = "interlock", name = "device")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Device(pub(crate) CoreDevice);

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (r#type, index = None))]
    fn new(r#type: &Bound<'_, PyAny>, index: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = r#type.py();
        let Some(index) = index else { return Ok(Device(parse(r#type)?)) };
        if !r#type.is_instance_of::<PyString>() {
            let message = "an index may follow the name of a device type, a str, and nothing else";
            return Err(PyTypeError::new_err(message));
        }
        let (device, index) = (parse(r#type)?, checked_index(index)?);
        if let Some(already) = device.index() {
            let message =
                format!("the device {device} has the index {already} already; {index} was given too");
            return Err(raised(py, "DeviceError", message));
        }
        Ok(Device(CoreDevice::new(device.kind(), Some(index)).into_python(py)?))
    }

    /// The type, such as "cpu".
    #[getter]
    fn r#type(&self) -> &'static str {
        self.0.kind().name()
    }

    /// The index, or None where the device stands for the current one of its type.
    #[getter]
    fn index(&self) -> Option<u8> {
        self.0.index()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        match self.0.index() {
            Some(index) => format!("device(type='{}', index={index})", self.0.kind()),
            None => format!("device(type='{}')", self.0.kind()),
        }
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        Ok((py.get_type::<Device>(), (self.0.to_string(),).into_pyobject(py)?))
    }
}

/// The one parser of device arguments: a device, its text, or an index on the accelerator.
pub(crate) fn parse(given: &Bound<'_, PyAny>) -> PyResult<CoreDevice> {
    let py = given.py();
    if let Ok(device) = given.cast::<Device>() {
        Ok(device.get().0)
    } else if let Ok(text) = given.cast::<PyString>() {
        text.to_cow()?.parse().into_python(py)
    } else {
        let index = checked_index(given)?;
        let accelerator = py.detach(|| accelerator::required("device(index)")).into_python(py)?;
        CoreDevice::new(accelerator.kind(), Some(index)).into_python(py)
    }
}

/// An int; True and False are ints to Python, not to us.
fn checked_index(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    let number = given.cast::<PyInt>().ok().filter(|_| !given.is_instance_of::<PyBool>());
    let Some(number) = number else {
        let class = given.get_type().name()?;
        let message =
            format!("a device is a device, a str or an int (its index), got a value of type {class}");
        return Err(PyTypeError::new_err(message));
    };
    number.extract().map_err(|_| exception(given.py(), &Error::DeviceIndex { given: number.to_string() }))
}

/// The accelerator of this process, or None.
///
/// PyTorch names the one it was built for when `check_available` is False; interlock is built for all
/// of them, so that the argument makes no difference.
#[pyfunction]
#[pyo3(signature = (check_available = false))]
fn current_accelerator(py: Python<'_>, check_available: bool) -> Option<Device> {
    let _ = check_available;
    py.detach(accelerator::current_accelerator).map(Device)
}

/// Whether there is an accelerator with at least one device.
#[pyfunction]
fn is_available(py: Python<'_>) -> bool {
    py.detach(accelerator::is_available)
}

/// How many devices the accelerator has; 0 where there is none. The first call starts the driver.
#[pyfunction]
fn device_count(py: Python<'_>) -> u32 {
    py.detach(accelerator::device_count)
}

/// Why there is no accelerator, in one sentence; None where there is one.
#[pyfunction]
fn why_unavailable(py: Python<'_>) -> Option<String> {
    py.detach(accelerator::why_unavailable)
}
