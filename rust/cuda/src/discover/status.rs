//! The status of NVIDIA's driver, as a message with a remedy where there is one.

use std::fmt;

use interlock_core::base::env;

/// The soname of the driver library.
pub(crate) const SONAME: &str = "libcuda.so.1";

/// The oldest CUDA version that the bindings support: 12.0.
pub(crate) const MIN_VERSION: Version = Version(12_000);

/// The status of the driver in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DriverStatus {
    /// The library can't be loaded, for the loader's reason; `None` if it is not installed.
    Absent { reason: Option<String> },
    /// The library at this path is the toolkit's stub for linking.
    Stub { path: String },
    /// The driver supports only a CUDA version that is older than the bindings.
    TooOld { version: Version },
    /// The library lacks a required function.
    MissingSymbol { function: String },
    /// The bindings would load another file than the driver library.
    OtherLibrary { found: String, driver: String },
    /// NVML can't be loaded from the user's path.
    InvalidNvmlPath { error: String },
    /// The library is installed, but the kernel module is not loaded.
    NotLoaded,
    /// The driver found no device.
    NoDevice,
    /// `CUDA_VISIBLE_DEVICES`, with this value, hides all devices.
    AllDevicesHidden { variable: String },
    /// This process may not use the devices.
    NotPermitted,
    /// The parent of this forked process has started the driver.
    Forked,
    /// A function returned another error code.
    Failed { function: &'static str, code: i32 },
    /// The driver for this CUDA version can be started.
    Found { version: Version },
    /// The driver for this CUDA version is started.
    Ready { version: Version },
}

/// A CUDA version as `cuDriverGetVersion` returns it: 12020 is 12.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) i32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

interlock_core::messages! { DriverStatus {
    DriverStatus::Absent { reason: None } => "no CUDA device: cannot load {SONAME}";
    DriverStatus::Absent { reason: Some(reason) } => "no CUDA device: cannot load {SONAME} ({reason})";
    DriverStatus::Stub { path } =>
        "no CUDA device: {path}, loaded as {SONAME}, is the toolkit's stub for linking and no driver; remove its \
         folder from the library search path";
    DriverStatus::TooOld { version } =>
        "no CUDA device: NVIDIA's driver supports CUDA {version}, and {MIN_VERSION} or newer is required; install a \
         newer driver";
    DriverStatus::MissingSymbol { function } =>
        "no CUDA device: NVIDIA's driver library {SONAME} lacks the function {function}; reinstall the driver";
    DriverStatus::OtherLibrary { found, driver } =>
        "no CUDA device: {found} would be loaded instead of NVIDIA's driver {driver}; remove its folder from the \
         library search path";
    DriverStatus::InvalidNvmlPath { error } => "{error}";
    DriverStatus::NotLoaded =>
        "no CUDA device: the kernel module of NVIDIA's driver is not loaded; load it, or start the container with \
         access to the devices";
    DriverStatus::NoDevice => "no CUDA device: NVIDIA's driver found none";
    DriverStatus::AllDevicesHidden { variable } =>
        "no CUDA device: {} is {variable:?}, which hides all devices", env::VISIBLE_DEVICES;
    DriverStatus::NotPermitted => "no CUDA device: this process has no permission to use NVIDIA's devices";
    DriverStatus::Forked =>
        "no CUDA device: CUDA was initialized before this process was forked, and cannot be used in the child; \
         initialize it in the child only, or start the child with std::process::Command";
    DriverStatus::Failed { function, code } =>
        "no CUDA device: NVIDIA's driver failed to start: {function} returned {code}";
    DriverStatus::Found { version } => "NVIDIA's driver for CUDA {version} can be started";
    DriverStatus::Ready { version } => "NVIDIA's driver for CUDA {version} is ready";
} }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_displays_major_and_minor() {
        assert_eq!(Version(12_020).to_string(), "12.2");
        assert_eq!(MIN_VERSION.to_string(), "12.0");
    }

    #[test]
    fn driver_status_displays_a_distinct_message_of_one_line() {
        let version = Version(11_040);
        let name = || "a name".to_owned();
        let every = [
            DriverStatus::Absent { reason: None },
            DriverStatus::Absent { reason: Some(name()) },
            DriverStatus::Stub { path: name() },
            DriverStatus::TooOld { version },
            DriverStatus::MissingSymbol { function: name() },
            DriverStatus::OtherLibrary { found: name(), driver: name() },
            DriverStatus::NotLoaded,
            DriverStatus::NoDevice,
            DriverStatus::AllDevicesHidden { variable: "\n".to_owned() },
            DriverStatus::NotPermitted,
            DriverStatus::Forked,
            DriverStatus::Failed { function: "cuInit", code: 999 },
            DriverStatus::Found { version },
            DriverStatus::Ready { version },
        ];
        let texts = every.map(|status| status.to_string());
        for text in &texts {
            assert!(!text.contains('\n') && !text.ends_with('.') && text.len() > 20, "{text}");
            assert_eq!(texts.iter().filter(|other| *other == text).count(), 1, "{text}");
        }
    }
}
