//! Devices made of threads and memory of this computer.

use std::sync::Arc;

use super::driver::Driver;
use crate::{Error, Result};

/// What the host driver is made of.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// How many devices, from 0 to 128.
    pub devices: u32,
    /// Bytes of memory that each has.
    pub memory: u64,
}

impl Default for HostOptions {
    /// One device of 4 GiB, taken from the computer as it is used.
    fn default() -> Self {
        HostOptions { devices: 1, memory: 4 << 30 }
    }
}

/// The driver.
pub struct HostDriver;

impl HostDriver {
    /// A driver that has not been started.
    #[expect(clippy::new_ret_no_self)]
    pub fn new(options: HostOptions) -> Result<Arc<dyn Driver>> {
        Err(Error::Argument { name: "devices", given: options.devices.to_string(), allowed: String::new() })
    }
}
