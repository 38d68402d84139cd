//! Devices and their memory.

mod cuda;
mod device;
pub mod memory;

pub use cuda::{DriverStatus, Version};
pub use device::{Device, DeviceType};

use crate::{Error, Result};

/// How many devices the accelerator has; 0 where there is none. The first call starts the driver.
pub fn device_count() -> u32 {
    cuda::device_count()
}

/// Whether there is an accelerator with at least one device.
pub fn is_available() -> bool {
    device_count() > 0
}

/// The accelerator of this process, without an index; `None` where there is none.
pub fn current_accelerator() -> Option<Device> {
    is_available().then_some(Device::CUDA)
}

/// Why there is no accelerator, in one sentence; `None` where there is one.
pub fn why_unavailable() -> Option<String> {
    (!is_available()).then(|| match cuda::status() {
        // The driver started and then counted none.
        DriverStatus::Ready { .. } => DriverStatus::NoDevice.to_string(),
        status => status.to_string(),
    })
}

/// The accelerator, or an error that says what `operation` needs it for and why there is none.
pub fn required(operation: &'static str) -> Result<Device> {
    current_accelerator()
        .ok_or_else(|| Error::NoAccelerator { operation, reason: why_unavailable().unwrap_or_default() })
}
