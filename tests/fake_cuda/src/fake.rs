//! The started driver of this process.

use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use once_cell::race::OnceBox;

use crate::call::{Answer, Code};
use crate::errors::{NO_DEVICE, NOT_INITIALIZED, STUB_LIBRARY, SUCCESS, UNKNOWN};
use crate::faults;
use crate::host_functions::HostFunctions;
use crate::settings::{self, Settings};
use crate::state::State;

/// Not a blocking cell: a forked child may lack the thread that initializes it. Never dropped, because threads may use
/// it until the process exits.
static START: OnceBox<Start> = OnceBox::new();

/// The result of the first `cuInit`.
struct Start {
    process: u32,
    outcome: Result<Fake, Code>,
}

pub(crate) struct Fake {
    pub(crate) host_functions: HostFunctions,
    /// Never locked during waits and host functions. Locked before the lock of the host driver.
    state: Mutex<State>,
}

impl Fake {
    fn start() -> Result<Self, Code> {
        match settings::outcome() {
            SUCCESS => {}
            code => return Err(code),
        }
        let settings = Settings::read();
        if settings.devices.is_empty() {
            return Err(NO_DEVICE);
        }
        faults::fail_allocation_unless_set(settings.fail_allocation);
        let state = State::new(settings).map_err(|_| UNKNOWN)?;
        Ok(Fake { host_functions: HostFunctions::default(), state: Mutex::new(state) })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the driver once. Fails in a forked child whose parent has started it.
pub(crate) fn start() -> Answer {
    let start = START.get_or_init(|| Box::new(Start { process: process::id(), outcome: Fake::start() }));
    match &start.outcome {
        Ok(_) if start.process != process::id() => Err(NOT_INITIALIZED),
        Ok(_) => Ok(()),
        Err(code) => Err(*code),
    }
}

/// Returns the driver, if it was started in this process.
pub(crate) fn started() -> Answer<&'static Fake> {
    match START.get().map(|start| (start.process, &start.outcome)) {
        Some((process, Ok(fake))) if process == process::id() => Ok(fake),
        None if settings::is_stub() => Err(STUB_LIBRARY),
        Some((_, Err(STUB_LIBRARY))) => Err(STUB_LIBRARY),
        _ => Err(NOT_INITIALIZED),
    }
}
