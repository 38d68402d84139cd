//! What the driver and its threads share, behind one lock.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use interlock_core::base::fork;
use interlock_driver::{Error, Result};

use super::options::HostOptions;
use super::state::State;
use super::waste::Waste;

pub(super) struct Shared {
    state: Mutex<State>,
    device_count: u32,
    /// The fork generation of the process in which the threads run.
    generation: u32,
}

impl Shared {
    pub(super) fn new(options: &HostOptions) -> Self {
        Shared {
            device_count: options.devices,
            state: Mutex::new(State::new(options)),
            generation: fork::generation(),
        }
    }

    /// The only way to the state. Fails in a forked child, where the lock may be held by a thread that the
    /// child lacks.
    pub(super) fn lock(&self) -> Result<Locked<'_>> {
        self.check_process()?;
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Locked { state, waste: Waste::default() })
    }

    /// As [`lock`](Shared::lock), for who holds other locks: what is waste stays for whoever has the state next.
    pub(super) fn lock_leaving_waste(&self) -> Result<MutexGuard<'_, State>> {
        self.check_process()?;
        Ok(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the number of devices.
    pub(super) fn device_count(&self) -> u32 {
        self.device_count
    }

    fn check_process(&self) -> Result<()> {
        if self.generation == fork::generation() {
            Ok(())
        } else {
            Err(Error::Forked { what: "the host driver" })
        }
    }
}

/// The state, for whoever holds the lock. What became waste in the meantime is dropped after it is released.
pub(super) struct Locked<'a> {
    // Fields are dropped in this order.
    state: MutexGuard<'a, State>,
    waste: Waste,
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.waste = std::mem::take(&mut self.state.waste);
    }
}
