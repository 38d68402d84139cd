//! The active layers of this thread: its own, or those of a task during a step of the task.
//!
//! All functions may be called while the thread ends. Once its layers are dropped, the modes keep their last values,
//! flags have the values of the process, and no device slot is decided: enters, exits and writes of modes and devices
//! do nothing, and a write of a flag changes the process.

use std::any::Any;
use std::cell::RefMut;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use super::layer_stack::{ExitTarget, LayerId, LayerStack, RemovedLayer};
use super::remote_exit::{self, Exits, Mailbox, MailboxId, Request};
use super::scope::ScopeId;
use super::thread_state::ThreadState;
use super::tls::{Step, TaskId, ThreadScopes, Tls, TlsOwned, with_tls};
use super::{FlagId, FlagSlots, Masked, Slot, Slots, scope_trace};
use crate::base::env;
use crate::base::location::SourceLocation;
use crate::base::sync::debug_assert_unlocked;

/// This thread's state, exclusively borrowed.
type Borrowed<'a> = RefMut<'a, ManuallyDrop<TlsOwned>>;

/// Runs `action` on this thread's layers, after the exits that other threads have requested; returns `None` if the
/// thread's layers are dropped already.
///
/// `action` returns what it removes from the layers, which is dropped when they are no longer borrowed: dropping the
/// last clone of a stream calls a driver, which may access the state of the thread.
///
/// The caller holds no lock: user code that runs in a destructor may acquire it. An action may acquire one.
pub(super) fn with_layers<R>(action: impl FnOnce(&Tls, &mut TlsOwned) -> R) -> Option<R> {
    let mut deferred = DeferredDrops::default();
    with_layers_deferring(&mut deferred, |current, owned, _| action(current, owned))
}

/// Runs `action` as [`with_layers`] does, for a caller that holds a lock and drops `deferred` after releasing it.
fn with_layers_deferring<R>(
    deferred: &mut DeferredDrops,
    action: impl FnOnce(&Tls, &mut TlsOwned, &mut DeferredDrops) -> R,
) -> Option<R> {
    with_tls(|current| {
        // The borrow fails only if an action accesses thread state again. None does, nor does code under the locks of
        // the flags, the mailboxes and the traces.
        with_borrowed(current, current.owned.try_borrow_mut().ok()?, deferred, action)
    })
}

/// Runs `action` as [`with_layers`] does, on layers that are borrowed already.
fn with_borrowed<R>(
    current: &Tls,
    mut owned: Borrowed,
    deferred: &mut DeferredDrops,
    action: impl FnOnce(&Tls, &mut TlsOwned, &mut DeferredDrops) -> R,
) -> Option<R> {
    if owned.ended {
        return None;
    }
    if owned.state.has_remote_exits() {
        drain_remote_exits(current, &mut owned, deferred);
    }
    Some(action(current, &mut owned, deferred))
}

/// Removed layers and states, to be dropped once the thread's state is no longer borrowed and no lock is held.
#[derive(Default)]
pub(super) struct DeferredDrops {
    layers: Vec<RemovedLayer>,
    states: Vec<ThreadScopes>,
}

impl Drop for DeferredDrops {
    fn drop(&mut self) {
        debug_assert_unlocked();
        if !self.states.is_empty() && env::debug() {
            self.states.iter().for_each(|state| scope_trace::on_owner_ended(state.mailbox_id()));
        }
    }
}

#[cold]
fn drain_remote_exits(current: &Tls, owned: &mut TlsOwned, deferred: &mut DeferredDrops) {
    // The state that an ended step had displaced has a mailbox of its own.
    while owned.state.has_remote_exits() {
        match owned.state.mailbox.as_ref().map(Mailbox::take) {
            Some(Request::DropLayers(exits)) => drop_layers(current, owned, exits, deferred),
            Some(Request::EndStep) => {
                // The active state belongs to the last step.
                let Some(step) = owned.steps.pop() else { return };
                deferred.states.push(replace_active(current, owned, step.displaced));
            }
            None => return,
        }
    }
}

fn drop_layers(current: &Tls, owned: &mut TlsOwned, exits: Exits, deferred: &mut DeferredDrops) {
    for (target, times) in exits {
        for _ in 0..times {
            // Other threads may have requested more exits than there were enters.
            let Some(removed) = owned.state.layers.remove(target) else { break };
            publish_removal(current, owned, &removed);
            deferred.layers.push(removed);
        }
    }
}

fn publish_removal(current: &Tls, owned: &TlsOwned, removed: &RemovedLayer) {
    match &removed.slots {
        Some(slots) => publish(current, owned, slots),
        None => current.modes.set(owned.state.layers.modes()),
    }
}

/// Updates the cells of [`Tls`] after a layer with these slots was pushed or removed.
fn publish(current: &Tls, owned: &TlsOwned, slots: &Slots) {
    current.modes.set(owned.state.layers.modes());
    if owned.state.layers.flags_depend_on(slots) {
        publish_flags(current, owned);
    }
    if owned.state.layers.devices_depend_on(slots) {
        publish_devices(current, owned);
    }
}

fn publish_flags(current: &Tls, owned: &TlsOwned) {
    let (tree, bits) = owned.state.layers.flag_summary();
    current.tree.set(tree);
    current.flags.set(bits);
    current.changes.set(current.changes.get().wrapping_add(1));
}

pub(super) fn publish_devices(current: &Tls, owned: &TlsOwned) {
    current.devices.set(owned.state.layers.device_summary());
}

/// Pushes a layer that decides mode bits. Returns `None` if the thread is ending.
#[inline]
pub(super) fn push_modes(scope: ScopeId, decided: Masked<u8>) -> Option<LayerId> {
    with_tls(move |current| {
        let mut owned = current.owned.try_borrow_mut().ok()?;
        if owned.state.layers.is_full() || owned.state.has_remote_exits() {
            return push_modes_slow(current, owned, scope, decided);
        }
        push_modes_now(current, &mut owned, scope, decided)
    })
}

#[inline]
fn push_modes_now(
    current: &Tls,
    owned: &mut TlsOwned,
    scope: ScopeId,
    decided: Masked<u8>,
) -> Option<LayerId> {
    let below = current.modes.get();
    let id = owned.state.layers.push(&mut owned.ids, scope, decided, below, None)?;
    current.modes.set(decided.applied_to(below));
    Some(id)
}

#[cold]
#[inline(never)]
fn push_modes_slow(current: &Tls, owned: Borrowed, scope: ScopeId, decided: Masked<u8>) -> Option<LayerId> {
    let mut deferred = DeferredDrops::default();
    with_borrowed(current, owned, &mut deferred, |current, owned, _| {
        owned.reserve_layer();
        push_modes_now(current, owned, scope, decided)
    })
    .flatten()
}

/// Pushes a layer that decides mode bits and other slots. Returns `None` if the thread is ending.
pub(super) fn push_slots(scope: ScopeId, decided: Masked<u8>, slots: &Arc<Slots>) -> Option<LayerId> {
    with_layers(|current, owned| {
        owned.reserve_layer();
        let (below, shared) = (current.modes.get(), Some(slots.clone()));
        let id = owned.state.layers.push(&mut owned.ids, scope, decided, below, shared)?;
        publish(current, owned, slots);
        Some(id)
    })
    .flatten()
}

/// Removes a layer. Returns [`RemovedLayer::above`], or `None` if this thread has no such layer.
#[inline]
pub(super) fn remove(target: ExitTarget) -> Option<ScopeId> {
    with_tls(|current| {
        let mut owned = current.owned.try_borrow_mut().ok()?;
        if !owned.state.has_remote_exits()
            && let Some(below) = owned.state.layers.pop_plain(target)
        {
            current.modes.set(below);
            return Some(ScopeId::NONE);
        }
        remove_slow(current, owned, target)
    })
}

/// Requests the thread or task that entered to remove a layer that this thread does not have.
#[cold]
pub(super) fn exit_elsewhere(entered_on: MailboxId, target: ExitTarget) {
    if entered_on != MailboxId::NONE && entered_on != this_mailbox() {
        remote_exit::post(entered_on, target);
    }
}

#[cold]
#[inline(never)]
fn remove_slow(current: &Tls, owned: Borrowed, target: ExitTarget) -> Option<ScopeId> {
    let mut deferred = DeferredDrops::default();
    with_borrowed(current, owned, &mut deferred, |current, owned, deferred| {
        let removed = owned.state.layers.remove(target)?;
        publish_removal(current, owned, &removed);
        let above = removed.above;
        deferred.layers.push(removed);
        Some(above)
    })
    .flatten()
}

/// Removes the layers of this thread above one.
#[inline]
pub(super) fn remove_above(layer: LayerId) {
    let is_innermost =
        |current: &Tls| current.owned.try_borrow().is_ok_and(|owned| owned.state.layers.is_innermost(layer));
    if !with_tls(is_innermost) {
        remove_above_slow(layer);
    }
}

#[cold]
#[inline(never)]
fn remove_above_slow(layer: LayerId) {
    let removed = with_layers(|current, owned| {
        let removed = owned.state.layers.remove_above(layer);
        removed.iter().for_each(|(_, removed)| publish_removal(current, owned, removed));
        removed
    });
    if env::debug() {
        let scopes = removed.iter().flatten().map(|(scope, _)| *scope);
        scope_trace::on_removed(this_mailbox(), scopes);
    }
}

/// Removes the layers whose exit other threads or tasks have requested.
#[inline]
pub(crate) fn apply_remote_exits() {
    let has_remote_exits =
        |current: &Tls| current.owned.try_borrow().is_ok_and(|owned| owned.state.has_remote_exits());
    if with_tls(has_remote_exits) {
        with_layers(|_, _| ());
    }
}

/// Returns the id of the mailbox of the active state; none if the thread is ending.
#[inline]
pub(super) fn this_mailbox() -> MailboxId {
    match with_tls(|current| current.mailbox.get()) {
        MailboxId::NONE => open_mailbox(),
        id => id,
    }
}

#[cold]
fn open_mailbox() -> MailboxId {
    with_layers(|current, owned| {
        current.mailbox.set(owned.open_mailbox());
        current.mailbox.get()
    })
    .unwrap_or(MailboxId::NONE)
}

/// Captures the active state of this thread.
pub(super) fn capture() -> ThreadState {
    let captured = with_layers(|current, owned| {
        owned
            .ensure_cleanup_registered()
            .then(|| ThreadState { modes: current.modes.get(), slots: owned.state.layers.flatten() })
    });
    captured.flatten().unwrap_or_else(|| ThreadState { modes: super::mode_word(), slots: Slots::opaque() })
}

/// Sets a captured state as the base of this thread, below all layers.
pub(super) fn set_base(captured: &ThreadState) {
    with_layers(|current, owned| {
        if !owned.ensure_cleanup_registered() {
            return None;
        }
        let replaced = owned.state.layers.set_base(captured.modes, captured.slots.clone());
        current.modes.set(owned.state.layers.modes());
        publish_flags(current, owned);
        publish_devices(current, owned);
        Some(replaced)
    });
}

/// Activates the state of a task, which is moved out of `own`. Has no effect if the thread is ending.
///
/// The caller drops what was removed after it has released the lock of the task.
#[must_use = "dropped after the lock of the task is released"]
pub(super) fn enter_step(task: TaskId, own: &mut ThreadScopes) -> DeferredDrops {
    let mut deferred = DeferredDrops::default();
    with_layers_deferring(&mut deferred, |current, owned, deferred| {
        if owned.ensure_cleanup_registered() {
            let displaced = activate(current, owned, std::mem::replace(own, ThreadScopes::new()), deferred);
            owned.steps.push(Step { task, displaced });
        }
    });
    deferred
}

/// Ends the innermost step of a task on this thread, at any position among the steps, and moves the state of the task
/// to `own`. Has no effect if this thread runs no step of it.
///
/// The caller drops what was removed after it has released the lock of the task.
#[must_use = "dropped after the lock of the task is released"]
pub(super) fn exit_step(task: TaskId, own: &mut ThreadScopes) -> DeferredDrops {
    let mut deferred = DeferredDrops::default();
    with_layers_deferring(&mut deferred, |current, owned, deferred| {
        let Some(index) = owned.steps.iter().rposition(|step| step.task == task) else { return };
        let ended = owned.steps.remove(index);
        *own = match owned.steps.get_mut(index) {
            // The next step has displaced the state of this one. Now it displaces the state that this step had
            // displaced.
            Some(next) => std::mem::replace(&mut next.displaced, ended.displaced),
            None => activate(current, owned, ended.displaced, deferred),
        };
    });
    deferred
}

/// Activates a state, applies its pending exits, and returns the state that was active.
fn activate(
    current: &Tls,
    owned: &mut TlsOwned,
    state: ThreadScopes,
    deferred: &mut DeferredDrops,
) -> ThreadScopes {
    let displaced = replace_active(current, owned, state);
    if owned.state.has_remote_exits() {
        drain_remote_exits(current, owned, deferred);
    }
    displaced
}

/// Activates a state without checking its mailbox, and returns the state that was active.
fn replace_active(current: &Tls, owned: &mut TlsOwned, state: ThreadScopes) -> ThreadScopes {
    let name_flags = owned.state.layers.name_flags() || state.layers.name_flags();
    let name_devices = owned.state.layers.name_devices() || state.layers.name_devices();
    let displaced = std::mem::replace(&mut owned.state, state);
    current.mailbox.set(owned.state.mailbox_id());
    current.modes.set(owned.state.layers.modes());
    if name_flags {
        publish_flags(current, owned);
    }
    if name_devices {
        publish_devices(current, owned);
    }
    displaced
}

/// Writes a mode without a scope. Returns the id of the layer or base that was written, and the previous bit.
pub(crate) fn write_mode(bit: Masked<u8>) -> Option<(LayerId, Masked<u8>)> {
    with_layers(|current, owned| {
        let written = owned.state.layers.write_mode(&mut owned.ids, bit);
        current.modes.set(owned.state.layers.modes());
        written
    })
}

/// Restores the bit that [`write_mode`] has replaced.
pub(crate) fn restore_mode(target: LayerId, old: Masked<u8>) {
    with_layers(|current, owned| {
        owned.state.layers.restore_mode(target, old);
        current.modes.set(owned.state.layers.modes());
    });
}

/// Returns the payload of the innermost active layer that names the flag. Does not check the mailbox.
#[inline]
pub(crate) fn scoped_flag(id: FlagId) -> Option<u64> {
    with_tls(|current| current.owned.try_borrow().ok()?.state.layers.flag(id))
}

/// Returns the recording of the innermost active layer that has one.
pub(crate) fn recording() -> Option<Arc<dyn Any + Send + Sync>> {
    with_tls(|current| current.owned.try_borrow().ok()?.state.layers.recording())
}

/// Returns the hooks of saved tensors of the innermost active layer that has them.
pub(crate) fn saved_tensor_hooks() -> Option<Arc<dyn Any + Send + Sync>> {
    with_tls(|current| current.owned.try_borrow().ok()?.state.layers.saved_tensor_hooks())
}

/// Returns `Some` if a layer of this thread decides the slot, with the location that set it if writes are traced.
pub(crate) fn scoped_site(slot: Slot) -> Option<Option<SourceLocation>> {
    with_layers(|_, owned| {
        let owning_layer = owned.state.layers.owning_layer(slot)?;
        Some(owning_layer.sites.iter().find(|(noted, _)| *noted == slot).map(|(_, site)| site.clone()))
    })
    .flatten()
}

/// The layers of this thread, for a write of flags.
#[derive(Default)]
pub(crate) struct ScopedFlags<'a> {
    /// `None` once the layers of the thread are dropped.
    layers: Option<&'a mut LayerStack>,
    is_changed: bool,
}

impl ScopedFlags<'_> {
    /// Returns the flags of the innermost layer that names a slot, for a write to it.
    pub(crate) fn owning_layer(&mut self, slot: Slot) -> Option<&mut FlagSlots> {
        let owning_layer = self.layers.as_mut()?.owning_layer_mut(slot);
        self.is_changed |= owning_layer.is_some();
        owning_layer
    }
}

/// Runs `write` with the flags of this thread's layers. `write` acquires the lock of flags, and the exits that other
/// threads have requested are applied before: dropping the removed layers runs user code, which may write flags.
pub(crate) fn write_scoped<R>(write: impl Fn(&mut ScopedFlags) -> R) -> R {
    let written = with_layers(|current, owned| {
        let mut flags = ScopedFlags { layers: Some(&mut owned.state.layers), is_changed: false };
        let result = write(&mut flags);
        if flags.is_changed {
            publish_flags(current, owned);
        }
        result
    });
    written.unwrap_or_else(|| write(&mut ScopedFlags::default()))
}
