//! The drivers that are compiled in, by features of this crate.

use std::sync::Arc;

use interlock_driver::Driver;
#[cfg(feature = "host")]
use interlock_host::{HostDriver, HostOptions};

use crate::Result;

/// A driver that is compiled in.
pub(crate) struct BuiltinDriver {
    pub(crate) name: &'static str,
    constructor: Constructor,
    /// Whether it is used where neither the program nor the environment chooses and no registered driver is usable.
    is_default: bool,
}

#[allow(dead_code, reason = "each feature uses one of them")]
enum Constructor {
    /// The machine decides how many devices there are.
    Devices(fn() -> Arc<dyn Driver>),
    /// The program may ask for a number of devices.
    AnyNumber(fn(Option<u32>) -> Result<Arc<dyn Driver>>),
}

const BUILTIN_DRIVERS: &[BuiltinDriver] = &[
    #[cfg(feature = "host")]
    BuiltinDriver { name: "host", constructor: Constructor::AnyNumber(host), is_default: false },
    #[cfg(feature = "cuda")]
    BuiltinDriver {
        name: "cuda",
        constructor: Constructor::Devices(interlock_cuda::driver),
        is_default: true,
    },
];

#[cfg(feature = "host")]
fn host(devices: Option<u32>) -> Result<Arc<dyn Driver>> {
    let default = HostOptions::default();
    let devices = devices.unwrap_or(default.devices);
    HostDriver::new(HostOptions { devices, ..default })
}

impl BuiltinDriver {
    /// The driver with as many devices as it has by default.
    pub(crate) fn driver(&self) -> Result<Arc<dyn Driver>> {
        match self.constructor {
            Constructor::Devices(driver) => Ok(driver()),
            Constructor::AnyNumber(driver) => driver(None),
        }
    }

    /// The driver with a number of devices, where it [accepts one](BuiltinDriver::accepts_count).
    pub(crate) fn with_devices(&self, count: u32) -> Result<Arc<dyn Driver>> {
        match self.constructor {
            Constructor::Devices(driver) => Ok(driver()),
            Constructor::AnyNumber(driver) => driver(Some(count)),
        }
    }

    pub(crate) fn accepts_count(&self) -> bool {
        matches!(self.constructor, Constructor::AnyNumber(_))
    }
}

/// The names of the drivers.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    BUILTIN_DRIVERS.iter().map(|builtin| builtin.name)
}

/// The driver of a name.
pub(crate) fn find(name: &str) -> Option<&'static BuiltinDriver> {
    BUILTIN_DRIVERS.iter().find(|builtin| builtin.name == name)
}

/// The driver that is used where nothing else is chosen.
pub(crate) fn default_driver() -> Result<Arc<dyn Driver>, String> {
    let builtin = BUILTIN_DRIVERS.iter().find(|builtin| builtin.is_default);
    let builtin = builtin.ok_or("no driver is chosen, and the default driver cuda is not compiled in")?;
    builtin.driver().map_err(|error| error.to_string())
}

/// What the environment variable accepts, in words.
pub(crate) fn accepted() -> String {
    let text = |builtin: &BuiltinDriver| match builtin.accepts_count() {
        true => format!("{0}, {0}:N (N devices)", builtin.name),
        false => builtin.name.to_owned(),
    };
    let all: Vec<String> = BUILTIN_DRIVERS.iter().map(text).collect();
    if all.is_empty() { "none".to_owned() } else { format!("{} and none", all.join(", ")) }
}
