//! Options of the host driver.

use interlock_driver::{Error, Result};

use crate::fault_injection::FaultInjector;

/// Options of the host driver: its devices, their memory and injected errors.
///
/// ```
/// use interlock_host::{HostDriver, HostOptions};
///
/// let driver = HostDriver::new(HostOptions { devices: 2, memory: 1 << 30, ..HostOptions::default() })?;
/// assert_eq!(driver.device_count(), 2);
/// # Ok::<(), interlock_driver::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// The number of devices, from 0 to 128.
    pub devices: u32,
    /// Bytes of memory of each device.
    pub memory: u64,
    /// The fault injector, which injects nothing until it is called. It serves one started driver.
    pub faults: FaultInjector,
}

impl HostOptions {
    /// The number of valid values of [`DeviceIndex`](interlock_driver::DeviceIndex).
    const MAX_DEVICES: u32 = 128;

    /// Returns [`Error::Argument`] for too many devices.
    pub(crate) fn check(&self) -> Result<()> {
        if self.devices > Self::MAX_DEVICES {
            let (given, allowed) = (self.devices.to_string(), format!("from 0 to {}", Self::MAX_DEVICES));
            return Err(Error::argument("the number of devices of the driver \"host\"", given, allowed));
        }
        Ok(())
    }
}

impl Default for HostOptions {
    /// Returns the options of one device with 4 GiB, which the system commits as the memory is used.
    fn default() -> Self {
        HostOptions { devices: 1, memory: 4 << 30, faults: FaultInjector::default() }
    }
}
