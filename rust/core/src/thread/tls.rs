//! The thread-local itself. It has no destructor, so every access is a load from a fixed place and it
//! can be read until the very end of the thread; what must end with the thread has a [`TlsCleanup`] that
//! the first layer calls in.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

use super::device_slots::DeviceSummary;
use super::layer_stack::{LayerIds, LayerStack};
use super::remote_exit::{Mailbox, MailboxId};
use super::{FlagId, Masked, mode_bits, scope_trace};
use crate::base::env;
use crate::base::sync::{RelaxedU64, thread_local};

/// Tells threads apart; 0 is no thread. Never used twice in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadId(u64);

impl ThreadId {
    const NONE: ThreadId = ThreadId(0);

    pub(super) fn as_word(self) -> u64 {
        self.0
    }
}

static THREADS: RelaxedU64 = RelaxedU64::new(0);

pub(super) struct Tls {
    /// All mode bits: the base with every live layer over it.
    pub(super) modes: Cell<u8>,
    /// What the layers in force decide of the precision tree.
    pub(super) tree: Cell<Masked<u64>>,
    /// The [`FlagId::bit`] of every flag that a layer in force names.
    pub(super) flags: Cell<u64>,
    /// Grows with every change of what the layers in force decide about flags.
    pub(super) changes: Cell<u64>,
    /// What the layers in force decide of the devices.
    pub(super) devices: Cell<DeviceSummary>,
    /// The inbox of the state in force; none before it is opened, and after it is closed.
    pub(super) mailbox: Cell<MailboxId>,
    /// None before somebody asks for it.
    thread: Cell<ThreadId>,
    pub(super) owned: RefCell<ManuallyDrop<TlsOwned>>,
}

/// What owns memory; it is given back by the janitor.
pub(super) struct TlsOwned {
    /// In force: the thread's own, or that of the task which runs.
    pub(super) state: ThreadScopes,
    /// The steps of tasks that have begun on this thread and not ended, in that order.
    pub(super) steps: Vec<Step>,
    pub(super) ids: LayerIds,
    /// Whether the thread has begun to end: from then on nothing is pushed, removed or written.
    pub(super) ended: bool,
}

/// A step of a task that runs on this thread.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) task: TaskId,
    /// The state that was in force when the step began: the thread's own, or that of the step before this one.
    pub(super) displaced: ThreadScopes,
}

/// Identifies a task for the steps of a thread; unique in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskId(u64);

impl TaskId {
    pub(super) fn next() -> Self {
        static TASKS: RelaxedU64 = RelaxedU64::new(0);
        TaskId(TASKS.add(1))
    }
}

/// A state that can be in force: a thread has one, and each task that has one of its own.
#[derive(Debug)]
pub(super) struct ThreadScopes {
    pub(super) layers: LayerStack,
    /// Opened by the first enter of a scope that could be left elsewhere.
    pub(super) mailbox: Option<Mailbox>,
}

impl ThreadScopes {
    pub(super) const fn new() -> Self {
        ThreadScopes { layers: LayerStack::new(mode_bits::BASE), mailbox: None }
    }

    /// Whether others have asked for layers to be dropped.
    #[inline]
    pub(super) fn has_remote_exits(&self) -> bool {
        self.mailbox.as_ref().is_some_and(|mailbox| !mailbox.is_empty())
    }

    /// Opens the inbox if need be, and returns its number. The caller makes sure that the state is dropped.
    pub(super) fn open_mailbox(&mut self) -> MailboxId {
        self.mailbox.get_or_insert_with(Mailbox::open).number()
    }

    /// The number of its inbox if it is open.
    pub(super) fn mailbox_id(&self) -> MailboxId {
        self.mailbox.as_ref().map_or(MailboxId::NONE, Mailbox::number)
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
/// `LocalKey::with` itself is compiled as a call wherever the action is long, and passes what the action
/// uses through memory: a guard would take half as long again. So it is only asked for the address.
#[inline(always)]
pub(super) fn with_tls<R>(action: impl FnOnce(&Tls) -> R) -> R {
    let current = CURRENT.with(std::ptr::from_ref);
    // SAFETY: the variable has no destructor, so it lives as long as its thread, which is running this.
    action(unsafe { &*current })
}

// Else every access would first ask whether the destructor has run.
const _: () = assert!(!std::mem::needs_drop::<Tls>());

/// Gives back what the thread owns when the thread ends.
struct TlsCleanup;

impl Drop for TlsCleanup {
    fn drop(&mut self) {
        with_tls(|current| {
            let Ok(mut owned) = current.owned.try_borrow_mut() else { return };
            current.mailbox.set(MailboxId::NONE);
            // A later destructor reads flags as the process's and no place: the layers that decided them go
            // now. The modes stay as they were last, for there is nothing else that they could be.
            current.tree.set(Masked::default());
            current.flags.set(0);
            current.changes.set(current.changes.get().wrapping_add(1));
            current.devices.set(DeviceSummary::NONE);
            if env::debug() {
                let displaced = owned.steps.iter().map(|step| &step.displaced);
                displaced.chain([&owned.state]).for_each(|state| scope_trace::on_owner_ended(state.mailbox_id()));
            }
            let last = std::mem::replace(&mut *owned, ManuallyDrop::new(TlsOwned::new(true)));
            // Before the layers: with the last clone of a stream a driver is called, which may come back here.
            drop(owned);
            drop(ManuallyDrop::into_inner(last));
        });
    }
}

impl TlsOwned {
    const fn new(ended: bool) -> Self {
        TlsOwned { state: ThreadScopes::new(), steps: Vec::new(), ids: LayerIds::new(), ended }
    }

    /// Whether the thread lives; from now on the janitor will come when it ends.
    pub(super) fn ensure_cleanup_registered(&self) -> bool {
        !self.ended && CLEANUP.try_with(|_| ()).is_ok()
    }

    /// Makes room for a layer, but not where the thread has begun to end.
    pub(super) fn reserve_layer(&mut self) {
        if self.state.layers.is_full() && self.ensure_cleanup_registered() {
            self.state.layers.grow();
        }
    }

    /// The number of the inbox, which is opened if need be; none where the thread has begun to end.
    pub(super) fn open_mailbox(&mut self) -> MailboxId {
        if self.state.mailbox.is_none() && self.ensure_cleanup_registered() {
            self.state.open_mailbox();
        }
        self.state.mailbox_id()
    }
}

/// The number of this thread.
pub(crate) fn this_thread() -> ThreadId {
    with_tls(|current| {
        if current.thread.get() == ThreadId::NONE {
            current.thread.set(ThreadId(THREADS.add(1)));
        }
        current.thread.get()
    })
}

/// The mode bits in force on this thread.
#[inline]
pub(crate) fn mode_word() -> u8 {
    with_tls(|current| current.modes.get())
}

/// Whether a layer in force on this thread may name this flag; false means that none does.
#[inline]
pub(crate) fn flag_may_be_scoped(id: FlagId) -> bool {
    with_tls(|current| current.flags.get()) & id.bit() != 0
}

/// What the layers in force on this thread decide of the precision tree.
#[inline]
pub(crate) fn scoped_tree() -> Masked<u64> {
    with_tls(|current| current.tree.get())
}

/// How often what this thread's layers decide about flags has changed.
pub(crate) fn layer_changes() -> u64 {
    with_tls(|current| current.changes.get())
}
