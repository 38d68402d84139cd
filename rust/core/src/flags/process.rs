//! What the process keeps beside the words: the freeze, who wrote what, and how often.

use super::freeze::Freeze;
use super::log::Log;
use super::{Given, SourceLocation};
use crate::base::fork::rank;
use crate::base::sync::{Epoch, ForkLock};
use crate::thread::{self, Slot};

/// The lock under which flags are written, and what else it guards. Readers never take it.
pub(crate) static PROCESS: ForkLock<Process> =
    ForkLock::with_child_hook(rank::FLAGS, Process::new(), super::freeze::forget_other_threads);

static EPOCH: Epoch = Epoch::new();

pub(crate) struct Process {
    pub(super) freeze: Freeze,
    /// Who last assigned each slot; filled only where writes are traced.
    pub(super) sites: Vec<(Slot, SourceLocation)>,
    pub(super) log: Log,
    /// What was restored for flags that nobody has registered yet.
    pub(super) held_back: Vec<(String, Given<'static>)>,
}

impl Process {
    const fn new() -> Self {
        Process { freeze: Freeze::new(), sites: Vec::new(), log: Log::new(), held_back: Vec::new() }
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
