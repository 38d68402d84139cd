//! The mutex of a driver, which the runtime shares with its worker threads.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};

use interlock_core::base::fork;
use interlock_core::base::mutex::Mutex;
use interlock_driver::{Error, Result};

use crate::exec::deferred_drop::DeferredDrops;
use crate::exec::inner::Inner;
use crate::options::HostOptions;

/// The state of a driver behind its mutex.
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    /// The fork generation of the process that runs the worker threads.
    generation: u32,
    /// Whether any device is lost, so that a driver without one need not lock. [`Inner`] sets it.
    has_lost_device: Arc<AtomicBool>,
}

impl Shared {
    pub(crate) fn new(options: &HostOptions) -> Self {
        let inner = Inner::new(options);
        let has_lost_device = inner.has_lost_device.clone();
        Shared { inner: Mutex::new(inner), generation: fork::generation(), has_lost_device }
    }

    /// Returns whether any device is lost, without the lock.
    pub(crate) fn has_lost_device(&self) -> bool {
        self.has_lost_device.load(Ordering::Acquire)
    }

    /// Locks the state. Dropping the guard unlocks it and then drops the values of [`Inner::defer_drop`].
    ///
    /// # Errors
    /// Returns [`Error::Forked`] in a forked child, where a thread that the child lacks may hold the lock.
    pub(crate) fn lock(&self) -> Result<Locked<'_>> {
        Ok(Locked { inner: self.lock_no_flush()?, deferred_drops: DeferredDrops::default() })
    }

    /// Like [`lock`](Shared::lock), for callers that hold other locks: leaves deferred drops to the next guard.
    pub(crate) fn lock_no_flush(&self) -> Result<MutexGuard<'_, Inner>> {
        if self.generation != fork::generation() {
            return Err(Error::Forked { what: "the host driver" });
        }
        Ok(self.inner.lock())
    }
}

/// The guard of [`Shared::lock`].
pub(crate) struct Locked<'a> {
    // Declared first, so that the lock is released before the values are dropped.
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
        self.deferred_drops = self.inner.take_deferred_drops();
    }
}
