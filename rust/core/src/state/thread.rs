//! The layers in force on this thread: its own, or during a step of a task that task's.
//!
//! Everything here is defined while the thread ends, too. Once its layers have gone, the modes stay as they
//! were last, flags are the process's and no place is decided: enters, leaves and writes of modes and places
//! do nothing, and a write of a flag goes to the process.

use std::cell::RefMut;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use super::captured::ThreadState;
use super::current::{Current, LiveState, Owned, Step, TaskNumber, with_current};
use super::inbox::{self, Asked, Inbox, InboxNumber, Leaves};
use super::layers::{LayerId, Left, Removed};
use super::scope::ScopeNumber;
use super::{FlagId, FlagSlots, Masked, Slot, Slots, trace};
use crate::autograd::Mode;
use crate::backends::SourceLocation;
use crate::base::env;

/// This thread's state while nobody else can look at it.
type Borrowed<'a> = RefMut<'a, ManuallyDrop<Owned>>;

/// Runs `action` on this thread's layers, after the leaves that other threads have asked for; does not where
/// the thread's layers have gone.
///
/// What has gone from the layers is dropped when they are no longer borrowed, so `action` returns it: with the
/// last clone of a stream a driver is called, which may come back here.
pub(super) fn with_layers<R>(action: impl FnOnce(&Current, &mut Owned) -> R) -> Option<R> {
    with_current(|current| {
        // Borrowed twice only if an action, or the closure that `landed_writes` is given, came back here for
        // thread state. None does, nor do the locks of the inboxes and of the traces.
        with_borrowed(current, current.owned.try_borrow_mut().ok()?, action)
    })
}

/// The same for who has borrowed them already.
fn with_borrowed<R>(
    current: &Current,
    borrowed: Borrowed,
    action: impl FnOnce(&Current, &mut Owned) -> R,
) -> Option<R> {
    let mut gone = Gone::default();
    // Made after `gone`, and so dropped before it.
    let mut owned = borrowed;
    if owned.ended {
        return None;
    }
    if owned.state.others_left() {
        drop_what_others_left(current, &mut owned, &mut gone);
    }
    Some(action(current, &mut owned))
}

/// Removed layers and states, to be dropped once the thread's state is no longer borrowed.
#[derive(Default)]
struct Gone {
    layers: Vec<Removed>,
    states: Vec<LiveState>,
}

impl Drop for Gone {
    fn drop(&mut self) {
        if !self.states.is_empty() && env::debug() {
            self.states.iter().for_each(|state| trace::forget(state.inbox_number()));
        }
    }
}

#[cold]
fn drop_what_others_left(current: &Current, owned: &mut Owned, gone: &mut Gone) {
    // The state that an ended step had displaced has an inbox of its own.
    while owned.state.others_left() {
        match owned.state.inbox.as_ref().map(Inbox::take) {
            Some(Asked::DropLayers(leaves)) => drop_layers(current, owned, leaves, gone),
            Some(Asked::EndStep) => {
                // The active state belongs to the last step.
                let Some(step) = owned.steps.pop() else { return };
                gone.states.push(replace_in_force(current, owned, step.displaced));
            }
            None => return,
        }
    }
}

fn drop_layers(current: &Current, owned: &mut Owned, leaves: Leaves, gone: &mut Gone) {
    for (left, times) in leaves {
        for _ in 0..times {
            // There may have been more leaves than enters.
            let Some(removed) = owned.state.layers.remove(left) else { break };
            publish_removal(current, owned, &removed);
            gone.layers.push(removed);
        }
    }
}

fn publish_removal(current: &Current, owned: &Owned, removed: &Removed) {
    match &removed.slots {
        Some(slots) => publish(current, owned, slots),
        None => current.modes.set(owned.state.layers.modes()),
    }
}

/// A layer with these slots has come or gone.
fn publish(current: &Current, owned: &Owned, slots: &Slots) {
    current.modes.set(owned.state.layers.modes());
    if owned.state.layers.flags_depend_on(slots) {
        publish_flags(current, owned);
    }
    if owned.state.layers.places_depend_on(slots) {
        publish_places(current, owned);
    }
}

fn publish_flags(current: &Current, owned: &Owned) {
    let (tree, bits) = owned.state.layers.flag_summary();
    current.tree.set(tree);
    current.flags.set(bits);
    current.changes.set(current.changes.get().wrapping_add(1));
}

pub(super) fn publish_places(current: &Current, owned: &Owned) {
    current.places.set(owned.state.layers.place_summary());
}

/// Pushes a layer that decides mode bits; none where the thread has begun to end.
#[inline]
pub(super) fn push_modes(scope: ScopeNumber, decided: Masked<u8>) -> Option<LayerId> {
    with_current(move |current| {
        let mut owned = current.owned.try_borrow_mut().ok()?;
        if owned.state.layers.is_full() || owned.state.others_left() {
            return push_modes_after_care(current, owned, scope, decided);
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
    owned: Borrowed,
    scope: ScopeNumber,
    decided: Masked<u8>,
) -> Option<LayerId> {
    with_borrowed(current, owned, |current, owned| {
        owned.make_room();
        push_modes_at_once(current, owned, scope, decided)
    })
    .flatten()
}

/// Pushes a layer that decides mode bits and other slots; none where the thread has begun to end.
pub(super) fn push_slots(scope: ScopeNumber, decided: Masked<u8>, slots: &Arc<Slots>) -> Option<LayerId> {
    with_layers(|current, owned| {
        owned.make_room();
        let (below, shared) = (current.modes.get(), Some(slots.clone()));
        let id = owned.state.layers.push(&mut owned.ids, scope, decided, below, shared)?;
        publish(current, owned, slots);
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
        remove_wherever(current, owned, left)
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
fn remove_wherever(current: &Current, owned: Borrowed, left: Left) -> bool {
    let removed = with_borrowed(current, owned, |current, owned| {
        let removed = owned.state.layers.remove(left)?;
        publish_removal(current, owned, &removed);
        Some(removed)
    });
    removed.flatten().is_some()
}

/// Drops the layers that other threads have asked this one to drop.
#[inline]
pub(crate) fn settle() {
    let others_left =
        |current: &Current| current.owned.try_borrow().is_ok_and(|owned| owned.state.others_left());
    if with_current(others_left) {
        with_layers(|_, _| ());
    }
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
    let captured = with_layers(|current, owned| {
        owned
            .is_looked_after()
            .then(|| ThreadState { modes: current.modes.get(), slots: owned.state.layers.slots_together() })
    });
    captured.flatten().unwrap_or_else(|| ThreadState { modes: super::mode_word(), slots: Slots::hiding() })
}

/// Puts what was captured below all layers of this thread.
pub(super) fn start_from(captured: &ThreadState) {
    with_layers(|current, owned| {
        if !owned.is_looked_after() {
            return None;
        }
        let replaced = owned.state.layers.start_from(captured.modes, captured.slots.clone());
        current.modes.set(owned.state.layers.modes());
        publish_flags(current, owned);
        publish_places(current, owned);
        Some(replaced)
    });
}

/// Puts a task's state in force, which is moved out of `own`. Returns false where the thread has begun to end,
/// and then does nothing.
pub(super) fn begin_step(task: TaskNumber, own: &mut LiveState) -> bool {
    let mut gone = Gone::default();
    let begun = with_layers(|current, owned| {
        if !owned.is_looked_after() {
            return false;
        }
        let displaced = put_in_force(current, owned, std::mem::replace(own, LiveState::new()), &mut gone);
        owned.steps.push(Step { task, displaced });
        true
    });
    begun.unwrap_or(false)
}

/// Ends the innermost step of a task on this thread, wherever it is among the steps, and returns the task's state.
/// Returns None where this thread runs no step of the task.
pub(super) fn end_step(task: TaskNumber) -> Option<LiveState> {
    let mut gone = Gone::default();
    with_layers(|current, owned| {
        let index = owned.steps.iter().rposition(|step| step.task == task)?;
        let ended = owned.steps.remove(index);
        match owned.steps.get_mut(index) {
            // The step that began next has displaced the state of this one, and now displaces what this one did.
            Some(next) => Some(std::mem::replace(&mut next.displaced, ended.displaced)),
            None => Some(put_in_force(current, owned, ended.displaced, &mut gone)),
        }
    })
    .flatten()
}

/// Puts a state in force and returns the one that was.
fn put_in_force(current: &Current, owned: &mut Owned, state: LiveState, gone: &mut Gone) -> LiveState {
    let displaced = replace_in_force(current, owned, state);
    if owned.state.others_left() {
        drop_what_others_left(current, owned, gone);
    }
    displaced
}

/// Puts a state in force without a look into its inbox, and returns the one that was.
fn replace_in_force(current: &Current, owned: &mut Owned, state: LiveState) -> LiveState {
    let name_flags = owned.state.layers.name_flags() || state.layers.name_flags();
    let name_places = owned.state.layers.name_places() || state.layers.name_places();
    let displaced = std::mem::replace(&mut owned.state, state);
    current.inbox.set(owned.state.inbox_number());
    current.modes.set(owned.state.layers.modes());
    if name_flags {
        publish_flags(current, owned);
    }
    if name_places {
        publish_places(current, owned);
    }
    displaced
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
pub(crate) fn scoped_site(slot: Slot) -> Option<Option<SourceLocation>> {
    with_layers(|_, owned| {
        let deciding = owned.state.layers.deciding(slot)?;
        Some(deciding.sites.iter().find(|(noted, _)| *noted == slot).map(|(_, site)| site.clone()))
    })
    .flatten()
}

/// Offers one slot to the innermost layer that names it, as [`landed_writes`] does; false where no layer of this thread
/// names it, and `write` was not called.
pub(crate) fn landed_write(slot: Slot, write: impl FnOnce(&mut FlagSlots)) -> bool {
    let landed = with_layers(|current, owned| {
        let Some(flags) = owned.state.layers.deciding_mut(slot) else { return false };
        write(flags);
        publish_flags(current, owned);
        true
    });
    landed.unwrap_or(false)
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
