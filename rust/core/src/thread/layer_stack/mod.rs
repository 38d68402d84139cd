//! The list of live layers of one thread or task, without the thread: pushing, removing, writing and
//! working out what is in force.

mod device_slots;
mod flag_slots;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::Masked;
use super::scope::ScopeId;
use super::slots::Slots;
use crate::base::sync::RelaxedU64;
pub(crate) use flag_slots::any_flag_layer;

/// Tells apart the layers of all threads and tasks, and what their states start from: a task may go on on
/// another thread. Never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LayerId(u64);

impl LayerId {
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// The layer with this number.
    pub(crate) fn of_number(number: u64) -> Self {
        LayerId(number)
    }
}

/// Gives out the numbers of one thread: the one it gave last. Threads take them in blocks, so that no number
/// is given out twice in a process and threads hardly meet.
#[derive(Debug)]
pub(super) struct LayerIds(u64);

const BLOCK: u64 = 1 << 16;

/// The last block that was taken. The first is left out, for the number 0.
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

/// What a layer decides: some mode bits, and other slots where it names any. Whole words, because a layer is
/// written and read right after: a load wider than the store before it stalls.
#[derive(Debug)]
#[repr(C)]
struct Layer {
    id: LayerId,
    /// The scope that pushed it; none where only the guard that holds its id can remove it.
    scope: ScopeId,
    modes: LayerModes,
    /// None where it decides mode bits only.
    slots: Option<Arc<Slots>>,
}

// A guard writes a whole one.
const _: () = assert!(size_of::<Layer>() == 32);

#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
struct LayerModes {
    decided: Masked<u8>,
    /// All mode bits as they are without this layer and those above it. Worked out again whenever
    /// something below changes, so that what is put in force when this layer ends is never stale.
    below: u8,
}

/// Which layer shall be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ExitTarget {
    /// The innermost of this scope.
    Scope(ScopeId),
    /// The one of a guard.
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

/// A removed layer. The caller drops it without the thread's state borrowed: dropping the last clone
/// of a stream calls its driver.
#[derive(Debug)]
pub(super) struct RemovedLayer {
    pub(super) slots: Option<Arc<Slots>>,
}

/// What is in force below all layers.
#[derive(Debug)]
struct Base {
    /// Told apart from layers and from every other base; none where no write went there yet.
    id: LayerId,
    modes: u8,
    /// What a captured state brought along, and devices that were written. Flags that it does not name are the
    /// process's.
    slots: Option<Arc<Slots>>,
}

#[derive(Debug)]
pub(super) struct LayerStack {
    base: Base,
    list: Vec<Layer>,
}

impl LayerStack {
    /// Nothing but the mode bits that a thread begins with.
    pub(super) const fn new(modes: u8) -> Self {
        LayerStack { base: Base { id: LayerId(0), modes, slots: None }, list: Vec::new() }
    }

    /// The mode bits in force.
    pub(super) fn modes(&self) -> u8 {
        let in_force = |layer: &Layer| layer.modes.decided.applied_to(layer.modes.below);
        self.list.last().map_or(self.base.modes, in_force)
    }

    /// Puts something else below all layers. What was written to the old base is not there to be taken back.
    pub(super) fn set_base(&mut self, modes: u8, slots: Arc<Slots>) -> RemovedLayer {
        let before = self.flag_layer_count();
        let old =
            std::mem::replace(&mut self.base, Base { id: LayerId::default(), modes, slots: Some(slots) });
        flag_slots::acquire(self.flag_layer_count());
        flag_slots::release(before);
        self.refresh_modes();
        RemovedLayer { slots: old.slots }
    }

    /// The slots of each layer that has any and of the base, innermost first.
    fn all_slots(&self) -> impl Iterator<Item = &Arc<Slots>> {
        self.list.iter().rev().filter_map(|layer| layer.slots.as_ref()).chain(&self.base.slots)
    }

    /// Those that count: down to the first that hides what lies below it.
    fn visible(&self) -> impl Iterator<Item = &Arc<Slots>> {
        let mut hidden = false;
        self.all_slots().take_while(move |slots| !std::mem::replace(&mut hidden, slots.is_opaque))
    }

    /// All that the layers decide besides modes, as one layer that hides what lies below it.
    pub(super) fn flatten(&mut self) -> Arc<Slots> {
        let mut visible = self.visible();
        let Some(innermost) = visible.next() else {
            drop(visible);
            // Kept, so that the next capture shares it.
            return self.base.slots.get_or_insert_with(Slots::opaque).clone();
        };
        if innermost.is_opaque {
            return innermost.clone();
        }
        let mut together = Slots { is_opaque: true, ..Slots::clone(innermost) };
        visible.for_each(|below| together.fill_from(below));
        Arc::new(together)
    }

    /// Whether the next push needs more memory first.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.list.len() == self.list.capacity()
    }

    pub(super) fn grow(&mut self) {
        // Deep enough for nearly every program, so that the list is allocated once per thread.
        const LAYERS_AT_FIRST: usize = 16;
        self.list.reserve(LAYERS_AT_FIRST.max(self.list.len()));
    }

    /// Pushes a layer over the mode bits in force, which are `below`. There must be room: without it
    /// nothing is pushed.
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
        let place = self.list.spare_capacity_mut().first_mut()?;
        if slots.as_ref().is_some_and(|slots| slots.flags.name_any()) {
            flag_slots::acquire(1);
        }
        let id = ids.next();
        // Written where it stays: `Vec::push` makes a layer elsewhere and copies it.
        place.write(Layer { id, scope, modes: LayerModes { decided, below }, slots });
        // SAFETY: the element after the last one has just been written.
        unsafe { self.list.set_len(depth + 1) };
        Some(id)
    }

    /// Removes the innermost layer if it is the wanted one and decides mode bits only; returns the mode bits
    /// that are in force without it.
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

    /// Removes the innermost wanted layer, wherever it lies.
    pub(super) fn remove(&mut self, target: ExitTarget) -> Option<RemovedLayer> {
        let index = self.list.iter().rposition(|layer| layer.is(target))?;
        let slots = self.list.remove(index).slots;
        if slots.as_ref().is_some_and(|slots| slots.flags.name_any()) {
            flag_slots::release(1);
        }
        self.refresh_modes();
        Some(RemovedLayer { slots })
    }

    fn refresh_modes(&mut self) {
        let mut modes = self.base.modes;
        for layer in &mut self.list {
            layer.modes.below = modes;
            modes = layer.modes.decided.applied_to(modes);
        }
    }

    /// Writes a mode where the innermost layer decides it; returns that place and its old bit.
    pub(super) fn write_mode(&mut self, ids: &mut LayerIds, bit: Masked<u8>) -> (LayerId, Masked<u8>) {
        let innermost = self.list.iter_mut().rev().find(|layer| layer.modes.decided.mask & bit.mask != 0);
        let (place, old) = match innermost {
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
        (place, old)
    }

    /// Gives a place its old bit again, if it is still there.
    pub(super) fn restore_mode(&mut self, place: LayerId, old: Masked<u8>) {
        if place == self.base.id {
            self.base.modes = old.applied_to(self.base.modes);
        } else if let Some(layer) = self.list.iter_mut().find(|layer| layer.id == place) {
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
