//! Whether NVIDIA's driver can be used, asked before any call into cudarc: cudarc panics where the
//! library or one of its functions is missing.

use std::ffi::c_int;
use std::fmt;

use libloading::Library;
use once_cell::race::OnceBox;

/// The driver library, as the loader knows it everywhere.
const SONAME: &str = "libcuda.so.1";

/// The oldest driver interface that the bindings are made for: CUDA 12.0.
const OLDEST: Version = Version(12_000);

/// What cuInit answers, in the driver's own numbers.
mod code {
    pub(super) const SUCCESS: i32 = 0;
    pub(super) const STUB_LIBRARY: i32 = 34;
    pub(super) const NO_DEVICE: i32 = 100;
    pub(super) const OPERATING_SYSTEM: i32 = 304;
    pub(super) const NOT_PERMITTED: i32 = 800;
}

/// What the probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriverStatus {
    /// The library is not installed, or can't be loaded.
    Absent {
        /// The loader's reason.
        reason: String,
    },
    /// The library is the stub that the toolkit ships for linking.
    Stub,
    /// The driver runs and sees no device.
    NoDevice,
    /// The driver is older than the bindings.
    TooOld {
        /// The CUDA version that it speaks.
        version: Version,
    },
    /// This process may not use the devices.
    NotPermitted,
    /// The driver refused to start for another reason.
    Failed {
        /// The number that cuInit returned.
        code: i32,
    },
    /// The driver can be used.
    Ready {
        /// The CUDA version that it speaks.
        version: Version,
    },
}

/// A CUDA version as the driver counts it: 12020 is 12.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(i32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

impl fmt::Display for DriverStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverStatus::Absent { reason } => {
                write!(f, "NVIDIA's driver library {SONAME} was not found ({reason})")
            }
            DriverStatus::Stub => write!(
                f,
                "the {SONAME} that was loaded is the toolkit's stub for linking, not a driver; \
                 take its folder out of the library search path"
            ),
            DriverStatus::NoDevice => write!(f, "NVIDIA's driver sees no device"),
            DriverStatus::TooOld { version } => {
                write!(f, "NVIDIA's driver speaks CUDA {version}; {OLDEST} or newer is needed")
            }
            DriverStatus::NotPermitted => {
                write!(f, "NVIDIA's driver refused: this process may not use its devices")
            }
            DriverStatus::Failed { code } => {
                write!(f, "NVIDIA's driver did not start: cuInit returned {code}")
            }
            DriverStatus::Ready { version } => write!(f, "NVIDIA's driver for CUDA {version} is ready"),
        }
    }
}

/// Starts the driver, if it can be used; asked once.
pub(super) fn start() -> &'static DriverStatus {
    // Not a blocking cell: a fork while another thread probes would leave the child waiting. Starting
    // the driver twice is harmless.
    static STATUS: OnceBox<DriverStatus> = OnceBox::new();
    STATUS.get_or_init(|| Box::new(probe()))
}

/// Loads the driver library and starts the driver. It stays loaded, as cudarc will use it.
fn probe() -> DriverStatus {
    // SAFETY: the driver library's initialisers are made to run in any process.
    let library = match unsafe { Library::new(SONAME) } {
        Ok(library) => library,
        Err(error) => return DriverStatus::Absent { reason: error.to_string() },
    };
    let status = ask(&library).unwrap_or_else(|error| DriverStatus::Absent { reason: error.to_string() });
    // Closing a driver that has started threads of its own is not safe.
    std::mem::forget(library);
    status
}

fn ask(library: &Library) -> Result<DriverStatus, libloading::Error> {
    // SAFETY: both functions have had these signatures since the driver interface exists; the second
    // may be called before the first.
    let (started, version) = unsafe {
        let start = library.get::<unsafe extern "C" fn(u32) -> c_int>(b"cuInit")?;
        let version_of = library.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"cuDriverGetVersion")?;
        let mut version = 0;
        version_of(&raw mut version);
        (start(0), Version(version))
    };
    Ok(match started {
        code::SUCCESS if version < OLDEST => DriverStatus::TooOld { version },
        code::SUCCESS => DriverStatus::Ready { version },
        code::STUB_LIBRARY => DriverStatus::Stub,
        code::NO_DEVICE => DriverStatus::NoDevice,
        code::NOT_PERMITTED | code::OPERATING_SYSTEM => DriverStatus::NotPermitted,
        code => DriverStatus::Failed { code },
    })
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
        for status in [
            DriverStatus::Absent { reason: "no such file".to_owned() },
            DriverStatus::Stub,
            DriverStatus::NoDevice,
            DriverStatus::TooOld { version },
            DriverStatus::NotPermitted,
            DriverStatus::Failed { code: 999 },
            DriverStatus::Ready { version },
        ] {
            let text = status.to_string();
            assert!(!text.contains('\n') && text.len() > 20, "{text}");
        }
    }
}
