//! The stack of layers of one thread or task: push, remove, write, and computing the active values. It does not access
//! the thread-local.

mod device_slots;
mod flag_slots;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::sync::Arc;

use super::Masked;
use super::scope::ScopeId;
use super::slots::Slots;
use crate::base::sync::RelaxedU64;
pub(crate) use flag_slots::any_flag_layer;
#[cfg(not(loom))]
pub use flag_slots::flag_layers_address;

/// Identifies a layer, or the base of a thread or task. Unique in a process, because a task may move to another thread.
/// Never 0 for a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LayerId(u64);

impl LayerId {
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// Returns the id with this number.
    pub(crate) fn of_number(number: u64) -> Self {
        LayerId(number)
    }
}

/// Generates the layer ids of one thread; stores the last one. Threads reserve ids in blocks, so ids are unique in a
/// process with little contention.
#[derive(Debug)]
pub(super) struct LayerIds(u64);

const BLOCK: u64 = 1 << 16;

/// The last block that was reserved. The first block is unused, because it has the id 0.
static BLOCKS: RelaxedU64 = RelaxedU64::new(0);

impl LayerIds {
    pub(super) const fn new() -> Self {
        LayerIds(BLOCK - 1)
    }

    #[inline]
    fn next(&mut self) -> LayerId {
        self.0 += 1;
        if self.0.is_multiple_of(BLOCK) {
            self.next_block();
        }
        LayerId(self.0)
    }

    #[cold]
    #[inline(never)]
    fn next_block(&mut self) {
        self.0 = BLOCKS.add(1) * BLOCK;
    }
}

/// A layer: mode bits and optional slots. The fields are whole words because a layer is read right after it is written,
/// and a load that is wider than the preceding store stalls.
#[derive(Debug)]
#[repr(C)]
struct Layer {
    id: LayerId,
    /// The scope that pushed the layer; none for a guard, which removes it by id.
    scope: ScopeId,
    modes: LayerModes,
    /// `None` if the layer decides only mode bits.
    slots: Option<Arc<Slots>>,
}

// Every guard writes a whole layer.
const _: () = assert!(size_of::<Layer>() == 32);

#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
struct LayerModes {
    decided: Masked<u8>,
    /// All mode bits without this layer and those above. Recomputed when a lower layer changes, so removing this layer
    /// always restores current values.
    below: u8,
}

/// The layer to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ExitTarget {
    /// The innermost layer of a scope.
    Scope(ScopeId),
    /// The layer of a guard.
    Layer(LayerId),
}

impl Layer {
    #[inline]
    fn is(&self, target: ExitTarget) -> bool {
        match target {
            ExitTarget::Scope(scope) => self.scope == scope,
            ExitTarget::Layer(id) => self.id == id,
        }
    }
}

/// A removed layer. The caller drops it while the thread's state is not borrowed: dropping the last clone of a stream
/// calls its driver.
#[derive(Debug)]
pub(super) struct RemovedLayer {
    pub(super) slots: Option<Arc<Slots>>,
    /// The scope whose layer was directly above; none if the layer was the innermost, or below that of a guard.
    pub(super) above: ScopeId,
}

/// The values below all layers.
#[derive(Debug)]
struct Base {
    /// Distinct from the ids of all layers and other bases; 0 before the first write to this base.
    id: LayerId,
    modes: u8,
    /// The slots of an installed state, and device slots that were written. Flags that it does not name have the values
    /// of the process.
    slots: Option<Arc<Slots>>,
}

#[derive(Debug)]
pub(super) struct LayerStack {
    base: Base,
    list: Vec<Layer>,
}

impl LayerStack {
    /// Creates an empty stack over these mode bits.
    pub(super) const fn new(modes: u8) -> Self {
        LayerStack { base: Base { id: LayerId(0), modes, slots: None }, list: Vec::new() }
    }

    /// Returns the active mode bits.
    pub(super) fn modes(&self) -> u8 {
        let active = |layer: &Layer| layer.modes.decided.applied_to(layer.modes.below);
        self.list.last().map_or(self.base.modes, active)
    }

    /// Replaces the base. Writes to the old base can no longer be revoked.
    pub(super) fn set_base(&mut self, modes: u8, slots: Arc<Slots>) -> RemovedLayer {
        let before = self.flag_layer_count();
        let old =
            std::mem::replace(&mut self.base, Base { id: LayerId::default(), modes, slots: Some(slots) });
        flag_slots::acquire(self.flag_layer_count());
        flag_slots::release(before);
        self.refresh_modes();
        RemovedLayer { slots: old.slots, above: ScopeId::NONE }
    }

    /// Iterates over the slots of layers and of the base, innermost first.
    fn all_slots(&self) -> impl Iterator<Item = &Arc<Slots>> {
        self.list.iter().rev().filter_map(|layer| layer.slots.as_ref()).chain(&self.base.slots)
    }

    /// Iterates over the slots that have an effect: down to the first opaque layer.
    fn visible(&self) -> impl Iterator<Item = &Arc<Slots>> {
        let mut hidden = false;
        self.all_slots().take_while(move |slots| !std::mem::replace(&mut hidden, slots.is_opaque))
    }

    /// Returns the recording of the innermost layer that has one.
    pub(super) fn recording(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.visible().find_map(|slots| slots.recording())
    }

    /// Returns the hooks of saved tensors of the innermost layer that has them.
    pub(super) fn saved_tensor_hooks(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.visible().find_map(|slots| slots.saved_tensor_hooks())
    }

    /// Merges the slots of all visible layers into one opaque layer.
    pub(super) fn flatten(&mut self) -> Arc<Slots> {
        let mut visible = self.visible();
        let Some(innermost) = visible.next() else {
            drop(visible);
            // Stored, so that the next capture shares it.
            return self.base.slots.get_or_insert_with(Slots::opaque).clone();
        };
        if innermost.is_opaque {
            return innermost.clone();
        }
        let mut merged = Slots { is_opaque: true, ..Slots::clone(innermost) };
        visible.for_each(|below| merged.fill_from(below));
        Arc::new(merged)
    }

    /// Returns whether the next push needs [`grow`](LayerStack::grow) first.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.list.len() == self.list.capacity()
    }

    pub(super) fn grow(&mut self) {
        // Enough for nearly every program, so that the list is allocated once per thread.
        const INITIAL_CAPACITY: usize = 16;
        self.list.reserve(INITIAL_CAPACITY.max(self.list.len()));
    }

    /// Pushes a layer over the active mode bits, which are `below`. Pushes nothing and returns `None` if there is no
    /// spare capacity.
    #[inline]
    pub(super) fn push(
        &mut self,
        ids: &mut LayerIds,
        scope: ScopeId,
        decided: Masked<u8>,
        below: u8,
        slots: Option<Arc<Slots>>,
    ) -> Option<LayerId> {
        let depth = self.list.len();
        let slot = self.list.spare_capacity_mut().first_mut()?;
        if slots.as_ref().is_some_and(|slots| slots.flags.name_any()) {
            flag_slots::acquire(1);
        }
        let id = ids.next();
        // Written in place: `Vec::push` builds a layer elsewhere and copies it.
        slot.write(Layer { id, scope, modes: LayerModes { decided, below }, slots });
        // SAFETY: the element after the last one has just been written.
        unsafe { self.list.set_len(depth + 1) };
        Some(id)
    }

    /// Removes the innermost layer if it is the target and decides only mode bits. Returns the mode bits that are
    /// active without it.
    #[inline]
    pub(super) fn pop_plain(&mut self, target: ExitTarget) -> Option<u8> {
        let last = self.list.last()?;
        if !last.is(target) || last.slots.is_some() {
            return None;
        }
        let below = last.modes.below;
        self.list.truncate(self.list.len() - 1);
        Some(below)
    }

    /// Removes the innermost layer that matches the target, at any depth.
    pub(super) fn remove(&mut self, target: ExitTarget) -> Option<RemovedLayer> {
        let index = self.list.iter().rposition(|layer| layer.is(target))?;
        let above = self.list.get(index + 1).map_or(ScopeId::NONE, |layer| layer.scope);
        let slots = self.list.remove(index).slots;
        if slots.as_ref().is_some_and(|slots| slots.flags.name_any()) {
            flag_slots::release(1);
        }
        self.refresh_modes();
        Some(RemovedLayer { slots, above })
    }

    /// Returns whether this is the innermost layer.
    #[inline]
    pub(super) fn is_innermost(&self, id: LayerId) -> bool {
        self.list.last().is_some_and(|layer| layer.id == id)
    }

    /// Removes the layers above one, each with its scope, innermost first. Removes nothing if there is no such layer.
    pub(super) fn remove_above(&mut self, id: LayerId) -> Vec<(ScopeId, RemovedLayer)> {
        let Some(index) = self.list.iter().rposition(|layer| layer.id == id) else { return Vec::new() };
        let removed = self.list.drain(index + 1..).rev().map(|layer| {
            if layer.slots.as_ref().is_some_and(|slots| slots.flags.name_any()) {
                flag_slots::release(1);
            }
            (layer.scope, RemovedLayer { slots: layer.slots, above: ScopeId::NONE })
        });
        removed.collect()
    }

    fn refresh_modes(&mut self) {
        let mut modes = self.base.modes;
        for layer in &mut self.list {
            layer.modes.below = modes;
            modes = layer.modes.decided.applied_to(modes);
        }
    }

    /// Writes a mode to the innermost layer that decides it, else to the base. Returns the id of the layer or base and
    /// the previous bit.
    pub(super) fn write_mode(&mut self, ids: &mut LayerIds, bit: Masked<u8>) -> (LayerId, Masked<u8>) {
        let innermost = self.list.iter_mut().rev().find(|layer| layer.modes.decided.mask & bit.mask != 0);
        let (target, old) = match innermost {
            Some(layer) => {
                let old = layer.modes.decided.within(bit.mask);
                layer.modes.decided = bit.over(layer.modes.decided);
                (layer.id, old)
            }
            None => {
                let old = Masked::new(bit.mask, self.base.modes);
                self.base.modes = bit.applied_to(self.base.modes);
                if self.base.id == LayerId::default() {
                    self.base.id = ids.next();
                }
                (self.base.id, old)
            }
        };
        self.refresh_modes();
        (target, old)
    }

    /// Restores the bit of a layer or base, if it still exists.
    pub(super) fn restore_mode(&mut self, target: LayerId, old: Masked<u8>) {
        if target == self.base.id {
            self.base.modes = old.applied_to(self.base.modes);
        } else if let Some(layer) = self.list.iter_mut().find(|layer| layer.id == target) {
            layer.modes.decided = old.over(layer.modes.decided);
        }
        self.refresh_modes();
    }
}

impl Drop for LayerStack {
    fn drop(&mut self) {
        flag_slots::release(self.flag_layer_count());
    }
}
