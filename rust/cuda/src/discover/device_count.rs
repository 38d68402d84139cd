//! The number of devices, counted without starting the driver if possible: a forked child cannot use a driver that its
//! parent has started.

use interlock_core::base::env;

use super::nvml::{self, NvmlError};
use super::probe;
use super::status::DriverStatus;
use super::visible_devices::{self, visible};
use crate::sys::api;
use crate::sys::error::read;

/// Returns the number of devices that this process would see after a start of the driver.
///
/// # Errors
/// Returns the status of a driver that can't be used.
pub(crate) fn count() -> Result<u32, DriverStatus> {
    match probe::probe() {
        DriverStatus::Found { .. } if probe::is_init_cached() => count_by_starting(),
        DriverStatus::Found { .. } => count_without_starting(),
        status => Err(status.clone()),
    }
}

/// Like [`count`], but does not load a library, query NVML or start the driver: returns `None` if that is needed, and 0
/// if the driver can't be used.
pub(crate) fn device_count_if_known() -> Option<u32> {
    match probe::probed()? {
        DriverStatus::Found { .. } if probe::is_init_cached() => Some(count_by_starting().unwrap_or(0)),
        DriverStatus::Found { .. } => None,
        _ => Some(0),
    }
}

fn count_without_starting() -> Result<u32, DriverStatus> {
    match nvml::gpus() {
        Err(NvmlError::Code(nvml::NO_PERMISSION)) => Err(DriverStatus::NotPermitted),
        Err(NvmlError::Code(nvml::DRIVER_NOT_LOADED)) => Err(DriverStatus::NotLoaded),
        Err(NvmlError::Path(error)) => Err(DriverStatus::InvalidNvmlPath { error: error.to_string() }),
        // NVML is missing in many containers and does not list every integrated GPU.
        Err(_) => count_by_starting(),
        Ok(gpus) if gpus.is_empty() => count_by_starting(),
        Ok(gpus) => {
            let variable = env::read_lossy(env::VISIBLE_DEVICES);
            match (visible(variable.as_deref(), &gpus).len(), variable) {
                (0, Some(variable)) => Err(DriverStatus::AllDevicesHidden { variable }),
                (count, _) => some(u32::try_from(count).ok()),
            }
        }
    }
}

/// Starts the driver and returns its device count. Children that are forked afterwards can't use the driver.
pub(crate) fn count_by_starting() -> Result<u32, DriverStatus> {
    match probe::start() {
        // Every driver can count devices; an error after a successful start means that a device was lost.
        DriverStatus::Ready { .. } => {
            // SAFETY: the pointer is valid.
            let count = read(0, |count| unsafe { api::cuDeviceGetCount(count) });
            some(count.ok().and_then(|count| u32::try_from(count).ok()))
        }
        status => Err(status.clone()),
    }
}

fn some(count: Option<u32>) -> Result<u32, DriverStatus> {
    count.filter(|count| *count > 0).ok_or(DriverStatus::NoDevice)
}

/// Returns a warning if `CUDA_VISIBLE_DEVICES` has changed since this process started the driver.
pub(crate) fn stale_env_warning() -> Option<String> {
    let at_start = probe::variable_at_start()?;
    let now = visible_devices::variable();
    let before = at_start.as_ref().map_or("not set".to_owned(), |text| format!("{text:?}"));
    let change = now.as_ref().map_or("was removed".to_owned(), |text| format!("was changed to {text:?}"));
    (now != *at_start).then(|| {
        format!(
            "{} {change}, which has no effect: it was {before} when NVIDIA's driver was started, which reads it once",
            env::VISIBLE_DEVICES
        )
    })
}
