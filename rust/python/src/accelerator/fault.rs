//! Faults of the host driver as arguments and as data.

use std::time::Duration;

use interlock::accelerator::host::{Chance, Fault, FaultEffect, FaultOperation};
use interlock::accelerator::{Device as CoreDevice, DeviceType, Error};
use interlock_core::base::quote::quoted;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt};

use super::stream;
use crate::args::{extract_int, extract_str};
use crate::device;
use crate::errors::exception;
use crate::switches::{self, extract_as};

const POSITIVE: &str = "from 1 to 2**64 - 1";

/// Returns an error of an argument of `FaultInjector.inject`.
fn refused(py: Python<'_>, argument: &str, given: impl Into<String>, allowed: &str) -> PyErr {
    exception(py, &Error::argument(format!("FaultInjector.inject: {argument}"), given, allowed))
}

/// Extracts an optional text argument.
fn optional_text(given: Option<&Bound<'_, PyAny>>, argument: &str) -> PyResult<Option<String>> {
    let name = format!("FaultInjector.inject: {argument}");
    given.map(|given| extract_str(given, &name).map(std::borrow::Cow::into_owned)).transpose()
}

/// Extracts `operation`.
fn operation(given: &Bound<'_, PyAny>) -> PyResult<FaultOperation> {
    let name = extract_str(given, "FaultInjector.inject: operation")?;
    name.parse().map_err(|_| {
        let names = FaultOperation::ALL.map(|operation| format!("\"{operation}\""));
        refused(given.py(), "operation", quoted(&name), &format!("one of {}", names.join(", ")))
    })
}

/// Extracts `device`.
fn device(given: &Bound<'_, PyAny>) -> PyResult<u8> {
    Ok(device::with_index(given, "FaultInjector.inject")?.index().unwrap_or(0))
}

/// Extracts `stream`: a stream, or its handle.
fn stream(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    if given.is_instance_of::<PyInt>() && !given.is_instance_of::<PyBool>() {
        return extract_int(given, "FaultInjector.inject: stream", "a stream or its native_handle");
    }
    let found = stream::extract(given, "FaultInjector.inject")?;
    found.handle().map(|handle| handle.raw).map_err(|error| exception(given.py(), &error))
}

/// Extracts `number`.
fn number(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    extract_int(given, "FaultInjector.inject: number", POSITIVE)
}

/// Extracts `times`.
fn times(given: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    if given.is_none() {
        return Ok(None);
    }
    extract_int(given, "FaultInjector.inject: times", POSITIVE).map(Some)
}

/// Extracts `seed`.
fn seed(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    extract_int(given, "FaultInjector.inject: seed", "from 0 to 2**64 - 1")
}

/// Extracts a number.
fn float(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<f64> {
    match extract_as(&format!("FaultInjector.inject: {argument}"), "a float", given) {
        Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => Ok(f64::INFINITY),
        other => other,
    }
}

/// Returns the chance of `probability` and `seed`.
fn chance(probability: Option<&Bound<'_, PyAny>>, seed: u64) -> PyResult<Option<Chance>> {
    let chance = |given| Ok(Chance { probability: float(given, "probability")?, seed });
    probability.map(chance).transpose()
}

/// Returns what a fault does. Without a delay and `never` it fails the operation.
fn effect(
    py: Python<'_>,
    error: Option<String>,
    sticky: bool,
    delay: Option<&Bound<'_, PyAny>>,
    never: bool,
) -> PyResult<FaultEffect> {
    if delay.is_some() && never {
        return Err(refused(py, "never", "True", "False with a delay"));
    }
    if delay.is_some() || never {
        if let Some(error) = error {
            return Err(refused(py, "error", quoted(&error), "None with a delay or never"));
        }
        if sticky {
            return Err(refused(py, "sticky", "True", "False with a delay or never"));
        }
    }
    if let Some(given) = delay {
        let seconds = float(given, "delay")?;
        let delay = Duration::try_from_secs_f64(seconds);
        return match delay {
            Ok(delay) => Ok(FaultEffect::Delay(delay)),
            Err(_) => {
                Err(refused(py, "delay", format!("{seconds:?}"), "a number of seconds from 0 to below 2**64"))
            }
        };
    }
    let reason = error.unwrap_or_else(|| "injected".to_owned());
    Ok(match (never, sticky) {
        (true, _) => FaultEffect::Never,
        (false, true) => FaultEffect::LoseDevice { reason },
        (false, false) => FaultEffect::Fail { reason },
    })
}

/// Returns the fault with these arguments of `inject`.
pub(super) fn from_dict(arguments: &Bound<'_, PyDict>) -> PyResult<Fault> {
    let rest = arguments.copy()?;
    let get = |name| {
        let given = rest.get_item(name)?;
        if given.is_some() {
            rest.del_item(name)?;
        }
        Ok::<_, PyErr>(given)
    };
    let some = |name| Ok::<_, PyErr>(get(name)?.filter(|given| !given.is_none()));
    let seed = get("seed")?.map_or(Ok(0), |given| seed(&given))?;
    let effect = effect(
        arguments.py(),
        optional_text(some("error")?.as_ref(), "error")?,
        get("sticky")?.map_or(Ok(false), |given| switches::inject::sticky(&given))?,
        some("delay")?.as_ref(),
        get("never")?.map_or(Ok(false), |given| switches::inject::never(&given))?,
    )?;
    let fault = Fault {
        operation: some("operation")?.map(|given| operation(&given)).transpose()?,
        name: optional_text(some("name")?.as_ref(), "name")?,
        device: some("device")?.map(|given| device(&given)).transpose()?,
        stream: some("stream")?.map(|given| stream(&given)).transpose()?,
        number: get("number")?.map_or(Ok(1), |given| number(&given))?,
        times: get("times")?.map_or(Ok(Some(1)), |given| times(&given))?,
        chance: chance(some("probability")?.as_ref(), seed)?,
        ..Fault::new(effect)
    };
    if let Some(name) = rest.keys().iter().next() {
        let message = format!("FaultInjector.inject() got an unexpected keyword argument '{name}'");
        return Err(PyTypeError::new_err(message));
    }
    Ok(fault)
}

/// Returns the arguments of `inject` that differ from their defaults.
pub(super) fn to_dict<'py>(py: Python<'py>, fault: &Fault) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    if let Some(operation) = fault.operation {
        dict.set_item("operation", operation.name())?;
    }
    let is_allocation =
        matches!(fault.operation, Some(FaultOperation::Allocation | FaultOperation::PinnedAllocation));
    match &fault.effect {
        // `fail_allocation` injects a fault without a text.
        FaultEffect::Fail { reason } if reason.is_empty() && is_allocation => {}
        FaultEffect::Fail { reason } => dict.set_item("error", reason)?,
        FaultEffect::LoseDevice { reason } => {
            dict.set_item("error", reason)?;
            dict.set_item("sticky", true)?;
        }
        FaultEffect::Delay(time) => dict.set_item("delay", time.as_secs_f64())?,
        FaultEffect::Never => dict.set_item("never", true)?,
    }
    if let Some(name) = &fault.name {
        dict.set_item("name", name)?;
    }
    if let Some(device) = fault.device {
        dict.set_item("device", CoreDevice::with_index(DeviceType::Host, device).to_string())?;
    }
    if let Some(stream) = fault.stream {
        dict.set_item("stream", stream)?;
    }
    if fault.number != 1 {
        dict.set_item("number", fault.number)?;
    }
    if fault.times != Some(1) {
        dict.set_item("times", fault.times)?;
    }
    if let Some(Chance { probability, seed }) = fault.chance {
        dict.set_item("probability", probability)?;
        if seed != 0 {
            dict.set_item("seed", seed)?;
        }
    }
    Ok(dict)
}
