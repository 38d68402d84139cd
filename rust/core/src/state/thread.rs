//! This thread's layers. Everything here is defined while the thread ends, too: once its list is
//! gone, enters, leaves and writes do nothing and reads see what was last in force.

use std::sync::Arc;

use super::current::{Current, Owned, flag_layer_began, flag_layers_ended, with_current};
use super::inbox::{Inbox, ThreadNumber};
use super::layers::Removed;
pub(crate) use super::layers::{LayerId, Place};
use super::{FlagId, FlagSlots, Masked, Slot};
use crate::backends::Site;

/// Runs `action` on this thread's layers, after the leaves that other threads have asked for.
fn with_layers<R>(action: impl FnOnce(&Current, &mut Owned) -> R) -> Option<R> {
    with_current(|current| {
        // Never borrowed twice: nothing that runs below calls out of this module.
        let mut owned = current.owned.try_borrow_mut().ok()?;
        if owned.others_left() {
            drop_what_others_left(current, &mut owned);
        }
        Some(action(current, &mut owned))
    })
}

#[cold]
fn drop_what_others_left(current: &Current, owned: &mut Owned) {
    for owner in owned.inbox.as_ref().map(Inbox::take).unwrap_or_default() {
        let removed = owned.layers.remove(|_, its_owner| its_owner == owner);
        publish_removal(current, owned, removed);
    }
}

fn publish_removal(current: &Current, owned: &Owned, removed: Option<Removed>) {
    current.modes.set(owned.layers.modes());
    if removed.is_some_and(|removed| removed.named_flags) {
        flag_layers_ended(1);
        publish_flags(current, owned);
    }
}

fn publish_flags(current: &Current, owned: &Owned) {
    let (tree, bits) = owned.layers.flag_summary();
    current.tree.set(tree);
    current.flags.set(bits);
    current.changes.set(current.changes.get().wrapping_add(1));
}

/// Pushes a layer that decides mode bits; none where the thread has begun to end. `owner` 0 means that
/// only the holder of its id can remove it.
#[inline]
pub(super) fn push_modes(owner: u64, decided: Masked<u8>) -> Option<LayerId> {
    with_current(move |current| {
        let mut owned = current.owned.try_borrow_mut().ok()?;
        if owned.layers.is_full() || owned.others_left() {
            return push_modes_after_care(current, &mut owned, owner, decided);
        }
        push_modes_at_once(current, &mut owned, owner, decided)
    })
}

#[inline]
fn push_modes_at_once(
    current: &Current,
    owned: &mut Owned,
    owner: u64,
    decided: Masked<u8>,
) -> Option<LayerId> {
    let below = current.modes.get();
    let id = owned.layers.push(owner, decided, below, None)?;
    current.modes.set(decided.applied_to(below));
    Some(id)
}

#[cold]
#[inline(never)]
fn push_modes_after_care(
    current: &Current,
    owned: &mut Owned,
    owner: u64,
    decided: Masked<u8>,
) -> Option<LayerId> {
    if owned.others_left() {
        drop_what_others_left(current, owned);
    }
    owned.make_room();
    push_modes_at_once(current, owned, owner, decided)
}

/// Pushes a layer that decides flags; none where the thread has begun to end.
pub(super) fn push_flags(owner: u64, flags: Arc<FlagSlots>) -> Option<LayerId> {
    with_layers(|current, owned| {
        owned.make_room();
        let id = owned.layers.push(owner, Masked::default(), current.modes.get(), Some(flags))?;
        flag_layer_began();
        publish_flags(current, owned);
        Some(id)
    })
    .flatten()
}

/// Removes the innermost wanted layer; false where this thread has none. A layer is told by its id and
/// its owner.
#[inline]
pub(super) fn remove(wanted: impl Fn(LayerId, u64) -> bool) -> bool {
    with_current(|current| {
        let Ok(mut owned) = current.owned.try_borrow_mut() else { return false };
        if !owned.others_left()
            && let Some(below) = owned.layers.pop_plain(&wanted)
        {
            current.modes.set(below);
            return true;
        }
        remove_wherever(current, &mut owned, wanted)
    })
}

#[cold]
#[inline(never)]
fn remove_wherever(current: &Current, owned: &mut Owned, wanted: impl Fn(LayerId, u64) -> bool) -> bool {
    if owned.others_left() {
        drop_what_others_left(current, owned);
    }
    let removed = owned.layers.remove(wanted);
    publish_removal(current, owned, removed);
    removed.is_some()
}

/// Drops the layers that other threads have asked this one to drop.
#[inline]
pub(crate) fn settle() {
    with_current(|current| {
        if let Ok(mut owned) = current.owned.try_borrow_mut()
            && owned.others_left()
        {
            drop_what_others_left(current, &mut owned);
        }
    });
}

/// The number of this thread; none where it has begun to end.
#[inline]
pub(crate) fn this_thread() -> ThreadNumber {
    match with_current(|current| current.thread.get()) {
        ThreadNumber::NONE => number_this_thread(),
        number => number,
    }
}

#[cold]
fn number_this_thread() -> ThreadNumber {
    with_layers(|current, owned| {
        current.thread.set(owned.number());
        current.thread.get()
    })
    .unwrap_or(ThreadNumber::NONE)
}

/// Writes mode bits without a scope; returns where they went and what was there.
pub(crate) fn write_modes(bits: Masked<u8>) -> Option<(Place, Masked<u8>)> {
    with_layers(|current, owned| {
        let written = owned.layers.write_modes(bits);
        current.modes.set(owned.layers.modes());
        written
    })
}

/// Takes such a write back.
pub(crate) fn restore_modes(place: Place, old: Masked<u8>) {
    with_layers(|current, owned| {
        owned.layers.restore_modes(place, old);
        current.modes.set(owned.layers.modes());
    });
}

/// What the innermost layer of this thread that names the flag holds.
///
/// A read changes nothing: what other threads have left goes with the next enter, leave or write.
pub(crate) fn held_flag(id: FlagId) -> Option<u64> {
    with_current(|current| current.owned.try_borrow().ok()?.layers.flag(id))
}

/// Whether a layer of this thread decides the slot, and who set it there if that was traced.
pub(crate) fn scoped_site(slot: Slot) -> Option<Option<Site>> {
    with_layers(|_, owned| {
        let deciding = owned.layers.deciding(slot)?;
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
            slots.iter().partition(|slot| owned.layers.deciding(**slot).is_some());
        for slot in &inside {
            if let Some(flags) = owned.layers.deciding_mut(*slot) {
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
