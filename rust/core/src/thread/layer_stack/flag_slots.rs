//! The flags of a layer stack.

use std::sync::Arc;

use super::super::slots::Slots;
use super::super::{FlagId, FlagSlots, Masked, Slot};
use super::LayerStack;
use crate::base::sync::RelaxedU64;

/// The number of layers of all threads and tasks that name flags. While it is zero, a read of a flag checks no layer. A
/// forked child also counts the layers of threads that it lacks, which only costs its reads one more load.
static ACTIVE_FLAG_SCOPES: RelaxedU64 = RelaxedU64::new(0);

/// Returns whether a layer of any thread names a flag.
#[inline]
pub(crate) fn any_flag_layer() -> bool {
    ACTIVE_FLAG_SCOPES.get() != 0
}

/// Returns the address of the number of layers that name flags.
#[cfg(not(loom))]
pub fn flag_layers_address() -> *const u64 {
    ACTIVE_FLAG_SCOPES.as_ptr()
}

pub(super) fn acquire(count: u64) {
    if count != 0 {
        ACTIVE_FLAG_SCOPES.add(count);
    }
}

pub(super) fn release(count: u64) {
    if count != 0 {
        ACTIVE_FLAG_SCOPES.subtract(count);
    }
}

impl LayerStack {
    /// Returns the number of layers that name flags, hidden ones included. A write changes payloads of a layer, never
    /// which flags it names.
    pub(super) fn flag_layer_count(&self) -> u64 {
        self.all_slots().filter(|slots| slots.flags.name_any()).count() as u64
    }

    /// Returns whether pushing or removing a layer with these slots changes the active flags.
    pub(in crate::thread) fn flags_depend_on(&self, slots: &Slots) -> bool {
        slots.flags.name_any() || (slots.is_opaque && self.name_flags())
    }

    /// Returns whether any layer names flags.
    pub(in crate::thread) fn name_flags(&self) -> bool {
        self.all_slots().any(|slots| slots.flags.name_any())
    }

    /// Returns the flags of the innermost layer that names `slot`.
    pub(in crate::thread) fn owning_layer(&self, slot: Slot) -> Option<&FlagSlots> {
        self.visible().map(|slots| &slots.flags).find(|flags| flags.names(slot))
    }

    /// Like `owning_layer`, mutable. Slots that are shared with other layers of a scope are copied first.
    pub(in crate::thread) fn owning_layer_mut(&mut self, slot: Slot) -> Option<&mut FlagSlots> {
        let index = self.visible().position(|slots| slots.flags.names(slot))?;
        let layers = self.list.iter_mut().rev().filter_map(|layer| layer.slots.as_mut());
        let slots = layers.chain(&mut self.base.slots).nth(index)?;
        Some(&mut Arc::make_mut(slots).flags)
    }

    #[inline]
    pub(in crate::thread) fn flag(&self, id: FlagId) -> Option<u64> {
        // A loop instead of `visible`: this is the read of a flag in a scope.
        for slots in self.all_slots() {
            let payload = slots.flags.word(id);
            if payload.is_some() || slots.is_opaque {
                return payload;
            }
        }
        None
    }

    /// Returns the nodes of the precision tree that the layers decide, and the bits of the flags that they name.
    pub(in crate::thread) fn flag_summary(&self) -> (Masked<u64>, u64) {
        self.visible().fold((Masked::default(), 0), |(tree, bits), slots| {
            (tree.over(slots.flags.tree), bits | slots.flags.named_bits())
        })
    }
}
