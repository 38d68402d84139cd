//! The state that is active on this thread: what readers load, and the layers behind it.
//!
//! It is stored in a thread-local without a destructor, so that an access needs no check whether the destructor has
//! run, and destructors of other thread-locals can read it. [`Cleanup`] releases the memory that it owns when the
//! thread ends; what first needs memory registers it.
//!
//! All functions may be called while the thread ends. Once its layers are dropped, the modes keep their last values,
//! flags have the values of the process, and no device slot is set: enters and writes of modes and devices fail, guards
//! and exits do nothing, and a write of a flag changes the process.

use std::cell::{Cell, RefCell, RefMut};
use std::mem::{self, ManuallyDrop};
use std::sync::Arc;

use super::base::Base;
use super::device_slots::DeviceSummary;
use super::guards::{Guards, Removed};
use super::hooks::ModeReport;
use super::ids::{LayerId, LayerIds, Position, ScopeId, TaskId, ThreadId};
use super::mailbox::{Exits, Mailbox, MailboxId, Request};
use super::state::{self, Mark, Spare, State};
use super::summary::Summary;
use super::view::View;
use super::{Masked, Slots, carried, carrier, changes, hooks, mode_bits, scope_trace};
use crate::Error;
use crate::base::env;
use crate::base::sync::{debug_assert_unlocked, thread_local};

/// The bit of [`Tls::modes`] that is set until the thread has looked at the values of the process.
pub(super) const UNSEEN: u8 = 1 << 7;

const _: () = assert!(mode_bits::ALL & UNSEEN == 0);

pub(super) struct Tls {
    /// The active mode bits: the bases with every layer applied; [`UNSEEN`] at first.
    pub(super) modes: Cell<u8>,
    /// The nodes of the precision tree that the active layers set.
    pub(super) tree: Cell<Masked<u64>>,
    /// The [`FlagId::bit`] of every flag that an active layer names.
    pub(super) flags: Cell<u64>,
    /// Incremented when the flags that the active layers set change.
    pub(super) flag_changes: Cell<u64>,
    /// The device slots that the active layers set.
    pub(super) devices: Cell<DeviceSummary>,
    /// The mailbox of the active guards; none before it is opened and after it is closed.
    pub(super) mailbox: Cell<MailboxId>,
    /// Assigned by the first call of [`this_thread`](Tls::this_thread).
    thread: Cell<ThreadId>,
    /// The epoch of [`changes`] that this thread has seen.
    seen_epoch: Cell<u64>,
    /// The serial of the state of the context that this thread has seen.
    seen_serial: Cell<u64>,
    /// Whether this thread is changing the state of its context: code that the interpreter's collector runs meanwhile
    /// must not store another one.
    is_changing: Cell<bool>,
    /// The position of the layer that a scope enters next; none for the innermost one.
    position: Cell<Option<Position>>,
    /// The number of registrations of hooks for modes when they were called last.
    reported_registrations: Cell<u64>,
    /// Whether hooks are being called for modes.
    is_reporting: Cell<bool>,
    pub(super) owned: RefCell<ManuallyDrop<Owned>>,
}

/// The part of the state that owns memory; [`Cleanup`] drops it.
pub(super) struct Owned {
    /// The active guards and mailbox: those of the thread, or of the running task.
    pub(super) native: NativeScopes,
    /// The state of the context as of the last look, without layers that have ended.
    pub(super) context: State,
    /// The number of its layers.
    depth: u32,
    spare: Spare,
    /// The steps of tasks that are running on this thread, in the order in which they began.
    pub(super) steps: Vec<Step>,
    pub(super) ids: LayerIds,
    /// What set modes when hooks were called last.
    reported_modes: Vec<(LayerId, Masked<u8>)>,
    /// Whether the thread is ending. Then nothing is pushed, removed or written any more.
    pub(super) ended: bool,
    /// Whether [`Cleanup`] is registered.
    is_cleanup_registered: Cell<bool>,
}

/// A step of a task that runs on this thread.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) task: TaskId,
    /// The state that was active when the step began: the scopes of the thread, or those of the previous step.
    pub(super) displaced: NativeScopes,
}

/// The guards and the mailbox of a thread, or of a task with a state of its own.
#[derive(Debug)]
pub(super) struct NativeScopes {
    pub(super) guards: Guards,
    /// Opened by the first enter of a scope that another thread could exit.
    mailbox: Option<Mailbox>,
}

impl NativeScopes {
    pub(super) const fn new() -> Self {
        NativeScopes { guards: Guards::new(), mailbox: None }
    }

    /// Opens the mailbox unless it is open and returns its id. The caller ensures that the scopes are dropped.
    pub(super) fn open_mailbox(&mut self) -> MailboxId {
        self.mailbox.get_or_insert_with(Mailbox::open).id()
    }

    /// Returns the id of the mailbox, or none if it is not open.
    fn mailbox_id(&self) -> MailboxId {
        self.mailbox.as_ref().map_or(MailboxId::NONE, Mailbox::id)
    }

    pub(super) fn has_requests(&self) -> bool {
        self.mailbox.as_ref().is_some_and(|mailbox| !mailbox.is_empty())
    }

    /// Records in the trace, and reports to hooks, that the layers end without an exit.
    pub(super) fn record_end(&self) {
        for guard in self.guards.list() {
            if env::debug() {
                scope_trace::on_dropped(guard.id);
            }
            hooks::report_removed(guard.id);
        }
    }
}

thread_local! {
    static CURRENT: Tls = const {
        Tls {
            modes: Cell::new(UNSEEN),
            tree: Cell::new(Masked { mask: 0, value: 0 }),
            flags: Cell::new(0),
            flag_changes: Cell::new(0),
            devices: Cell::new(DeviceSummary::NONE),
            mailbox: Cell::new(MailboxId::NONE),
            thread: Cell::new(ThreadId::NONE),
            seen_epoch: Cell::new(changes::UNSEEN),
            seen_serial: Cell::new(0),
            is_changing: Cell::new(false),
            position: Cell::new(None),
            reported_registrations: Cell::new(0),
            is_reporting: Cell::new(false),
            owned: RefCell::new(ManuallyDrop::new(Owned::new(false))),
        }
    };

    static CLEANUP: Cleanup = const { Cleanup };
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

/// Drops [`Owned`] when the thread ends.
struct Cleanup;

impl Drop for Cleanup {
    fn drop(&mut self) {
        with_tls(|current| {
            let Ok(mut owned) = current.owned.try_borrow_mut() else { return };
            current.mailbox.set(MailboxId::NONE);
            // Later destructors read the flags of the process and no device slot: the layers that set them are dropped
            // below. The modes keep their last values.
            current.tree.set(Masked::default());
            current.flags.set(0);
            current.flag_changes.set(current.flag_changes.get().wrapping_add(1));
            current.devices.set(DeviceSummary::NONE);
            let last = mem::replace(&mut *owned, ManuallyDrop::new(Owned::new(true)));
            // Released before the layers are dropped: dropping the last clone of a stream calls a driver, which may
            // access this state.
            drop(owned);
            last.native.record_end();
            last.steps.iter().for_each(|step| step.displaced.record_end());
            drop(ManuallyDrop::into_inner(last));
        });
    }
}

impl Owned {
    const fn new(ended: bool) -> Self {
        Owned {
            native: NativeScopes::new(),
            context: State::EMPTY,
            depth: 0,
            spare: Spare::NONE,
            steps: Vec::new(),
            ids: LayerIds::new(),
            reported_modes: Vec::new(),
            ended,
            is_cleanup_registered: Cell::new(false),
        }
    }

    /// Registers [`Cleanup`] for this thread. Returns false if the thread is ending.
    pub(super) fn ensure_cleanup_registered(&self) -> bool {
        if !self.is_cleanup_registered.get() {
            self.is_cleanup_registered.set(!self.ended && CLEANUP.try_with(|_| ()).is_ok());
        }
        self.is_cleanup_registered.get()
    }

    /// Reserves capacity for a layer, unless the thread is ending.
    pub(super) fn reserve_layer(&mut self) {
        if self.native.guards.is_full() && self.ensure_cleanup_registered() {
            self.native.guards.grow();
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        View { guards: &self.native.guards, context: &self.context }
    }

    /// Returns the number of layers of the context.
    #[inline(always)]
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }
}

/// Removed layers, states and guards, to be dropped once the thread's state is no longer borrowed and no lock is held:
/// dropping the last clone of a stream calls a driver, which may access this state.
#[derive(Default)]
pub(super) struct DeferredDrops {
    pub(super) removed: Vec<Removed>,
    natives: Vec<NativeScopes>,
    /// Not in a vector, because a scope of a context replaces one state.
    state: State,
    more_states: Vec<State>,
    pub(super) bases: Vec<Base>,
}

impl Drop for DeferredDrops {
    fn drop(&mut self) {
        debug_assert_unlocked();
        self.natives.iter().for_each(NativeScopes::record_end);
        self.removed.iter().for_each(|removed| hooks::report_removed(removed.id));
        if hooks::are_modes_hooked() {
            report_modes();
        }
    }
}

/// Calls the hooks if other layers set modes than at the last call, or to other values, or if what hooks have set in another
/// library may have been replaced. Changes that hooks make are reported after they return.
#[cold]
fn report_modes() {
    struct Reporting;
    impl Drop for Reporting {
        fn drop(&mut self) {
            with_tls(|current| current.is_reporting.set(false));
        }
    }
    if with_tls(|current| current.is_reporting.replace(true)) {
        return;
    }
    let _reporting = Reporting;
    let unreported = |current: &Tls| {
        let mut owned = current.owned.try_borrow_mut().ok().filter(|owned| !owned.ended)?;
        let (new, registrations) = (modes_to_report(current, &owned), hooks::mode_registrations());
        if !new.is_empty() && !owned.ensure_cleanup_registered() {
            return None;
        }
        let is_first = current.reported_registrations.replace(registrations) != registrations;
        let is_due = carried::take_replaced() && !is_first;
        let reported = mem::replace(&mut owned.reported_modes, new.clone());
        let old = if is_first { Vec::new() } else { reported };
        (old != new || is_due).then_some(ModeReport { old, new, is_due })
    };
    while let Some(report) = with_tls(unreported) {
        hooks::report_modes(&report);
    }
}

/// Returns what sets modes, as hooks are called with it: what is set here, as far as the end will be reported, too. What
/// another thread has set reaches this one with a copy of its context, and nothing may report when that ends; unless this
/// happens within a step or a captured state whose end puts back values of other libraries.
fn modes_to_report(current: &Tls, owned: &Owned) -> Vec<(LayerId, Masked<u8>)> {
    if carrier::are_switches_reported() || carried::is_open_here() {
        return owned.view().set_modes(|_| true);
    }
    owned.view().set_modes(|thread| thread == current.this_thread())
}

/// Returns the error of an enter or a write after the layers of this thread are dropped.
#[cold]
pub(super) fn ended(action: impl Into<String>) -> Error {
    Error::ThreadEnded { action: action.into() }
}

/// Runs `action` on this thread's layers after a look at the [`changes`] from elsewhere; returns `None` if the thread's
/// layers are dropped already.
///
/// `action` returns or defers what it removes, which is dropped when the layers are no longer borrowed. The caller
/// holds no lock: user code that runs in a destructor may acquire it. An action may acquire one.
pub(super) fn with_owned<R>(action: impl FnOnce(&Tls, &mut Owned, &mut DeferredDrops) -> R) -> Option<R> {
    let mut deferred = DeferredDrops::default();
    with_owned_deferring(&mut deferred, action)
}

/// Runs `action` as [`with_owned`] does, for a caller that holds a lock and drops `deferred` after releasing it.
pub(super) fn with_owned_deferring<R>(
    deferred: &mut DeferredDrops,
    action: impl FnOnce(&Tls, &mut Owned, &mut DeferredDrops) -> R,
) -> Option<R> {
    with_tls(|current| {
        // The borrow fails only if an action accesses thread state again. None does, nor does code under the locks of
        // the flags, the mailboxes and the traces.
        with_borrowed(current, current.owned.try_borrow_mut().ok()?, deferred, action)
    })
}

/// Runs `action` as [`with_owned`] does, on layers that are borrowed already.
pub(super) fn with_borrowed<R>(
    current: &Tls,
    mut owned: RefMut<ManuallyDrop<Owned>>,
    deferred: &mut DeferredDrops,
    action: impl FnOnce(&Tls, &mut Owned, &mut DeferredDrops) -> R,
) -> Option<R> {
    if owned.ended {
        return None;
    }
    if !current.has_seen_changes() {
        see_changes(current, &mut owned, deferred);
    }
    Some(action(current, &mut owned, deferred))
}

/// Runs `action` on this thread's layers, without a look at the changes from elsewhere. Returns `None` if the layers
/// are borrowed.
///
/// # Safety
/// `action` calls no code that could access this thread's state.
#[inline(always)]
pub(super) unsafe fn with_unborrowed<R>(action: impl FnOnce(&Tls, &mut Owned) -> Option<R>) -> Option<R> {
    // SAFETY: guaranteed by the caller.
    with_tls(|current| unsafe { current.with_unborrowed(action) })
}

impl Tls {
    /// See [`with_unborrowed`].
    ///
    /// # Safety
    /// As for that function.
    #[inline(always)]
    unsafe fn with_unborrowed<R>(&self, action: impl FnOnce(&Tls, &mut Owned) -> Option<R>) -> Option<R> {
        if self.owned.try_borrow_mut().is_err() {
            return None;
        }
        // Not as a borrow: to mark it and to unmark it costs two stores and a load that waits for the first.
        // SAFETY: nothing is borrowed, and `action` borrows nothing.
        action(self, unsafe { &mut *self.owned.as_ptr() })
    }

    /// Returns the id of this thread, which the first call assigns.
    #[inline]
    pub(super) fn this_thread(&self) -> ThreadId {
        if self.thread.get() == ThreadId::NONE {
            self.thread.set(ThreadId::next());
        }
        self.thread.get()
    }

    #[inline(always)]
    pub(super) fn has_seen_changes(&self) -> bool {
        self.seen_epoch.get() == changes::epoch()
    }

    /// Computes what readers load after layers, bases or the values of the process have changed.
    pub(super) fn publish(&self, owned: &mut Owned) {
        let base_modes = owned.view().base_modes();
        let Owned { native, context, .. } = owned;
        self.modes.set(native.guards.refresh_modes(base_modes, context.layers()));
        self.publish_summary(owned.view().summary());
    }

    /// Computes what readers load after an innermost layer was pushed.
    pub(super) fn publish_pushed(&self, modes: Masked<u8>, slots: &Slots) {
        let (tree, flags, devices) = (self.tree.get(), self.flags.get(), self.devices.get());
        let below = Summary { tree, flags, devices, ..Summary::NONE };
        self.modes.set(modes.applied_to(self.modes.get()));
        self.publish_summary(Summary::from_layer(modes, Some(slots)).over(below));
    }

    fn publish_summary(&self, summary: Summary) {
        if summary.names_flags() || self.names_flags() {
            self.tree.set(summary.tree);
            self.flags.set(summary.flags);
            self.flag_changes.set(self.flag_changes.get().wrapping_add(1));
        }
        self.devices.set(summary.devices);
    }

    fn names_flags(&self) -> bool {
        self.flags.get() != 0 || self.tree.get().mask != 0
    }

    /// Publishes new mode bits after a write of modes only.
    pub(super) fn publish_modes(&self, owned: &mut Owned) {
        let base_modes = owned.view().base_modes();
        let Owned { native, context, .. } = owned;
        self.modes.set(native.guards.refresh_modes(base_modes, context.layers()));
    }
}

#[cold]
fn see_changes(current: &Tls, owned: &mut Owned, deferred: &mut DeferredDrops) {
    // Before the changes are read, so that a change that is announced meanwhile is seen with the next look.
    // With a hook for modes, the thread never counts as having seen all changes; see `hooks.rs`.
    current.seen_epoch.set(if hooks::are_modes_hooked() { changes::UNSEEN } else { changes::epoch() });
    empty_mailboxes(current, owned, deferred);
    let pruned = owned.context.without_ended();
    replace_context(owned, pruned, deferred);
    current.publish(owned);
}

pub(super) fn empty_mailboxes(current: &Tls, owned: &mut Owned, deferred: &mut DeferredDrops) {
    // What an ended step had displaced has a mailbox of its own.
    while owned.native.has_requests() {
        match owned.native.mailbox.as_ref().map(Mailbox::take) {
            Some(Request::DropLayers(exits)) => drop_layers(owned, exits, deferred),
            Some(Request::EndStep) => {
                // The active guards belong to the last step.
                let Some(step) = owned.steps.pop() else { return };
                deferred.natives.push(replace_native(current, owned, step.displaced));
            }
            None => return,
        }
    }
}

fn drop_layers(owned: &mut Owned, exits: Exits, deferred: &mut DeferredDrops) {
    for (target, times) in exits {
        for _ in 0..times {
            // Other threads may have requested more exits than there were enters.
            let Some(removed) = owned.native.guards.remove(target, owned.context.layers()) else { break };
            deferred.removed.push(removed);
        }
    }
}

/// Takes over another state of the context. The caller publishes it.
fn replace_context(owned: &mut Owned, state: State, deferred: &mut DeferredDrops) {
    let is_same_list = match (owned.context.layers(), state.layers()) {
        (Some(old), Some(new)) => Arc::ptr_eq(old, new),
        (old, new) => old.is_none() && new.is_none(),
    };
    if !is_same_list {
        owned.native.guards.leave(owned.context.layers());
        owned.native.guards.rank(state.layers());
    }
    owned.depth = state::depth(state.layers());
    let replaced = mem::replace(&mut deferred.state, mem::replace(&mut owned.context, state));
    if !replaced.is_empty() {
        deferred.more_states.push(replaced);
    }
}

/// Activates other guards without a look at their mailbox, and returns those that were active.
pub(super) fn replace_native(current: &Tls, owned: &mut Owned, native: NativeScopes) -> NativeScopes {
    let mut displaced = mem::replace(&mut owned.native, native);
    displaced.guards.leave(owned.context.layers());
    owned.native.guards.rank(owned.context.layers());
    current.mailbox.set(owned.native.mailbox_id());
    current.publish(owned);
    displaced
}

/// Looks at the [`changes`] from elsewhere. The thread sees them with its next enter, exit, write, capture or
/// explanation in any case.
#[inline]
pub(super) fn see() {
    if !with_tls(Tls::has_seen_changes) {
        with_owned(|_, _, _| ());
    }
}

/// Returns whether this thread has seen the state of its context with this serial, and all changes from elsewhere.
#[inline]
pub fn has_seen(serial: u64) -> bool {
    with_tls(|current| current.seen_serial.get() == serial && current.has_seen_changes())
}

/// Makes a state of the context the one that this thread has seen.
pub(super) fn show(state: &State) {
    if has_seen(state.serial()) {
        return;
    }
    with_owned(|current, owned, deferred| {
        if current.seen_serial.get() != state.serial() && owned.ensure_cleanup_registered() {
            current.seen_serial.set(state.serial());
            replace_context(owned, state.without_ended(), deferred);
            current.publish(owned);
        }
    });
}

/// A change of the state of the context that this thread has begun. Code that the interpreter's collector runs
/// meanwhile stores no other state. It ends when it is dropped.
pub(super) struct Changing {
    /// The state of this thread. A pointer, which keeps the change on the thread.
    current: *const Tls,
}

impl Changing {
    /// Begins a change. Returns `None` if this thread has begun one: then a collector runs this code in the middle of
    /// it.
    #[inline]
    pub(super) fn begin() -> Option<Self> {
        with_tls(Changing::begin_on)
    }

    #[inline]
    fn begin_on(current: &Tls) -> Option<Self> {
        (!current.is_changing.replace(true)).then(|| Changing { current })
    }

    #[inline]
    fn current(&self) -> &Tls {
        // SAFETY: the variable has no destructor, so it lives as long as its thread, which runs this code.
        unsafe { &*self.current }
    }

    /// Begins to enter a layer of a scope in the context whose state has this serial. Calls `before` with the active
    /// mode bits. Returns also the state with the layer innermost, and its mark.
    ///
    /// Returns `None`, and begins nothing, if this thread has not seen that state, is changing it or is ending, or if
    /// the layer might not lie above all others: because of guards, or because the scope enters at an earlier position.
    #[inline]
    pub(super) fn begin_enter(
        serial: u64,
        before: impl FnOnce(u8),
        scope: ScopeId,
        modes: Masked<u8>,
        slots: Option<&Arc<Slots>>,
    ) -> Option<(Self, State, Arc<Mark>)> {
        let extend = |current: &Tls, owned: &mut Owned| {
            let has_seen = current.seen_serial.get() == serial && current.has_seen_changes();
            let is_innermost = owned.native.guards.are_none() && current.position.get().is_none();
            if !has_seen || !is_innermost || !owned.ensure_cleanup_registered() {
                return None;
            }
            let changing = Changing::begin_on(current)?;
            before(current.modes.get());
            let (id, slots) = (owned.ids.next(), slots.cloned());
            let thread = current.this_thread();
            let (state, mark) =
                owned.context.with_innermost(id, scope, modes, thread, slots, &mut owned.spare);
            Some((changing, state, mark))
        };
        // SAFETY: to register the cleanup and to make a layer calls no code that accesses the state of this thread, and
        // nor does `before`.
        unsafe { with_unborrowed(extend) }
    }

    /// Ends the change after the state of [`begin_enter`](Changing::begin_enter) was stored: this thread has seen it
    /// then. `before` is the serial of the state that was extended.
    #[inline]
    pub(super) fn end_enter(
        self,
        mut state: State,
        before: u64,
        modes: Masked<u8>,
        slots: Option<&Arc<Slots>>,
    ) {
        let show_it = |current: &Tls, owned: &mut Owned| {
            // Code that ran during the store may have looked at another context, or pushed guards.
            if current.seen_serial.get() != before || !owned.native.guards.are_none() {
                return None;
            }
            current.seen_serial.set(state.serial());
            owned.depth = state::depth(state.layers());
            match slots {
                None => current.modes.set(modes.applied_to(current.modes.get())),
                Some(slots) => current.publish_pushed(modes, slots),
            }
            mem::swap(&mut owned.context, &mut state);
            Some(())
        };
        // SAFETY: the replaced state is dropped when nothing is borrowed.
        let is_shown = unsafe { self.current().with_unborrowed(show_it) }.is_some();
        // Before the replaced state is dropped, which may run code of the program.
        drop(self);
        if !is_shown {
            show(&state);
        }
    }

    /// Ends the change after the state before an enter was put back: this thread has seen it then. Returns false if it
    /// has not, because it had not seen the state after the enter, or has guards.
    #[inline]
    pub(super) fn end_exit(self, mark: Arc<Mark>, before: u64) -> bool {
        let pop = |current: &Tls, owned: &mut Owned| {
            let is_after = current.seen_serial.get() == mark.serial() && current.has_seen_changes();
            if !is_after || !owned.native.guards.are_none() {
                return None;
            }
            let removed = owned.context.pop(&mark, before)?;
            current.seen_serial.set(before);
            owned.depth = state::depth(owned.context.layers());
            if removed.layer.slots.is_some() {
                current.publish(owned);
            } else {
                current.publish_modes(owned);
            }
            Some(owned.spare.keep((removed, mark)))
        };
        // SAFETY: a layer that is not kept is returned, and dropped when nothing is borrowed.
        let removed = unsafe { self.current().with_unborrowed(pop) };
        // Before the layer is dropped, which may run code of the program.
        drop(self);
        removed.is_some()
    }
}

impl Drop for Changing {
    #[inline]
    fn drop(&mut self) {
        self.current().is_changing.set(false);
    }
}

/// Returns a state without layers that have ended: what this thread has seen, if it is that state.
pub(super) fn seen_state(stored: &State) -> State {
    let seen = with_owned(|_, owned, _| owned.context.clone());
    seen.filter(|seen| seen.serial() == stored.serial()).unwrap_or_else(|| stored.without_ended())
}

/// Calls `enter`, in which a scope enters a layer at an earlier position: that of an earlier resume of a generator, so
/// that scopes that the generator has open remain above.
pub fn enter_at<R>(position: Position, enter: impl FnOnce() -> R) -> R {
    let replaced = with_tls(|current| current.position.replace(Some(position)));
    let result = enter();
    with_tls(|current| current.position.set(replaced));
    result
}

/// Takes the position of [`enter_at`] for one layer.
pub(super) fn take_position() -> Option<Position> {
    with_tls(|current| current.position.take())
}

/// Returns a position above all layers so far, and below all later ones; see [`enter_at`].
pub fn new_position() -> Position {
    Position::next()
}

/// Returns whether this thread is changing the state of its context.
pub(super) fn is_changing() -> bool {
    with_tls(|current| current.is_changing.get())
}

/// Returns a new id of a layer; `None` if the thread is ending.
pub(super) fn next_layer_id() -> Option<LayerId> {
    with_owned(|_, owned, _| owned.ensure_cleanup_registered().then(|| owned.ids.next())).flatten()
}

#[cfg(test)]
pub(super) fn is_borrowed() -> bool {
    with_tls(|current| current.owned.try_borrow_mut().is_err())
}
