//! What the process keeps beside the words: the freeze, who wrote what, and how often.

use super::freeze::Freeze;
use super::write_log::WriteLog;
use super::{InputValue, SourceLocation};
use crate::base::fork::rank;
use crate::base::sync::{Epoch, ForkLock};
use crate::thread::{self, Slot};

/// The lock under which flags are written, and what else it guards. Readers never take it.
pub(crate) static STORE: ForkLock<GlobalStore> =
    ForkLock::with_child_hook(rank::FLAGS, GlobalStore::new(), super::freeze::after_fork_in_child);

static EPOCH: Epoch = Epoch::new();

pub(crate) struct GlobalStore {
    pub(super) freeze: Freeze,
    /// Who last assigned each slot; filled only where writes are traced.
    pub(super) sites: Vec<(Slot, SourceLocation)>,
    pub(super) log: WriteLog,
    /// What was restored for flags that nobody has registered yet.
    pub(super) deferred_restores: Vec<(String, InputValue<'static>)>,
}

impl GlobalStore {
    const fn new() -> Self {
        GlobalStore { freeze: Freeze::new(), sites: Vec::new(), log: WriteLog::new(), deferred_restores: Vec::new() }
    }

    pub(super) fn note_change(&self) {
        EPOCH.advance();
    }

    pub(super) fn site(&self, slot: Slot) -> Option<SourceLocation> {
        self.sites.iter().find(|(noted, _)| *noted == slot).map(|(_, site)| site.clone())
    }
}

/// How often a flag of the process has changed. With [`layer_epoch`] it is the key under which
/// something worked out from flags may be kept: read both before the flags.
#[inline]
pub fn epoch() -> u64 {
    EPOCH.get()
}

/// How often what the scopes of this thread decide about flags has changed.
#[inline]
pub fn layer_epoch() -> u64 {
    thread::layer_changes()
}
