//! What the driver and its threads share, behind one lock.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::options::HostOptions;
use super::state::State;
use super::waste::Waste;
use crate::{Error, Result, lifecycle};

pub(super) struct Shared {
    state: Mutex<State>,
    /// The fork generation of the process in which the threads run.
    generation: u32,
}

impl Shared {
    pub(super) fn new(options: &HostOptions) -> Self {
        Shared { state: Mutex::new(State::new(options)), generation: lifecycle::fork_generation() }
    }

    /// The only way to the state. Fails in a forked child, where the lock may be held by a thread that the
    /// child lacks.
    pub(super) fn lock(&self) -> Result<Locked<'_>> {
        if self.generation != lifecycle::fork_generation() {
            return Err(Error::Forked { what: "the host driver" });
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Locked { state, waste: Waste::default() })
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
