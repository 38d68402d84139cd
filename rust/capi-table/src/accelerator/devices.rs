//! The entries for devices.

use interlock::accelerator::{self, Device, DeviceType};
use interlock_sys::*;

use crate::arguments::{text, write};
use crate::entry::{Failure, Result, run};
use crate::hooks::detached;
use crate::scopes::store_guard;

/// Returns a device of the caller.
pub(super) fn from_c(entry: &str, device: InterlockDevice) -> Result<Device> {
    let kind = DeviceType::from_number(device.kind).ok_or_else(|| {
        Failure::argument(&format!("{entry}: device.kind"), "the number of a device type", device.kind)
    })?;
    match device.index {
        -1 => Ok(Device::of(kind)),
        index => u8::try_from(index).map(|index| Device::with_index(kind, index)).map_err(|_| {
            Failure::argument(&format!("{entry}: device.index"), "-1 or the index of a device", index)
        }),
    }
}

/// Returns a device of the caller; `None` for null, which means the current device.
///
/// # Safety
/// `device` is null or valid.
pub(super) unsafe fn optional_from_c(entry: &str, device: *const InterlockDevice) -> Result<Option<Device>> {
    // SAFETY: guaranteed by the caller.
    unsafe { device.as_ref() }.map(|device| from_c(entry, *device)).transpose()
}

pub(super) fn to_c(device: Device) -> InterlockDevice {
    InterlockDevice { kind: device.kind().number(), index: device.index().map_or(-1, i32::from) }
}

pub(crate) unsafe extern "C" fn parse(
    name: InterlockText,
    device: *mut InterlockDevice,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let parsed: Device = text("device_parse: name", name)?.parse()?;
            write("device_parse: device", device, to_c(parsed))
        })
    }
}

pub(crate) unsafe extern "C" fn current(device: *mut InterlockDevice, error: *mut InterlockError) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let current = if_started_attached(accelerator::current_device)?;
            write("device_current: device", device, to_c(current))
        })
    }
}

/// Calls `work`, detached from the interpreter unless the driver has been started: then it does not block.
pub(super) fn if_started_attached<T: Send>(
    work: impl FnOnce() -> accelerator::Result<T> + Send,
) -> accelerator::Result<T> {
    if accelerator::current_index().is_some() { work() } else { detached(work) }
}

pub(crate) unsafe extern "C" fn enter(
    device: InterlockDevice,
    guard: *mut InterlockGuard,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let device = from_c("device_enter", device)?;
            // Starts the driver, so that the guard is made on this thread without blocking.
            if_started_attached(|| accelerator::properties(Some(device)).map(drop))?;
            store_guard("device_enter", guard, || Ok(accelerator::device_guard(device)?))
        })
    }
}

pub(crate) unsafe extern "C" fn synchronize(
    device: *const InterlockDevice,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let device = optional_from_c("device_synchronize", device)?;
            Ok(detached(|| accelerator::synchronize(device))?)
        })
    }
}
