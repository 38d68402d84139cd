//! The state of all flags besides their words: freezes, the locations of assignments and the write log.

use super::freeze::Freeze;
use super::write_log::WriteLog;
use super::{InputValue, SourceLocation};
use crate::Error;
use crate::base::fork::rank;
use crate::base::sync::{Epoch, ForkLock};
use crate::thread::{self, Slot};

/// The lock under which flags are written, with the state that it guards. Readers never acquire it.
pub(crate) static STORE: ForkLock<GlobalStore> =
    ForkLock::with_child_hook(rank::FLAGS, GlobalStore::new(), super::freeze::after_fork_in_child);

static EPOCH: Epoch = Epoch::new();

pub(crate) struct GlobalStore {
    pub(super) freeze: Freeze,
    /// The location of the last assignment to each slot; empty unless writes are traced.
    pub(super) sites: Vec<(Slot, SourceLocation)>,
    pub(super) log: WriteLog,
    /// Restored values of flags that are not registered yet.
    pub(super) deferred_restores: Vec<(String, InputValue<'static>)>,
    /// The registered flags whose variable was refused, each with the error.
    pub(super) refused_variables: Vec<(String, Error)>,
}

impl GlobalStore {
    const fn new() -> Self {
        GlobalStore {
            freeze: Freeze::new(),
            sites: Vec::new(),
            log: WriteLog::new(),
            deferred_restores: Vec::new(),
            refused_variables: Vec::new(),
        }
    }

    pub(super) fn advance_epoch(&self) {
        EPOCH.advance();
    }

    pub(super) fn site(&self, slot: Slot) -> Option<SourceLocation> {
        self.sites.iter().find(|(noted, _)| *noted == slot).map(|(_, site)| site.clone())
    }
}

/// Returns a count that changes with every write of a flag of the process. With [`layer_epoch`] it is a key for caching
/// results that depend on flags: read both before the flags.
#[inline]
pub fn epoch() -> u64 {
    EPOCH.get()
}

/// Returns a count that changes when the flags that scopes of this thread set change.
#[inline]
pub fn layer_epoch() -> u64 {
    thread::layer_changes()
}
