//! The layers of native code on this thread: pushing and removing them, and the steps of tasks that replace them.

use std::mem;
use std::sync::Arc;

use super::current::{
    DeferredDrops, NativeScopes, Owned, Step, Tls, empty_mailboxes, replace_native, with_owned,
    with_owned_deferring, with_tls, with_unborrowed,
};
use super::guards::PushedGuard;
use super::ids::{ExitTarget, LayerId, ScopeId, TaskId};
use super::mailbox::{self, MailboxId};
use super::{Masked, Slots, scope_trace};
use crate::base::env;

/// Pushes a layer of native code that sets mode bits. Returns `None` if the thread is ending.
#[inline(always)]
pub(super) fn push_modes(scope: ScopeId, modes: Masked<u8>) -> Option<PushedGuard> {
    // SAFETY: a push into spare capacity calls no other code.
    let pushed = unsafe {
        with_unborrowed(move |current, owned| {
            if owned.native.guards.is_full() || !current.has_seen_changes() {
                return None;
            }
            push_modes_now(current, owned, scope, modes)
        })
    };
    pushed.or_else(|| push_modes_slow(scope, modes))
}

#[inline(always)]
fn push_modes_now(
    current: &Tls,
    owned: &mut Owned,
    scope: ScopeId,
    modes: Masked<u8>,
) -> Option<PushedGuard> {
    let (below, depth) = (current.modes.get(), owned.depth());
    let pushed = owned.native.guards.push(&mut owned.ids, scope, modes, below, depth, None)?;
    current.modes.set(modes.applied_to(below));
    Some(pushed)
}

#[cold]
#[inline(never)]
fn push_modes_slow(scope: ScopeId, modes: Masked<u8>) -> Option<PushedGuard> {
    with_owned(|current, owned, _| {
        owned.reserve_layer();
        push_modes_now(current, owned, scope, modes)
    })
    .flatten()
}

/// Pushes a layer of native code that sets mode bits and other slots. Returns `None` if the thread is ending.
pub(super) fn push_slots(scope: ScopeId, modes: Masked<u8>, slots: &Arc<Slots>) -> Option<PushedGuard> {
    let push = |current: &Tls, owned: &mut Owned| {
        let (below, depth, shared) = (current.modes.get(), owned.depth(), Some(slots.clone()));
        let pushed = owned.native.guards.push(&mut owned.ids, scope, modes, below, depth, shared)?;
        current.publish_pushed(modes, slots);
        Some(pushed)
    };
    // SAFETY: a push into spare capacity calls no other code.
    let pushed = unsafe {
        with_unborrowed(|current, owned| {
            let is_ready = !owned.native.guards.is_full() && current.has_seen_changes();
            if is_ready { push(current, owned) } else { None }
        })
    };
    pushed.or_else(|| {
        with_owned(|current, owned, _| {
            owned.reserve_layer();
            push(current, owned)
        })
        .flatten()
    })
}

/// The result of a removal: a layer, and the scope that pushed the layer directly above; none if there was none, or a
/// guard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exited {
    pub(super) id: LayerId,
    pub(super) above: ScopeId,
}

/// Removes a layer of native code. Returns `None` if this thread has no such layer.
#[inline]
pub(super) fn remove(target: ExitTarget) -> Option<Exited> {
    // SAFETY: removing a layer without slots calls no other code.
    let popped = unsafe {
        with_unborrowed(|current, owned| {
            if !current.has_seen_changes() {
                return None;
            }
            let depth = owned.depth();
            let (id, below) = owned.native.guards.pop_plain(target, depth)?;
            current.modes.set(below);
            Some(Exited { id, above: ScopeId::NONE })
        })
    };
    popped.or_else(|| remove_slow(target))
}

/// Removes a guard if it is the innermost layer and nothing has changed since it was pushed. Returns whether it has.
#[inline(always)]
pub(super) fn pop(guard: PushedGuard) -> bool {
    // SAFETY: removing a layer without slots calls no other code.
    let popped = unsafe {
        with_unborrowed(move |current, owned| {
            if !current.has_seen_changes() {
                return None;
            }
            let depth = owned.depth();
            let below = owned.native.guards.pop_pushed(guard, depth)?;
            current.modes.set(below);
            Some(())
        })
    };
    popped.is_some()
}

#[inline(never)]
pub(super) fn remove_slow(target: ExitTarget) -> Option<Exited> {
    let remove = |current: &Tls, owned: &mut Owned| {
        let removed = owned.native.guards.remove(target, owned.context.layers())?;
        current.publish(owned);
        Some(removed)
    };
    // SAFETY: removing a layer, which is returned and not dropped, calls no other code.
    let removed = unsafe {
        with_unborrowed(
            |current, owned| {
                if current.has_seen_changes() { remove(current, owned) } else { None }
            },
        )
    };
    // Dropped when nothing is borrowed.
    let removed = removed.or_else(|| with_owned(|current, owned, _| remove(current, owned)).flatten());
    removed.map(|removed| Exited { id: removed.id, above: removed.above })
}

/// Requests the thread or task that pushed a layer of native code to remove it.
#[cold]
pub(super) fn exit_elsewhere(entered_on: MailboxId, target: ExitTarget) {
    if entered_on != MailboxId::NONE && entered_on != this_mailbox() {
        mailbox::post(entered_on, target);
    }
}

/// Returns whether a guard is the innermost layer of this thread and its context.
#[inline]
pub(super) fn is_innermost(guard: LayerId) -> bool {
    with_tls(|current| {
        current.owned.try_borrow().is_ok_and(|owned| owned.native.guards.is_innermost(guard, owned.depth()))
    })
}

/// Removes the layers of native code above a guard.
pub(super) fn remove_above(guard: LayerId) {
    with_owned(|current, owned, deferred| {
        let removed = owned.native.guards.remove_above(guard);
        if env::debug() {
            removed.iter().for_each(|removed| scope_trace::on_dropped(removed.id));
        }
        deferred.removed.extend(removed);
        current.publish(owned);
    });
}

/// Returns the id of the mailbox of the active guards; none if the thread is ending.
#[inline]
pub(super) fn this_mailbox() -> MailboxId {
    match with_tls(|current| current.mailbox.get()) {
        MailboxId::NONE => open_mailbox(),
        id => id,
    }
}

#[cold]
fn open_mailbox() -> MailboxId {
    with_owned(|current, owned, _| {
        if owned.ensure_cleanup_registered() {
            current.mailbox.set(owned.native.open_mailbox());
        }
        current.mailbox.get()
    })
    .unwrap_or(MailboxId::NONE)
}

/// Replaces the base of this thread or task, below all layers.
pub(super) fn set_base(modes: Masked<u8>, slots: &Arc<Slots>) {
    with_owned(|current, owned, deferred| {
        if owned.ensure_cleanup_registered() {
            deferred.bases.push(owned.native.guards.set_base(modes, slots.clone()));
            current.publish(owned);
        }
    });
}

/// Activates the scopes of a task, which are moved out of `own`. Has no effect if the thread is ending.
///
/// The caller drops what was removed after it has released the lock of the task.
#[must_use = "dropped after the lock of the task is released"]
pub(super) fn enter_step(task: TaskId, own: &mut NativeScopes) -> DeferredDrops {
    let mut deferred = DeferredDrops::default();
    with_owned_deferring(&mut deferred, |current, owned, deferred| {
        if owned.ensure_cleanup_registered() {
            let mut own = mem::replace(own, NativeScopes::new());
            own.guards.begin_step(owned.context.layers());
            let displaced = activate(current, owned, own, deferred);
            owned.steps.push(Step { task, displaced });
        }
    });
    deferred
}

/// Ends the innermost step of a task on this thread, at any position among the steps, and moves the scopes of the task
/// to `own`. Has no effect if this thread runs no step of it.
///
/// The caller drops what was removed after it has released the lock of the task.
#[must_use = "dropped after the lock of the task is released"]
pub(super) fn exit_step(task: TaskId, own: &mut NativeScopes) -> DeferredDrops {
    let mut deferred = DeferredDrops::default();
    with_owned_deferring(&mut deferred, |current, owned, deferred| {
        let Some(index) = owned.steps.iter().rposition(|step| step.task == task) else { return };
        let ended = owned.steps.remove(index);
        *own = match owned.steps.get_mut(index) {
            // The next step has displaced the scopes of this one. Now it displaces those that this step had displaced.
            Some(next) => mem::replace(&mut next.displaced, ended.displaced),
            None => activate(current, owned, ended.displaced, deferred),
        };
    });
    deferred
}

/// Activates guards, empties their mailbox, and returns those that were active.
fn activate(
    current: &Tls,
    owned: &mut Owned,
    native: NativeScopes,
    deferred: &mut DeferredDrops,
) -> NativeScopes {
    let displaced = replace_native(current, owned, native);
    if owned.native.has_requests() {
        empty_mailboxes(current, owned, deferred);
        current.publish(owned);
    }
    displaced
}
