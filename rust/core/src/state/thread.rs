//! The layers in force on this thread: its own, or during a step of a task that task's.
//!
//! Everything here is defined while the thread ends, too. Once its layers have gone, the modes stay as they
//! were last and flags are the process's: enters, leaves and writes of modes do nothing, and a write of a
//! flag goes to the process.

use std::sync::Arc;

use super::captured::ThreadState;
use super::current::{Current, LiveState, Owned, with_current};
use super::inbox::{self, Inbox, InboxNumber};
use super::layers::{EVERYTHING, LayerId, Left, Removed};
use super::scope::ScopeNumber;
use super::{FlagId, FlagSlots, Masked, Slot};
use crate::autograd::Mode;
use crate::backends::Site;

/// Runs `action` on this thread's layers, after the leaves that other threads have asked for; does not where
/// the thread's layers have gone.
fn with_layers<R>(action: impl FnOnce(&Current, &mut Owned) -> R) -> Option<R> {
    with_current(|current| {
        // Borrowed twice only if an action, or the closure that `landed_writes` is given, came back here for
        // thread state. None does, nor do the locks of the inboxes and of the traces.
        let mut owned = current.owned.try_borrow_mut().ok()?;
        if owned.ended {
            return None;
        }
        if owned.state.others_left() {
            drop_what_others_left(current, &mut owned);
        }
        Some(action(current, &mut owned))
    })
}

#[cold]
fn drop_what_others_left(current: &Current, owned: &mut Owned) {
    for (left, times) in owned.state.inbox.as_ref().map(Inbox::take).unwrap_or_default() {
        for _ in 0..times {
            // There may have been more leaves than enters.
            let Some(removed) = owned.state.layers.remove(left) else { break };
            publish_removal(current, owned, Some(removed));
        }
    }
}

fn publish_removal(current: &Current, owned: &Owned, removed: Option<Removed>) {
    current.modes.set(owned.state.layers.modes());
    if removed.is_some_and(|removed| removed.named_flags) {
        publish_flags(current, owned);
    }
}

fn publish(current: &Current, owned: &Owned) {
    current.modes.set(owned.state.layers.modes());
    publish_flags(current, owned);
}

fn publish_flags(current: &Current, owned: &Owned) {
    let (tree, bits) = owned.state.layers.flag_summary();
    current.tree.set(tree);
    current.flags.set(bits);
    current.changes.set(current.changes.get().wrapping_add(1));
}

/// Pushes a layer that decides mode bits; none where the thread has begun to end.
#[inline]
pub(super) fn push_modes(scope: ScopeNumber, decided: Masked<u8>) -> Option<LayerId> {
    with_current(move |current| {
        let mut owned = current.owned.try_borrow_mut().ok()?;
        if owned.state.layers.is_full() || owned.state.others_left() {
            return push_modes_after_care(current, &mut owned, scope, decided);
        }
        push_modes_at_once(current, &mut owned, scope, decided)
    })
}

#[inline]
fn push_modes_at_once(
    current: &Current,
    owned: &mut Owned,
    scope: ScopeNumber,
    decided: Masked<u8>,
) -> Option<LayerId> {
    let below = current.modes.get();
    let id = owned.state.layers.push(&mut owned.ids, scope, decided, below, None)?;
    current.modes.set(decided.applied_to(below));
    Some(id)
}

#[cold]
#[inline(never)]
fn push_modes_after_care(
    current: &Current,
    owned: &mut Owned,
    scope: ScopeNumber,
    decided: Masked<u8>,
) -> Option<LayerId> {
    if owned.state.others_left() {
        drop_what_others_left(current, owned);
    }
    owned.make_room();
    push_modes_at_once(current, owned, scope, decided)
}

/// Pushes a layer that decides flags; none where the thread has begun to end.
pub(super) fn push_flags(scope: ScopeNumber, flags: Arc<FlagSlots>) -> Option<LayerId> {
    with_layers(|current, owned| {
        owned.make_room();
        let id = owned.state.layers.push(
            &mut owned.ids,
            scope,
            Masked::default(),
            current.modes.get(),
            Some(flags),
        )?;
        publish_flags(current, owned);
        Some(id)
    })
    .flatten()
}

/// Removes a layer; false where this thread has none such.
#[inline]
pub(super) fn remove(left: Left) -> bool {
    with_current(|current| {
        let Ok(mut owned) = current.owned.try_borrow_mut() else { return false };
        if !owned.state.others_left()
            && let Some(below) = owned.state.layers.pop_plain(left)
        {
            current.modes.set(below);
            return true;
        }
        remove_wherever(current, &mut owned, left)
    })
}

/// Asks who entered to drop a layer that this thread did not find among its own.
#[cold]
pub(super) fn leave_elsewhere(entered_on: InboxNumber, left: Left) {
    if entered_on != InboxNumber::NONE && entered_on != this_inbox() {
        inbox::ask(entered_on, left);
    }
}

#[cold]
#[inline(never)]
fn remove_wherever(current: &Current, owned: &mut Owned, left: Left) -> bool {
    if owned.ended {
        return false;
    }
    if owned.state.others_left() {
        drop_what_others_left(current, owned);
    }
    let removed = owned.state.layers.remove(left);
    publish_removal(current, owned, removed);
    removed.is_some()
}

/// Drops the layers that other threads have asked this one to drop.
#[inline]
pub(crate) fn settle() {
    with_current(|current| {
        if let Ok(mut owned) = current.owned.try_borrow_mut()
            && owned.state.others_left()
        {
            drop_what_others_left(current, &mut owned);
        }
    });
}

/// The number of the inbox of the state in force; none where the thread has begun to end.
#[inline]
pub(super) fn this_inbox() -> InboxNumber {
    match with_current(|current| current.inbox.get()) {
        InboxNumber::NONE => open_inbox(),
        number => number,
    }
}

#[cold]
fn open_inbox() -> InboxNumber {
    with_layers(|current, owned| {
        current.inbox.set(owned.open_inbox());
        current.inbox.get()
    })
    .unwrap_or(InboxNumber::NONE)
}

/// All that is in force on this thread.
pub(super) fn capture() -> ThreadState {
    let captured = with_layers(|current, owned| ThreadState {
        modes: current.modes.get(),
        flags: owned.state.layers.flags_together(),
    });
    captured.unwrap_or_else(|| ThreadState { modes: super::mode_word(), flags: None })
}

/// Pushes a layer that decides everything as it was captured; none where the thread has begun to end.
pub(super) fn push_state(scope: ScopeNumber, captured: &ThreadState) -> Option<LayerId> {
    with_layers(|current, owned| {
        owned.make_room();
        let below = current.modes.get();
        let flags = match &captured.flags {
            None if owned.state.layers.name_flags() => Some(Arc::new(FlagSlots::hiding())),
            flags => flags.clone(),
        };
        let decided = Masked::new(EVERYTHING, captured.modes);
        let id = owned.state.layers.push(&mut owned.ids, scope, decided, below, flags)?;
        publish(current, owned);
        Some(id)
    })
    .flatten()
}

/// Puts what was captured below all layers of this thread.
pub(super) fn start_from(captured: &ThreadState) {
    with_layers(|current, owned| {
        if owned.is_looked_after() {
            owned.state.layers.start_from(captured.modes, captured.flags.clone());
            publish(current, owned);
        }
    });
}

/// Puts another state in force and leaves the one that was in `other`; false where the thread has begun
/// to end, and nothing was done.
pub(super) fn swap(other: &mut LiveState) -> bool {
    let swapped = with_layers(|current, owned| {
        if !owned.is_looked_after() {
            return false;
        }
        let named_flags = owned.state.layers.name_flags() || other.layers.name_flags();
        std::mem::swap(&mut owned.state, other);
        current.inbox.set(owned.state.inbox_number());
        current.modes.set(owned.state.layers.modes());
        if named_flags {
            publish_flags(current, owned);
        }
        if owned.state.others_left() {
            drop_what_others_left(current, owned);
        }
        true
    });
    swapped.unwrap_or(false)
}

/// Writes a mode without a scope; returns where it went and what was there.
pub(crate) fn write_mode(mode: Mode, on: bool) -> Option<(LayerId, Masked<u8>)> {
    with_layers(|current, owned| {
        let written = owned.state.layers.write_mode(&mut owned.ids, mode, on);
        current.modes.set(owned.state.layers.modes());
        written
    })
}

/// Takes such a write back.
pub(crate) fn restore_mode(place: LayerId, old: Masked<u8>) {
    with_layers(|current, owned| {
        owned.state.layers.restore_mode(place, old);
        current.modes.set(owned.state.layers.modes());
    });
}

/// What the innermost layer in force that names the flag holds. A read does not look into the inbox.
pub(crate) fn held_flag(id: FlagId) -> Option<u64> {
    with_current(|current| current.owned.try_borrow().ok()?.state.layers.flag(id))
}

/// Whether a layer of this thread decides the slot, and who set it there if that was traced.
pub(crate) fn scoped_site(slot: Slot) -> Option<Option<Site>> {
    with_layers(|_, owned| {
        let deciding = owned.state.layers.deciding(slot)?;
        Some(deciding.sites.iter().find(|(noted, _)| *noted == slot).map(|(_, site)| site.clone()))
    })
    .flatten()
}

/// Offers each slot to the innermost layer that names it: `write` is called with that layer's flags.
/// Returns the slots that no layer of this thread names.
pub(crate) fn landed_writes(
    slots: impl Iterator<Item = Slot>,
    mut write: impl FnMut(Slot, &mut FlagSlots),
) -> Vec<Slot> {
    let slots: Vec<Slot> = slots.collect();
    let landed = with_layers(|current, owned| {
        let (inside, outside): (Vec<Slot>, Vec<Slot>) =
            slots.iter().partition(|slot| owned.state.layers.deciding(**slot).is_some());
        for slot in &inside {
            if let Some(flags) = owned.state.layers.deciding_mut(*slot) {
                write(*slot, flags);
            }
        }
        if !inside.is_empty() {
            publish_flags(current, owned);
        }
        outside
    });
    landed.unwrap_or(slots)
}
