//! What a host driver is made of.

use interlock_driver::{Error, Result};

use crate::fault_injection::Faults;

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
    /// How many devices, from 0 to 128.
    pub devices: u32,
    /// Bytes of memory that each has.
    pub memory: u64,
    /// What goes wrong: nothing until it is told to. For one driver that is started.
    pub faults: Faults,
}

impl HostOptions {
    /// As many as there are indices.
    const MOST_DEVICES: u32 = 128;

    /// Fails with [`Error::Argument`] for what no driver can be made of.
    pub(crate) fn check(&self) -> Result<()> {
        if self.devices > Self::MOST_DEVICES {
            let (given, allowed) = (self.devices.to_string(), format!("0 to {}", Self::MOST_DEVICES));
            return Err(Error::argument("the number of host devices", given, allowed));
        }
        Ok(())
    }
}

impl Default for HostOptions {
    /// One device of 4 GiB, taken from the computer as it is used.
    fn default() -> Self {
        HostOptions { devices: 1, memory: 4 << 30, faults: Faults::default() }
    }
}
