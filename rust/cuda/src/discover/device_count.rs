//! How many devices there are, asked without starting the driver wherever that is possible: where it has been
//! started, no forked child can use it.

use interlock_core::base::env;

use super::nvml::{self, NvmlError};
use super::probe;
use super::status::DriverStatus;
use super::visible_devices::{self, visible};
use crate::sys::api;
use crate::sys::error::read;

/// How many devices a start of the driver would show to this process, or why it can't be used.
pub(crate) fn count() -> Result<u32, DriverStatus> {
    match probe::probe() {
        DriverStatus::Found { .. } if probe::is_init_cached() => count_by_starting(),
        DriverStatus::Found { .. } => count_without_starting(),
        status => Err(status.clone()),
    }
}

/// Like [`count`], but `None` where the library would have to be loaded, NVML asked or the driver started; 0 where the
/// driver can't be used.
pub(crate) fn device_count_if_known() -> Option<u32> {
    match probe::probed()? {
        DriverStatus::Found { .. } if probe::is_init_cached() => Some(count_by_starting().unwrap_or(0)),
        DriverStatus::Found { .. } => None,
        _ => Some(0),
    }
}

fn count_without_starting() -> Result<u32, DriverStatus> {
    match nvml::gpus() {
        Err(NvmlError::Refused(nvml::NO_PERMISSION)) => Err(DriverStatus::NotPermitted),
        Err(NvmlError::Refused(nvml::DRIVER_NOT_LOADED)) => Err(DriverStatus::NotLoaded),
        Err(NvmlError::Path(error)) => Err(DriverStatus::PathOfNvml { error: error.to_string() }),
        // It is missing in many containers, and does not know every device that is part of a processor.
        Err(_) => count_by_starting(),
        Ok(gpus) if gpus.is_empty() => count_by_starting(),
        Ok(gpus) => {
            let variable = env::read_lossy(env::VISIBLE_DEVICES);
            match (visible(variable.as_deref(), &gpus).len(), variable) {
                (0, Some(variable)) => Err(DriverStatus::Hidden { variable }),
                (count, _) => some(u32::try_from(count).ok()),
            }
        }
    }
}

/// The driver's own answer. No child that is forked from now on can use it.
pub(crate) fn count_by_starting() -> Result<u32, DriverStatus> {
    match probe::start() {
        // Counting is what every driver can; an error after a good start is a device that is gone.
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

/// What `CUDA_VISIBLE_DEVICES` says now, if the driver read something else of it when this process started it.
pub(crate) fn stale_env_warning() -> Option<String> {
    let at_start = probe::variable_at_start()?;
    let now = visible_devices::variable();
    let shown = |value: &Option<_>| value.as_ref().map_or("not set".to_owned(), |text| format!("{text:?}"));
    (now != *at_start).then(|| {
        format!(
            "{} is {} now, which comes too late: it was {} when NVIDIA's driver was started, which read it then",
            env::VISIBLE_DEVICES,
            shown(&now),
            shown(at_start)
        )
    })
}
