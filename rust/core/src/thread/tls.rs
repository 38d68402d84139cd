//! The thread-local. It has no destructor, so an access needs no check whether the destructor has run, and destructors
//! of other thread-locals can read it. [`TlsCleanup`] releases the memory that it owns when the thread ends; the first
//! layer registers it.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

use super::device_slots::DeviceSummary;
use super::layer_stack::{LayerIds, LayerStack};
use super::remote_exit::{Mailbox, MailboxId};
use super::{FlagId, Masked, mode_bits, scope_trace};
use crate::base::env;
use crate::base::sync::{RelaxedU64, thread_local};

/// Identifies a thread; 0 is none. Unique in a process, also after the thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadId(u64);

impl ThreadId {
    const NONE: ThreadId = ThreadId(0);

    pub(super) fn as_word(self) -> u64 {
        self.0
    }
}

static LAST_THREAD: RelaxedU64 = RelaxedU64::new(0);

pub(super) struct Tls {
    /// The active mode bits: the base with every layer applied.
    pub(super) modes: Cell<u8>,
    /// The nodes of the precision tree that the active layers decide.
    pub(super) tree: Cell<Masked<u64>>,
    /// The [`FlagId::bit`] of every flag that an active layer names.
    pub(super) flags: Cell<u64>,
    /// Incremented when the flags that the active layers decide change.
    pub(super) changes: Cell<u64>,
    /// The device slots that the active layers decide.
    pub(super) devices: Cell<DeviceSummary>,
    /// The mailbox of the active state; none before it is opened and after it is closed.
    pub(super) mailbox: Cell<MailboxId>,
    /// Assigned by the first call of [`this_thread`].
    thread: Cell<ThreadId>,
    pub(super) owned: RefCell<ManuallyDrop<TlsOwned>>,
}

/// The part of the state that owns memory; [`TlsCleanup`] drops it.
pub(super) struct TlsOwned {
    /// The active state: the thread's own, or that of the running task.
    pub(super) state: ThreadScopes,
    /// The steps of tasks that are running on this thread, in the order in which they began.
    pub(super) steps: Vec<Step>,
    pub(super) ids: LayerIds,
    /// Whether the thread is ending. Then nothing is pushed, removed or written any more.
    pub(super) ended: bool,
}

/// A step of a task that runs on this thread.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) task: TaskId,
    /// The state that was active when the step began: the thread's own, or that of the previous step.
    pub(super) displaced: ThreadScopes,
}

/// Identifies a task for the steps of a thread; unique in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskId(u64);

impl TaskId {
    pub(super) fn next() -> Self {
        static LAST_TASK: RelaxedU64 = RelaxedU64::new(0);
        TaskId(LAST_TASK.add(1))
    }
}

/// The layers and the mailbox of a thread, or of a task with a state of its own.
#[derive(Debug)]
pub(super) struct ThreadScopes {
    pub(super) layers: LayerStack,
    /// Opened by the first enter of a scope that another thread could exit.
    pub(super) mailbox: Option<Mailbox>,
}

impl ThreadScopes {
    pub(super) const fn new() -> Self {
        ThreadScopes { layers: LayerStack::new(mode_bits::BASE), mailbox: None }
    }

    /// Returns whether other threads or tasks have requested exits.
    #[inline]
    pub(super) fn has_remote_exits(&self) -> bool {
        self.mailbox.as_ref().is_some_and(|mailbox| !mailbox.is_empty())
    }

    /// Opens the mailbox unless it is open and returns its id. The caller ensures that the state is dropped.
    pub(super) fn open_mailbox(&mut self) -> MailboxId {
        self.mailbox.get_or_insert_with(Mailbox::open).id()
    }

    /// Returns the id of the mailbox, or none if it is not open.
    pub(super) fn mailbox_id(&self) -> MailboxId {
        self.mailbox.as_ref().map_or(MailboxId::NONE, Mailbox::id)
    }
}

thread_local! {
    static CURRENT: Tls = const {
        Tls {
            modes: Cell::new(mode_bits::BASE),
            tree: Cell::new(Masked { mask: 0, value: 0 }),
            flags: Cell::new(0),
            changes: Cell::new(0),
            devices: Cell::new(DeviceSummary::NONE),
            mailbox: Cell::new(MailboxId::NONE),
            thread: Cell::new(ThreadId::NONE),
            owned: RefCell::new(ManuallyDrop::new(TlsOwned::new(false))),
        }
    };

    static CLEANUP: TlsCleanup = const { TlsCleanup };
}

/// Runs `action` on this thread's state.
///
/// A long `action` makes the compiler emit `LocalKey::with` as a call that passes captured values through memory, which
/// makes a guard slower by half. So `with` only returns the address.
#[inline(always)]
pub(super) fn with_tls<R>(action: impl FnOnce(&Tls) -> R) -> R {
    let current = CURRENT.with(std::ptr::from_ref);
    // SAFETY: the variable has no destructor, so it lives as long as its thread, which runs this code.
    action(unsafe { &*current })
}

// A destructor would make every access check whether it has run.
const _: () = assert!(!std::mem::needs_drop::<Tls>());

/// Drops [`TlsOwned`] when the thread ends.
struct TlsCleanup;

impl Drop for TlsCleanup {
    fn drop(&mut self) {
        with_tls(|current| {
            let Ok(mut owned) = current.owned.try_borrow_mut() else { return };
            current.mailbox.set(MailboxId::NONE);
            // Later destructors read the flags of the process and no device slot: the layers that decided them are
            // dropped below. The modes keep their last values, because a process has no values for them.
            current.tree.set(Masked::default());
            current.flags.set(0);
            current.changes.set(current.changes.get().wrapping_add(1));
            current.devices.set(DeviceSummary::NONE);
            if env::debug() {
                let displaced = owned.steps.iter().map(|step| &step.displaced);
                displaced
                    .chain([&owned.state])
                    .for_each(|state| scope_trace::on_owner_ended(state.mailbox_id()));
            }
            let last = std::mem::replace(&mut *owned, ManuallyDrop::new(TlsOwned::new(true)));
            // Released before the layers are dropped: dropping the last clone of a stream calls a driver, which may
            // access this state.
            drop(owned);
            drop(ManuallyDrop::into_inner(last));
        });
    }
}

impl TlsOwned {
    const fn new(ended: bool) -> Self {
        TlsOwned { state: ThreadScopes::new(), steps: Vec::new(), ids: LayerIds::new(), ended }
    }

    /// Registers [`TlsCleanup`] for this thread. Returns false if the thread is ending.
    pub(super) fn ensure_cleanup_registered(&self) -> bool {
        !self.ended && CLEANUP.try_with(|_| ()).is_ok()
    }

    /// Reserves capacity for a layer, unless the thread is ending.
    pub(super) fn reserve_layer(&mut self) {
        if self.state.layers.is_full() && self.ensure_cleanup_registered() {
            self.state.layers.grow();
        }
    }

    /// Opens the mailbox unless it is open and returns its id; none if the thread is ending.
    pub(super) fn open_mailbox(&mut self) -> MailboxId {
        if self.state.mailbox.is_none() && self.ensure_cleanup_registered() {
            self.state.open_mailbox();
        }
        self.state.mailbox_id()
    }
}

/// Returns the id of this thread.
pub(crate) fn this_thread() -> ThreadId {
    with_tls(|current| {
        if current.thread.get() == ThreadId::NONE {
            current.thread.set(ThreadId(LAST_THREAD.add(1)));
        }
        current.thread.get()
    })
}

/// Returns whether the layers of this thread are dropped because it is ending. Then no scope is entered, and no mode,
/// device or stream is written.
#[doc(hidden)]
pub fn is_ended() -> bool {
    with_tls(|current| current.owned.try_borrow().is_ok_and(|owned| owned.ended))
}

/// Returns the active mode bits of this thread.
#[inline]
pub(crate) fn mode_word() -> u8 {
    with_tls(|current| current.modes.get())
}

/// Returns the address of the active mode bits of this thread, which is valid on this thread until it ends.
#[doc(hidden)]
pub fn mode_word_address() -> *const u8 {
    with_tls(|current| current.modes.as_ptr().cast_const())
}

/// Returns whether an active layer of this thread may name this flag. `false` is exact; `true` may be another flag with
/// the same bit.
#[inline]
pub(crate) fn flag_may_be_scoped(id: FlagId) -> bool {
    with_tls(|current| current.flags.get()) & id.bit() != 0
}

/// Returns the nodes of the precision tree that the active layers of this thread decide.
#[inline]
pub(crate) fn scoped_tree() -> Masked<u64> {
    with_tls(|current| current.tree.get())
}

/// Returns how many times the flags that the layers of this thread decide have changed.
pub(crate) fn layer_changes() -> u64 {
    with_tls(|current| current.changes.get())
}
