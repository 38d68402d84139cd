//! The driver of this process, once it has started.

use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use once_cell::race::OnceBox;

use crate::call::{Answer, Code};
use crate::errors::{NO_DEVICE, NOT_INITIALIZED, STUB_LIBRARY, SUCCESS, UNKNOWN};
use crate::faults;
use crate::host_functions::HostFunctions;
use crate::settings::{self, Settings};
use crate::state::State;

/// Filled without waiting for another thread, which a forked child may lack, and never dropped: what still runs when
/// the process ends may need it.
static START: OnceBox<Start> = OnceBox::new();

/// What the first `cuInit` came to.
struct Start {
    process: u32,
    outcome: Result<Fake, Code>,
}

pub(crate) struct Fake {
    pub(crate) host_functions: HostFunctions,
    /// Held for a few steps, never while anybody waits or a host function runs. The host driver's lock comes after it.
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
        faults::fail_allocation_if_asked(settings.fail_allocation);
        let state = State::new(settings).map_err(|_| UNKNOWN)?;
        Ok(Fake { host_functions: HostFunctions::default(), state: Mutex::new(state) })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the driver, if it has not started yet. A child of a process in which it had can't.
pub(crate) fn start() -> Answer {
    let start = START.get_or_init(|| Box::new(Start { process: process::id(), outcome: Fake::start() }));
    match &start.outcome {
        Ok(_) if start.process != process::id() => Err(NOT_INITIALIZED),
        Ok(_) => Ok(()),
        Err(code) => Err(*code),
    }
}

/// The driver, if it has started in this process.
pub(crate) fn started() -> Answer<&'static Fake> {
    match START.get().map(|start| (start.process, &start.outcome)) {
        Some((process, Ok(fake))) if process == process::id() => Ok(fake),
        None if settings::is_stub() => Err(STUB_LIBRARY),
        Some((_, Err(STUB_LIBRARY))) => Err(STUB_LIBRARY),
        _ => Err(NOT_INITIALIZED),
    }
}
