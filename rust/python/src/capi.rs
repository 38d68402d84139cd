//! The capsule `_C_API`, through which other extension modules reach the state.

use interlock::sys::*;
use interlock_capi_table::{Hooks, RegisterKernel, set_hooks, table};
use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::c_void;

use crate::advice::in_python;
use crate::attached::is_attached;
use crate::errors::new_exception;
use crate::{detach, pending_exception};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    set_hooks(Hooks { detach: detach_if_attached, raise, register_kernel: REGISTER_KERNEL });
    let table = std::ptr::from_ref(table()).cast_mut().cast::<c_void>();
    // SAFETY: the interpreter is attached; the table and the name live until the process exits.
    let capsule = unsafe {
        let capsule = ffi::PyCapsule_New(table, c"interlock._core._C_API".as_ptr(), None);
        Bound::from_owned_ptr_or_err(module.py(), capsule)?
    };
    // Not `add`, which would export the name with `__all__`.
    module.setattr("_C_API", capsule)
}

/// Calls `work`, detached from the interpreter if this thread is attached.
fn detach_if_attached(work: &mut (dyn FnMut() + Send)) {
    if !is_attached() {
        return work();
    }
    // SAFETY: this thread is attached, by whichever module.
    let py = unsafe { Python::assume_attached() };
    detach::run_detached(py, work);
}

/// Sets the Python exception of an error of the table.
fn raise(code: i32, text: &str) {
    // SAFETY: the contract of `error_raise`.
    let py = unsafe { Python::assume_attached() };
    let exception = || new_exception(py, class_name(code), in_python(text.to_owned()));
    match pending_exception::take_for_text(py, text) {
        // The refusal of a validator, as `CoreError::to_pyerr` raises it.
        Some(raised) if code == INTERLOCK_ERROR_FLAG_VALUE && raised.is_instance_of::<PyException>(py) => {
            let exception = exception();
            exception.set_cause(py, Some(raised));
            exception
        }
        Some(raised) => raised,
        None => exception(),
    }
    .restore(py);
}

/// Registers a kernel of an operation of tensors, if this build has tensors.
#[cfg(feature = "tensor")]
const REGISTER_KERNEL: Option<RegisterKernel> = Some(interlock_tensor::register_foreign_kernel);
#[cfg(not(feature = "tensor"))]
const REGISTER_KERNEL: Option<RegisterKernel> = None;

/// Returns the class of `interlock.errors` for a code of the table.
fn class_name(code: i32) -> &'static str {
    match code {
        INTERLOCK_ERROR_ARGUMENT => "ArgumentError",
        INTERLOCK_ERROR_FLAG_TYPE => "FlagTypeError",
        INTERLOCK_ERROR_FLAG_VALUE => "FlagValueError",
        INTERLOCK_ERROR_FLAGS_FROZEN => "FlagsFrozenError",
        INTERLOCK_ERROR_FLAG_REGISTRATION => "FlagRegistrationError",
        INTERLOCK_ERROR_UNKNOWN_FLAG => "UnknownFlagError",
        INTERLOCK_ERROR_READ_ONLY_FLAG => "ReadOnlyFlagError",
        INTERLOCK_ERROR_DEVICE => "DeviceError",
        INTERLOCK_ERROR_NO_ACCELERATOR => "NoAcceleratorError",
        INTERLOCK_ERROR_OUT_OF_MEMORY => "OutOfMemoryError",
        INTERLOCK_ERROR_ACCELERATOR => "AcceleratorError",
        INTERLOCK_ERROR_DEVICE_LOST => "DeviceLostError",
        INTERLOCK_ERROR_UNSUPPORTED => "UnsupportedError",
        INTERLOCK_ERROR_FORKED_PROCESS => "ForkedProcessError",
        INTERLOCK_ERROR_GRAPH => "GraphError",
        INTERLOCK_ERROR_DRIVER_IN_USE => "DriverInUseError",
        _ => "InterlockError",
    }
}
