//! The probe of NVIDIA's driver library, which precedes all calls of cudarc: cudarc panics if the library or one of its
//! functions is missing.
//!
//! The probe loads the library and does not start the driver, so a process that has only probed may still fork.

use std::ffi::{OsString, c_int};

use cudarc::driver::sys::culib;
use libloading::Library;
use once_cell::race::OnceBox;

use interlock_core::base::fork;
use interlock_core::base::fork_local::ForkLocal;
use interlock_core::base::sync::RelaxedU64;
use interlock_core::binding::libraries::{self as binding, reason_of};

use super::status::{DriverStatus, MIN_VERSION, SONAME, Version};
use super::visible_devices;
use crate::sys::api;

/// Values of `CUresult`.
mod code {
    pub(crate) const SUCCESS: i32 = 0;
    /// Returned in a forked child whose parent started the driver.
    pub(crate) const NOT_INITIALIZED: i32 = 3;
    pub(crate) const STUB_LIBRARY: i32 = 34;
    pub(crate) const NO_DEVICE: i32 = 100;
    pub(crate) const OPERATING_SYSTEM: i32 = 304;
    pub(crate) const NOT_PERMITTED: i32 = 800;
}

type Start = unsafe extern "C" fn(u32) -> c_int;
type VersionOf = unsafe extern "C" fn(*mut c_int) -> c_int;

/// The result of the probe.
struct Probe {
    status: DriverStatus,
    /// Never closed: cudarc uses the library, and a library that has started threads can't be unloaded.
    library: Option<Library>,
}

/// Loads and checks the driver library without starting the driver, once. A forked child inherits the result.
pub(crate) fn probe() -> &'static DriverStatus {
    &probe_once().status
}

/// Returns the result of [`probe`], if it has been called.
pub(crate) fn probed() -> Option<&'static DriverStatus> {
    PROBE.get().map(|probe| &probe.status)
}

// Not a blocking cell: a child forked while another thread probes would wait forever.
static PROBE: OnceBox<Probe> = OnceBox::new();

fn probe_once() -> &'static Probe {
    PROBE.get_or_init(|| {
        // SAFETY: the driver library's constructors may run in any process.
        let (status, library) = match unsafe { Library::new(SONAME) } {
            Ok(library) => (validate(&library).unwrap_or_else(|status| status), Some(library)),
            Err(error) => {
                // The loader begins with the soname if it found no file, and otherwise with the file that failed.
                let reason = Some(reason_of(&error)).filter(|reason| !reason.starts_with(SONAME));
                (DriverStatus::Absent { reason }, None)
            }
        };
        Box::new(Probe { status, library })
    })
}

/// Checks that the library is a driver with all required functions, and that cudarc will use this library.
fn validate(library: &Library) -> Result<DriverStatus, DriverStatus> {
    let start: Start = function(library, "cuInit")?;
    let version_of: VersionOf = function(library, "cuDriverGetVersion")?;
    let mut version = 0;
    // SAFETY: the function may be called before `cuInit`, and the pointer is valid.
    match unsafe { version_of(&raw mut version) } {
        code::SUCCESS => {}
        code::STUB_LIBRARY => return Err(DriverStatus::Stub { path: file_of(start) }),
        code => return Err(DriverStatus::Failed { function: "cuDriverGetVersion", code }),
    }
    let version = Version(version);
    if version < MIN_VERSION {
        return Err(DriverStatus::TooOld { version });
    }
    for name in api::NAMES {
        function::<Start>(library, name)?;
    }
    // SAFETY: `culib` loads the first of several library names and panics if none can be loaded; the last of these
    // names is loaded already.
    let other: Start = function(unsafe { culib() }, "cuInit")?;
    if std::ptr::fn_addr_eq(start, other) {
        Ok(DriverStatus::Found { version })
    } else {
        Err(DriverStatus::OtherLibrary { found: file_of(other), driver: file_of(start) })
    }
}

/// Returns a function of the library. The pointer stays valid, as the library is never closed.
fn function<F: Copy>(library: &Library, name: &str) -> Result<F, DriverStatus> {
    // SAFETY: every `F` that is called is the type that the driver API declares for the name.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|function| *function).map_err(|_| DriverStatus::MissingSymbol { function: name.to_owned() })
}

/// Returns the file that a function was loaded from, for messages.
fn file_of(function: Start) -> String {
    let file = binding::file_of(function as usize);
    file.map_or_else(|| "a library without a name".to_owned(), |file| file.to_string_lossy().into_owned())
}

/// The result of `cuInit` in this process.
struct InitRecord {
    status: DriverStatus,
    /// The value of `CUDA_VISIBLE_DEVICES`, which the driver reads only in `cuInit`.
    variable: Option<OsString>,
}

/// The fork generation, plus 1, of the last process that started the driver, whose forked children can't start it; 0 if
/// there is none.
static POISONED_BY: RelaxedU64 = RelaxedU64::new(0);

fn is_poisoned_by_parent() -> bool {
    ![0, u64::from(fork::generation()) + 1].contains(&POISONED_BY.get())
}

/// Returns the cell with the result of `cuInit` in this process.
fn record() -> &'static OnceBox<InitRecord> {
    // Not blocking cells: a child forked while another thread starts the driver would wait forever. Two calls of
    // `cuInit` are harmless.
    static INIT: OnceBox<ForkLocal<OnceBox<InitRecord>>> = OnceBox::new();
    INIT.get_or_init(Box::default).get()
}

/// Starts the driver if it can be used, once in each process.
pub(crate) fn start() -> &'static DriverStatus {
    let init = || {
        let variable = visible_devices::variable();
        let status = if is_poisoned_by_parent() { DriverStatus::Forked } else { init_now() };
        if matches!(status, DriverStatus::Ready { .. } | DriverStatus::Forked) && !is_poisoned_by_parent() {
            POISONED_BY.set(u64::from(fork::generation()) + 1);
        }
        Box::new(InitRecord { status, variable })
    };
    &record().get_or_init(init).status
}

/// Returns whether the result of [`start`] is known: it was called, or the parent process had started the driver.
pub(crate) fn is_init_cached() -> bool {
    record().get().is_some() || is_poisoned_by_parent()
}

/// Returns the value that `CUDA_VISIBLE_DEVICES` had when this process started the driver; `None` if it has not.
pub(crate) fn variable_at_start() -> Option<&'static Option<OsString>> {
    let started = record().get()?;
    matches!(started.status, DriverStatus::Ready { .. }).then_some(&started.variable)
}

fn init_now() -> DriverStatus {
    let (DriverStatus::Found { version }, Some(library)) = (probe(), &probe_once().library) else {
        return probe().clone();
    };
    let start: Start = match function(library, "cuInit") {
        Ok(start) => start,
        Err(status) => return status,
    };
    // SAFETY: `cuInit` may be called at any time; 0 is the only valid flag.
    match unsafe { start(0) } {
        code::SUCCESS => DriverStatus::Ready { version: *version },
        code::NOT_INITIALIZED => DriverStatus::Forked,
        code::STUB_LIBRARY => DriverStatus::Stub { path: file_of(start) },
        code::NO_DEVICE => DriverStatus::NoDevice,
        code::NOT_PERMITTED | code::OPERATING_SYSTEM => DriverStatus::NotPermitted,
        code => DriverStatus::Failed { function: "cuInit", code },
    }
}
