//! What is known of NVIDIA's driver, as a sentence that says what to do where there is something to do.

use std::fmt;

use interlock_core::base::env;

/// The driver library, as the loader knows it everywhere.
pub(crate) const SONAME: &str = "libcuda.so.1";

/// The oldest driver interface that the bindings are made for: CUDA 12.0.
pub(crate) const OLDEST: Version = Version(12_000);

/// What the probe found.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriverStatus {
    /// The library is not installed, or can't be loaded.
    Absent {
        /// The loader's reason.
        reason: String,
    },
    /// The library is the stub that the toolkit ships for linking.
    Stub {
        /// The file that was loaded.
        path: String,
    },
    /// The driver is older than the bindings.
    TooOld {
        /// The CUDA version that it speaks.
        version: Version,
    },
    /// The driver has not all functions that are called.
    Lacks {
        /// One that it has not.
        function: String,
    },
    /// The bindings would use another library than the driver.
    OtherLibrary {
        /// The file that they find first.
        found: String,
        /// The file of the driver.
        driver: String,
    },
    /// The path that the user gave for NVML is of no use.
    PathOfNvml {
        /// Which, and why.
        error: String,
    },
    /// The library is there and the kernel's part of the driver is not.
    NotLoaded,
    /// The driver runs and sees no device.
    NoDevice,
    /// The driver has devices and `CUDA_VISIBLE_DEVICES` shows none of them.
    Hidden {
        /// What the variable says.
        variable: String,
    },
    /// This process may not use the devices.
    NotPermitted,
    /// The driver was started by the process from which this one was forked.
    Forked,
    /// The driver refused for another reason.
    Failed {
        /// The function of the driver that was called.
        function: &'static str,
        /// The number that it returned.
        code: i32,
    },
    /// The driver can be started.
    Found {
        /// The CUDA version that it speaks.
        version: Version,
    },
    /// The driver is started.
    Ready {
        /// The CUDA version that it speaks.
        version: Version,
    },
}

/// A CUDA version as the driver counts it: 12020 is 12.2.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub(crate) i32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

impl fmt::Display for DriverStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverStatus::Absent { reason } => {
                write!(f, "NVIDIA's driver library {SONAME} can't be loaded ({reason})")
            }
            DriverStatus::Stub { path } => write!(
                f,
                "{path}, which was loaded as {SONAME}, is the toolkit's stub for linking and no driver; take its \
                 folder out of the library search path"
            ),
            DriverStatus::TooOld { version } => write!(
                f,
                "NVIDIA's driver speaks CUDA {version}, and {OLDEST} or newer is needed; install a newer driver"
            ),
            DriverStatus::Lacks { function } => write!(
                f,
                "NVIDIA's driver library {SONAME} lacks the function {function}: it is incomplete, or too old for \
                 the version that it tells; install the driver anew"
            ),
            DriverStatus::OtherLibrary { found, driver } => write!(
                f,
                "{found} would be used in place of NVIDIA's driver {driver}; take its folder out of the library \
                 search path"
            ),
            DriverStatus::PathOfNvml { error } => f.write_str(error),
            DriverStatus::NotLoaded => write!(
                f,
                "NVIDIA's driver library is installed and the kernel module is not loaded; load it, or start the \
                 container with access to the devices"
            ),
            DriverStatus::NoDevice => write!(f, "NVIDIA's driver sees no device"),
            DriverStatus::Hidden { variable } => {
                write!(f, "{} is {variable:?}, which shows none of NVIDIA's devices", env::VISIBLE_DEVICES)
            }
            DriverStatus::NotPermitted => {
                write!(f, "NVIDIA's driver refused: this process may not use its devices")
            }
            DriverStatus::Forked => write!(
                f,
                "CUDA was started by the process from which this one was forked, and can't be used here; start it \
                 in the child only, or start the child with the method spawn or forkserver"
            ),
            DriverStatus::Failed { function, code } => {
                write!(f, "NVIDIA's driver did not start: {function} returned {code}")
            }
            DriverStatus::Found { version } => write!(f, "NVIDIA's driver for CUDA {version} can be started"),
            DriverStatus::Ready { version } => write!(f, "NVIDIA's driver for CUDA {version} is ready"),
        }
    }
}

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
