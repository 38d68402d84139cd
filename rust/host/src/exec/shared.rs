//! The state of a driver behind its lock, which the runtime shares with its threads.

use std::ops::{Deref, DerefMut};
use std::sync::MutexGuard;

use interlock_core::base::fork;
use interlock_core::base::mutex::Mutex;
use interlock_driver::{Error, Result};

use crate::exec::deferred_drop::DeferredDrops;
use crate::exec::inner::Inner;
use crate::options::HostOptions;

pub(crate) struct Shared {
    inner: Mutex<Inner>,
    /// The fork generation of the process in which the threads run.
    generation: u32,
}

impl Shared {
    pub(crate) fn new(options: &HostOptions) -> Self {
        Shared { inner: Mutex::new(Inner::new(options)), generation: fork::generation() }
    }

    /// Locks the state. What was added to the deferred drops is dropped when the guard has been released.
    ///
    /// # Errors
    /// [`Error::Forked`] in a forked child, where the lock may be held by a thread that the child lacks.
    pub(crate) fn lock(&self) -> Result<Locked<'_>> {
        Ok(Locked { inner: self.lock_no_flush()?, deferred_drops: DeferredDrops::default() })
    }

    /// Like [`lock`](Shared::lock), for callers that hold other locks: deferred drops stay for the next guard.
    pub(crate) fn lock_no_flush(&self) -> Result<MutexGuard<'_, Inner>> {
        if self.generation != fork::generation() {
            return Err(Error::Forked { what: "the host driver" });
        }
        Ok(self.inner.lock())
    }
}

/// Holds the lock. Deferred drops run after it is released.
pub(crate) struct Locked<'a> {
    // Fields are dropped in this order.
    inner: MutexGuard<'a, Inner>,
    deferred_drops: DeferredDrops,
}

impl Deref for Locked<'_> {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Inner {
        &mut self.inner
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.deferred_drops = std::mem::take(&mut self.inner.deferred_drops);
    }
}
