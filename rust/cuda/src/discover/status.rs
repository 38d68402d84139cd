//! What is known of NVIDIA's driver, as a sentence that says what to do where there is something to do.

use std::fmt;

use interlock_core::base::env;

/// The driver library, as the loader knows it everywhere.
pub(crate) const SONAME: &str = "libcuda.so.1";

/// The oldest driver interface that the bindings are made for: CUDA 12.0.
pub(crate) const OLDEST: Version = Version(12_000);

/// What is known of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DriverStatus {
    /// The library is not installed, or can't be loaded, for the loader's reason.
    Absent { reason: String },
    /// The library in this file is the stub that the toolkit ships for linking.
    Stub { path: String },
    /// The driver speaks a CUDA version that is older than the bindings.
    TooOld { version: Version },
    /// The driver has not all functions that are called, such as this one.
    Lacks { function: String },
    /// The bindings would use another library than the driver: the file that they find first.
    OtherLibrary { found: String, driver: String },
    /// The path that the user gave for NVML is of no use.
    PathOfNvml { error: String },
    /// The library is there and the kernel's part of the driver is not.
    NotLoaded,
    /// The driver runs and sees no device.
    NoDevice,
    /// The driver has devices and `CUDA_VISIBLE_DEVICES`, which has this value, shows none of them.
    Hidden { variable: String },
    /// This process may not use the devices.
    NotPermitted,
    /// The driver was started by the process from which this one was forked.
    Forked,
    /// The driver refused for another reason: a function returned a code.
    Failed { function: &'static str, code: i32 },
    /// The driver, which speaks this CUDA version, can be started.
    Found { version: Version },
    /// The driver, which speaks this CUDA version, is started.
    Ready { version: Version },
}

/// A CUDA version as the driver counts it: 12020 is 12.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) i32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

interlock_core::messages! { DriverStatus {
    DriverStatus::Absent { reason } => "NVIDIA's driver library {SONAME} can't be loaded ({reason})";
    DriverStatus::Stub { path } =>
        "{path}, which was loaded as {SONAME}, is the toolkit's stub for linking and no driver; take its folder \
         out of the library search path";
    DriverStatus::TooOld { version } =>
        "NVIDIA's driver speaks CUDA {version}, and {OLDEST} or newer is needed; install a newer driver";
    DriverStatus::Lacks { function } =>
        "NVIDIA's driver library {SONAME} lacks the function {function}: it is incomplete, or too old for the \
         version that it tells; install the driver anew";
    DriverStatus::OtherLibrary { found, driver } =>
        "{found} would be used in place of NVIDIA's driver {driver}; take its folder out of the library search path";
    DriverStatus::PathOfNvml { error } => "{error}";
    DriverStatus::NotLoaded =>
        "NVIDIA's driver library is installed and the kernel module is not loaded; load it, or start the \
         container with access to the devices";
    DriverStatus::NoDevice => "NVIDIA's driver sees no device";
    DriverStatus::Hidden { variable } =>
        "{} is {variable:?}, which shows none of NVIDIA's devices", env::VISIBLE_DEVICES;
    DriverStatus::NotPermitted => "NVIDIA's driver refused: this process may not use its devices";
    DriverStatus::Forked =>
        "CUDA was started by the process from which this one was forked, and can't be used here; start it in \
         the child only, or start the child with the method spawn or forkserver";
    DriverStatus::Failed { function, code } => "NVIDIA's driver did not start: {function} returned {code}";
    DriverStatus::Found { version } => "NVIDIA's driver for CUDA {version} can be started";
    DriverStatus::Ready { version } => "NVIDIA's driver for CUDA {version} is ready";
} }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_as_people_write_them() {
        assert_eq!(Version(12_020).to_string(), "12.2");
        assert_eq!(OLDEST.to_string(), "12.0");
    }

    #[test]
    fn every_answer_is_one_sentence_without_a_line_break() {
        let version = Version(11_040);
        let name = || "a name".to_owned();
        let every = [
            DriverStatus::Absent { reason: name() },
            DriverStatus::Stub { path: name() },
            DriverStatus::TooOld { version },
            DriverStatus::Lacks { function: name() },
            DriverStatus::OtherLibrary { found: name(), driver: name() },
            DriverStatus::NotLoaded,
            DriverStatus::NoDevice,
            DriverStatus::Hidden { variable: "\n".to_owned() },
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
