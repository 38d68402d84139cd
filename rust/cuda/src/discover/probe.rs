//! Whether NVIDIA's driver can be used, asked before any call into cudarc: cudarc panics where the
//! library or one of its functions is missing.
//!
//! Looking loads the library and does not start the driver: a process that has only looked may still fork.

use std::ffi::{OsString, c_int};

use cudarc::driver::sys::culib;
use libloading::Library;
use once_cell::race::OnceBox;

use interlock_core::base::fork;
use interlock_core::base::fork_local::ForkLocal;
use interlock_core::base::sync::RelaxedU64;
use interlock_core::libraries;
use interlock_core::libraries::reason_of;

use super::status::{DriverStatus, OLDEST, SONAME, Version};
use super::visible_devices;
use crate::sys::api;

/// What the driver's functions answer, in its own numbers.
mod code {
    pub(crate) const SUCCESS: i32 = 0;
    /// What a child of a fork is told whose parent started the driver.
    pub(crate) const NOT_INITIALIZED: i32 = 3;
    pub(crate) const STUB_LIBRARY: i32 = 34;
    pub(crate) const NO_DEVICE: i32 = 100;
    pub(crate) const OPERATING_SYSTEM: i32 = 304;
    pub(crate) const NOT_PERMITTED: i32 = 800;
}

type Start = unsafe extern "C" fn(u32) -> c_int;
type VersionOf = unsafe extern "C" fn(*mut c_int) -> c_int;

/// The library as it was found.
struct Probe {
    status: DriverStatus,
    /// Kept, so that it stays loaded: cudarc will use it, and what has started threads can't be closed.
    library: Option<Library>,
}

/// Looks for the driver without starting it; asked once. What was found holds in a forked child as well.
pub(crate) fn probe() -> &'static DriverStatus {
    &probe_once().status
}

/// What [`probe`] found, if it has been called.
pub(crate) fn probed() -> Option<&'static DriverStatus> {
    PROBE.get().map(|probe| &probe.status)
}

// Not a blocking cell: a fork while another thread looks would leave the child waiting.
static PROBE: OnceBox<Probe> = OnceBox::new();

fn probe_once() -> &'static Probe {
    PROBE.get_or_init(|| {
        // SAFETY: the driver library's initialisers are made to run in any process.
        let (status, library) = match unsafe { Library::new(SONAME) } {
            Ok(library) => (validate(&library).unwrap_or_else(|status| status), Some(library)),
            Err(error) => (DriverStatus::Absent { reason: reason_of(&error) }, None),
        };
        Box::new(Probe { status, library })
    })
}

/// Whether what was loaded is a driver that has all we call, and is what cudarc will call.
fn validate(library: &Library) -> Result<DriverStatus, DriverStatus> {
    let start: Start = function(library, "cuInit")?;
    let version_of: VersionOf = function(library, "cuDriverGetVersion")?;
    let mut version = 0;
    // SAFETY: this may be called before the driver is started, and writes a number.
    match unsafe { version_of(&raw mut version) } {
        code::SUCCESS => {}
        code::STUB_LIBRARY => return Err(DriverStatus::Stub { path: file_of(start) }),
        code => return Err(DriverStatus::Failed { function: "cuDriverGetVersion", code }),
    }
    let version = Version(version);
    if version < OLDEST {
        return Err(DriverStatus::TooOld { version });
    }
    for name in api::NAMES {
        function::<Start>(library, name)?;
    }
    // SAFETY: opens the first of several names that can be opened. Only where there were none would it panic, and the
    // last of them is open already.
    let other: Start = function(unsafe { culib() }, "cuInit")?;
    if std::ptr::fn_addr_eq(start, other) {
        Ok(DriverStatus::Found { version })
    } else {
        Err(DriverStatus::OtherLibrary { found: file_of(other), driver: file_of(start) })
    }
}

/// A function of the library, as a copy: the library is never closed.
fn function<F: Copy>(library: &Library, name: &str) -> Result<F, DriverStatus> {
    // SAFETY: every `F` that is called is what the driver's interface declares for the name.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|function| *function).map_err(|_| DriverStatus::Lacks { function: name.to_owned() })
}

/// The file that a function was loaded from, in words.
fn file_of(function: Start) -> String {
    let file = libraries::file_of(function as usize);
    file.map_or_else(|| "a library without a name".to_owned(), |file| file.to_string_lossy().into_owned())
}

/// A start of the driver in this process.
struct InitRecord {
    status: DriverStatus,
    /// What `CUDA_VISIBLE_DEVICES` was, which the driver reads then and never again.
    variable: Option<OsString>,
}

/// The fork generation, plus one, of the last process after whose start no child of a fork can start the driver; 0 if there
/// is none.
static POISONED_BY: RelaxedU64 = RelaxedU64::new(0);

fn is_poisoned_by_parent() -> bool {
    ![0, u64::from(fork::generation()) + 1].contains(&POISONED_BY.get())
}

/// The start that this process made, if it has made one.
fn record() -> &'static OnceBox<InitRecord> {
    // Not blocking cells: a fork while another thread starts the driver would leave the child waiting. Starting it twice is
    // harmless.
    static INIT: OnceBox<ForkLocal<OnceBox<InitRecord>>> = OnceBox::new();
    INIT.get_or_init(Box::default).get()
}

/// Starts the driver if it can be used; done once in a process.
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

/// Whether what [`start`] answers is known: it has been asked, or what the parent of this process did decides it.
pub(crate) fn is_init_cached() -> bool {
    record().get().is_some() || is_poisoned_by_parent()
}

/// What `CUDA_VISIBLE_DEVICES` was when this process started the driver; `None` where it has not.
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
    // SAFETY: what every program that uses the driver calls first; 0 is the only flag.
    match unsafe { start(0) } {
        code::SUCCESS => DriverStatus::Ready { version: *version },
        code::NOT_INITIALIZED => DriverStatus::Forked,
        code::STUB_LIBRARY => DriverStatus::Stub { path: file_of(start) },
        code::NO_DEVICE => DriverStatus::NoDevice,
        code::NOT_PERMITTED | code::OPERATING_SYSTEM => DriverStatus::NotPermitted,
        code => DriverStatus::Failed { function: "cuInit", code },
    }
}
