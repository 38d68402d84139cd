//! The thread-local itself. It has no destructor, so every access is a load from a fixed place and it
//! can be read until the very end of the thread; what must end with the thread has a [`janitor`] that
//! the first layer calls in.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

use super::inbox::{Inbox, ThreadNumber};
use super::layers::Layers;
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
    /// The number of the thread; none before its inbox is opened, and after it is closed.
    pub(super) thread: Cell<ThreadNumber>,
    pub(super) owned: RefCell<ManuallyDrop<Owned>>,
}

/// What owns memory; it is given back by the janitor.
pub(super) struct Owned {
    pub(super) layers: Layers,
    /// Opened by the first enter of a scope that another thread could leave.
    pub(super) inbox: Option<Inbox>,
    /// Whether the thread has begun to end: from then on nothing is pushed.
    ended: bool,
}

thread_local! {
    static CURRENT: Current = const {
        Current {
            modes: Cell::new(mode::BASE),
            tree: Cell::new(Masked { mask: 0, value: 0 }),
            flags: Cell::new(0),
            changes: Cell::new(0),
            thread: Cell::new(ThreadNumber::NONE),
            owned: RefCell::new(ManuallyDrop::new(Owned {
                layers: Layers::new(mode::BASE),
                inbox: None,
                ended: false,
            })),
        }
    };

    static JANITOR: Janitor = const { Janitor };
}

/// Runs `action` on this thread's state.
///
/// `LocalKey::with` itself is compiled as a call wherever the action is long, and passes what the action
/// uses through memory: a guard would take half as long again. So it is only asked for the address.
#[inline(always)]
pub(super) fn with_current<R>(action: impl FnOnce(&Current) -> R) -> R {
    let current = CURRENT.with(std::ptr::from_ref);
    // SAFETY: the variable has no destructor, so it lives as long as its thread, which is running this.
    action(unsafe { &*current })
}

// Else every access would first ask whether the destructor has run.
const _: () = assert!(!std::mem::needs_drop::<Current>());

/// Gives back what the thread owns when the thread ends.
struct Janitor;

impl Drop for Janitor {
    fn drop(&mut self) {
        with_current(|current| {
            let Ok(mut owned) = current.owned.try_borrow_mut() else { return };
            current.thread.set(ThreadNumber::NONE);
            flag_layers_ended(owned.layers.flag_layer_count());
            let ended = Owned { layers: Layers::new(mode::BASE), inbox: None, ended: true };
            // The words stay as they were last: that is what a later destructor reads.
            drop(ManuallyDrop::into_inner(std::mem::replace(&mut *owned, ManuallyDrop::new(ended))));
        });
    }
}

impl Owned {
    /// Whether other threads have asked for layers to be dropped.
    #[inline]
    pub(super) fn others_left(&self) -> bool {
        self.inbox.as_ref().is_some_and(|inbox| !inbox.is_empty())
    }

    /// Makes room for a layer, but not where the thread has begun to end.
    pub(super) fn make_room(&mut self) {
        if self.layers.is_full() && !self.ended && JANITOR.try_with(|_| ()).is_ok() {
            self.layers.grow();
        }
    }

    /// The thread's number, given now if need be; none where the thread has begun to end.
    pub(super) fn number(&mut self) -> ThreadNumber {
        if self.inbox.is_none() && !self.ended && JANITOR.try_with(|_| ()).is_ok() {
            self.inbox = Some(Inbox::open());
        }
        self.inbox.as_ref().map_or(ThreadNumber::NONE, Inbox::thread)
    }
}

/// The mode bits in force on this thread.
#[inline]
pub(crate) fn mode_word() -> u8 {
    with_current(|current| current.modes.get())
}

/// Whether a layer of any thread names any flag.
#[inline]
pub(crate) fn any_flag_scope() -> bool {
    FLAG_SCOPES.get() != 0
}

/// Whether a layer of this thread may name this flag; false means that none does.
#[inline]
pub(crate) fn flag_may_be_scoped(id: FlagId) -> bool {
    with_current(|current| current.flags.get()) & id.bit() != 0
}

/// What this thread's layers decide of the precision tree.
#[inline]
pub(crate) fn scoped_tree() -> Masked<u64> {
    with_current(|current| current.tree.get())
}

/// How often what this thread's layers decide about flags has changed.
pub(crate) fn layer_changes() -> u64 {
    with_current(|current| current.changes.get())
}

pub(super) fn count_flag_layers_of_this_thread_only() {
    let count =
        with_current(|current| current.owned.try_borrow().map_or(0, |owned| owned.layers.flag_layer_count()));
    FLAG_SCOPES.set(count);
}

pub(super) fn flag_layer_began() {
    FLAG_SCOPES.add(1);
}

pub(super) fn flag_layers_ended(count: u64) {
    FLAG_SCOPES.subtract(count);
}
