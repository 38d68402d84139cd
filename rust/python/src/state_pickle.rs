//! Captured states as plain data, for pickles: values of modes, flags and devices. What belongs to the process (current
//! streams, memory pools, hooks, recordings) has no plain form.

use interlock::accelerator;
use interlock::autograd::Mode;
use interlock::state::ThreadState;
use interlock_core::binding::flags::Purpose;
use interlock_core::binding::thread::{self as binding, DeviceSlots};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::args::extract_dict;
use crate::backends::{dict_of, scope_of};
use crate::device::{parse as parse_device, parse_index};
use crate::switches::extract_as;

/// Modes by name, flags by dotted name, the index of the current device, the name of the default device.
pub(crate) type Plain<'py> = (Bound<'py, PyDict>, Bound<'py, PyDict>, Option<u8>, Option<String>);

/// Returns the plain form of a state. Errors name `what` contains it.
pub(crate) fn plain<'py>(py: Python<'py>, state: &ThreadState, what: &str) -> PyResult<Plain<'py>> {
    let owned = if !binding::streams_of(state).is_empty() {
        Some("current streams")
    } else if !binding::mem_pools_of(state).is_empty() {
        Some("memory pools")
    } else if binding::has_objects(state) {
        Some("hooks or recordings")
    } else {
        None
    };
    if let Some(owned) = owned {
        let reason = format!("{what} cannot be pickled: its {owned} belong to this process");
        return Err(PyTypeError::new_err(reason));
    }
    let modes = PyDict::new(py);
    for mode in Mode::ALL {
        modes.set_item(mode.name(), state.is_on(mode))?;
    }
    let default_device = binding::set_default_device_of(state).map(|device| match device {
        Some(device) => device.to_string(),
        None => "cpu".to_owned(),
    });
    Ok((modes, dict_of(py, state.flags())?, state.device(), default_device))
}

/// Returns the state of a plain form; `plain` has the arguments of the function `function`.
pub(crate) fn restored(function: &str, plain: &Bound<'_, PyTuple>) -> PyResult<ThreadState> {
    let parts: Vec<Bound<'_, PyAny>> = plain.iter().collect();
    let Ok([modes, flags, device, default_device]) = <[Bound<'_, PyAny>; 4]>::try_from(parts) else {
        let reason = format!("{function}: plain must have 4 values, got {}", plain.len());
        return Err(PyValueError::new_err(reason));
    };
    let mut state = ThreadState::neutral();
    for (name, on) in extract_dict(&modes, &format!("{function}: modes"))? {
        let mode = mode_named(function, &name)?;
        state = state.with_mode(mode, extract_as(&format!("{function}: a mode"), "a bool", &on)?);
    }
    let flags = extract_dict(&flags, &format!("{function}: flags"))?;
    state = state.with_flags(&scope_of(function, flags, Purpose::Copied)?);
    if !device.is_none() {
        let index = parse_index(&device, function, "device", "an index")?;
        state = binding::with_devices(state, DeviceSlots::from_device(index));
    }
    if !default_device.is_none() {
        let parsed = parse_device(&default_device, "unpickle", "default_device")?;
        let slot = Some(parsed).filter(|device| *device != accelerator::Device::CPU);
        state = binding::with_devices(state, DeviceSlots::from_default_device(slot));
    }
    Ok(state)
}

fn mode_named(function: &str, name: &Bound<'_, PyAny>) -> PyResult<Mode> {
    let text: Option<String> = name.extract().ok();
    let found = Mode::ALL.into_iter().find(|mode| Some(mode.name()) == text.as_deref());
    found.ok_or_else(|| {
        let names = Mode::ALL.map(Mode::name).join(", ");
        PyValueError::new_err(format!("{function}: a mode must be one of {names}"))
    })
}
