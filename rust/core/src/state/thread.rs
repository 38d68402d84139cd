//! This thread's layers. Everything here is defined while the thread ends, too: once its list is
//! gone, enters, leaves and writes do nothing and reads see what was last in force.

use std::cell::RefCell;

use super::current::{CURRENT, flag_layers_began, flag_layers_ended};
use super::inbox::{Inbox, ThreadNumber};
use super::layers::Layers;
pub(crate) use super::layers::{LayerId, Place};
use super::{Contents, FlagId, FlagSlots, Masked, Slot};
use crate::autograd::mode;
use crate::backends::Site;

struct ThreadLayers {
    layers: Layers,
    /// Opened by the first enter of a scope that another thread could leave.
    inbox: Option<Inbox>,
}

thread_local! {
    static LAYERS: RefCell<ThreadLayers> =
        const { RefCell::new(ThreadLayers { layers: Layers::new(mode::BASE), inbox: None }) };
}

impl Drop for ThreadLayers {
    fn drop(&mut self) {
        flag_layers_ended(self.layers.flag_layer_count());
    }
}

/// Runs `action` on this thread's layers, after the leaves that other threads have asked for.
#[inline]
fn with_layers<R>(action: impl FnOnce(&mut ThreadLayers) -> R) -> Option<R> {
    LAYERS
        .try_with(|cell| {
            // Never borrowed twice: nothing that runs below calls out of this module.
            let mut thread = cell.try_borrow_mut().ok()?;
            if thread.inbox.as_ref().is_some_and(|inbox| !inbox.is_empty()) {
                thread.drop_what_others_left();
            }
            Some(action(&mut thread))
        })
        .ok()
        .flatten()
}

impl ThreadLayers {
    #[inline]
    fn push(&mut self, owner: u64, contents: Contents) -> LayerId {
        let names_flags = contents.flags.is_some();
        let id = self.layers.push(owner, contents);
        self.publish_modes();
        if names_flags {
            flag_layers_began(1);
            self.publish_flags();
        }
        id
    }

    #[inline]
    fn forget(&mut self, removed: Option<Contents>) -> bool {
        let Some(contents) = removed else { return false };
        self.publish_modes();
        if contents.flags.is_some() {
            flag_layers_ended(1);
            self.publish_flags();
        }
        true
    }

    #[cold]
    fn drop_what_others_left(&mut self) {
        for owner in self.inbox.as_ref().map(Inbox::take).unwrap_or_default() {
            let removed = self.layers.remove_of(owner);
            self.forget(removed);
        }
    }

    #[inline]
    fn publish_modes(&self) {
        CURRENT.with(|current| current.modes.set(self.layers.modes()));
    }

    fn publish_flags(&self) {
        let (tree, bits) = self.layers.flag_summary();
        CURRENT.with(|current| {
            current.tree.set(tree);
            current.flags.set(bits);
            current.changes.set(current.changes.get().wrapping_add(1));
        });
    }
}

/// Pushes a layer that only the holder of its id can remove.
#[inline]
pub(super) fn push_guarded(contents: Contents) -> Option<LayerId> {
    with_layers(|thread| thread.push(0, contents))
}

/// Removes that layer.
#[inline]
pub(super) fn remove_guarded(id: LayerId) {
    with_layers(|thread| {
        let removed = thread.layers.remove(id);
        thread.forget(removed)
    });
}

/// Pushes a layer of `owner`; returns the thread that has it now.
#[inline]
pub(super) fn push(owner: u64, contents: Contents) -> ThreadNumber {
    with_layers(|thread| {
        thread.push(owner, contents);
        thread.inbox.get_or_insert_with(Inbox::open).thread()
    })
    .unwrap_or_default()
}

/// Removes the innermost layer of `owner`; false where this thread has none.
#[inline]
pub(super) fn remove(owner: u64) -> bool {
    with_layers(|thread| {
        let removed = thread.layers.remove_of(owner);
        thread.forget(removed)
    })
    .unwrap_or(false)
}

/// The number of this thread; 0 while the thread ends.
pub(crate) fn this_thread() -> ThreadNumber {
    with_layers(|thread| thread.inbox.get_or_insert_with(Inbox::open).thread()).unwrap_or_default()
}

/// Writes mode bits without a scope; returns where they went and what was there.
pub(crate) fn write_modes(bits: Masked<u8>) -> Option<(Place, Masked<u8>)> {
    with_layers(|thread| {
        let written = thread.layers.write_modes(bits);
        thread.publish_modes();
        written
    })
}

/// Takes such a write back.
pub(crate) fn restore_modes(place: Place, old: Masked<u8>) {
    with_layers(|thread| {
        thread.layers.restore_modes(place, old);
        thread.publish_modes();
    });
}

/// What the innermost layer of this thread that names the flag holds.
pub(crate) fn held_flag(id: FlagId) -> Option<u64> {
    with_layers(|thread| thread.layers.flag(id)).flatten()
}

/// Whether a layer of this thread decides the slot, and who set it there if that was traced.
pub(crate) fn scoped_site(slot: Slot) -> Option<Option<Site>> {
    with_layers(|thread| {
        let deciding = thread.layers.deciding(slot)?;
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
    let landed = with_layers(|thread| {
        let (inside, outside): (Vec<Slot>, Vec<Slot>) =
            slots.iter().partition(|slot| thread.layers.deciding(**slot).is_some());
        for slot in &inside {
            if let Some(flags) = thread.layers.deciding_mut(*slot) {
                write(*slot, flags);
            }
        }
        if !inside.is_empty() {
            thread.publish_flags();
        }
        outside
    });
    landed.unwrap_or(slots)
}
