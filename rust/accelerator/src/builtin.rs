//! The drivers that are compiled in, by features of this crate.

use std::sync::Arc;

use interlock_driver::Driver;
#[cfg(feature = "host")]
use interlock_host::{HostDriver, HostOptions};

use crate::Result;

/// A driver that is compiled in.
pub(crate) struct BuiltinDriver {
    pub(crate) name: &'static str,
    /// The forms of the name, as messages list them.
    accepted: &'static [&'static str],
    /// Whether the program can select the number of devices; otherwise the hardware determines it.
    pub(crate) accepts_count: bool,
    /// Whether it is used if neither the program nor the environment selects one and no registered driver is available.
    is_default: bool,
    /// Returns the driver, with a number of devices if it [accepts one](BuiltinDriver::accepts_count).
    pub(crate) driver: fn(Option<u32>) -> Result<Arc<dyn Driver>>,
}

const BUILTIN_DRIVERS: &[BuiltinDriver] = &[
    #[cfg(feature = "host")]
    BuiltinDriver {
        name: "host",
        accepted: &["host", "host:N"],
        accepts_count: true,
        is_default: false,
        driver: host,
    },
    #[cfg(feature = "cuda")]
    BuiltinDriver {
        name: "cuda",
        accepted: &["cuda"],
        accepts_count: false,
        is_default: true,
        driver: |_| Ok(interlock_cuda::driver()),
    },
];

#[cfg(feature = "host")]
fn host(devices: Option<u32>) -> Result<Arc<dyn Driver>> {
    let default = HostOptions::default();
    let devices = devices.unwrap_or(default.devices);
    HostDriver::new(HostOptions { devices, ..default })
}

/// Returns the names that select a driver, in program and environment; `N` is a number of devices.
pub(crate) fn accepted() -> impl Iterator<Item = &'static str> {
    BUILTIN_DRIVERS.iter().flat_map(|builtin| builtin.accepted.iter().copied())
}

/// Returns the names of the drivers.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    BUILTIN_DRIVERS.iter().map(|builtin| builtin.name)
}

/// Returns the driver with a name.
pub(crate) fn find(name: &str) -> Option<&'static BuiltinDriver> {
    BUILTIN_DRIVERS.iter().find(|builtin| builtin.name == name)
}

/// Returns the driver that is used if no other is selected.
pub(crate) fn default_driver() -> Result<Arc<dyn Driver>, String> {
    let builtin = BUILTIN_DRIVERS.iter().find(|builtin| builtin.is_default);
    let builtin =
        builtin.ok_or("no driver is selected, and the default driver \"cuda\" is not compiled in")?;
    (builtin.driver)(None).map_err(|error| error.to_string())
}
