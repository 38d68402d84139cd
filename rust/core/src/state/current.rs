//! The part of the thread state that is read often. No destructor, so it can be read until the very
//! end of the thread, and a read is a load.

use std::cell::Cell;

use super::{FlagId, Masked};
use crate::autograd::mode;
use crate::sync::SharedWord;

/// How many layers of all threads name flags. While it is zero no read of a flag looks further.
static FLAG_SCOPES: SharedWord = SharedWord::new(0);

pub(super) struct Current {
    /// All mode bits: the base with every live layer over it.
    pub(super) modes: Cell<u8>,
    /// What this thread's layers decide of the precision tree.
    pub(super) tree: Cell<Masked<u64>>,
    /// The [`FlagId::bit`] of every flag that a live layer of this thread names.
    pub(super) flags: Cell<u64>,
    /// Grows with every change of what this thread's layers decide about flags.
    pub(super) changes: Cell<u64>,
}

thread_local! {
    pub(super) static CURRENT: Current = const {
        Current {
            modes: Cell::new(mode::BASE),
            tree: Cell::new(Masked { mask: 0, value: 0 }),
            flags: Cell::new(0),
            changes: Cell::new(0),
        }
    };
}

/// The mode bits in force on this thread.
#[inline]
pub(crate) fn mode_word() -> u8 {
    CURRENT.with(|current| current.modes.get())
}

/// Whether a layer of any thread names any flag.
#[inline]
pub(crate) fn any_flag_scope() -> bool {
    FLAG_SCOPES.get() != 0
}

/// Whether a layer of this thread may name this flag; false means that none does.
#[inline]
pub(crate) fn flag_may_be_scoped(id: FlagId) -> bool {
    CURRENT.with(|current| current.flags.get()) & id.bit() != 0
}

/// What this thread's layers decide of the precision tree.
#[inline]
pub(crate) fn scoped_tree() -> Masked<u64> {
    CURRENT.with(|current| current.tree.get())
}

/// How often what this thread's layers decide about flags has changed.
pub(crate) fn layer_changes() -> u64 {
    CURRENT.with(|current| current.changes.get())
}

pub(super) fn flag_layers_began(count: u64) {
    FLAG_SCOPES.add(count);
}

pub(super) fn flag_layers_ended(count: u64) {
    FLAG_SCOPES.subtract(count);
}
