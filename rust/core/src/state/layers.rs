//! The list of one thread's live layers, without the thread: pushing, removing, writing and working
//! out what is in force.

use std::sync::Arc;

use super::{FlagId, FlagSlots, Masked, Slot};

/// Tells the layers of one thread apart; never used twice on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayerId(u64);

/// Where a write went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Base,
    Layer(LayerId),
}

impl Place {
    /// 0 for the base; a layer's number is never 0.
    pub(crate) fn number(self) -> u64 {
        match self {
            Place::Base => 0,
            Place::Layer(LayerId(number)) => number,
        }
    }

    /// The place with this number.
    pub(crate) fn of_number(number: u64) -> Self {
        match number {
            0 => Place::Base,
            number => Place::Layer(LayerId(number)),
        }
    }
}

/// What a layer decides: some mode bits, and flags where it names any. Whole words, because a layer is
/// written and read right after: a load wider than the store before it stalls.
#[derive(Debug)]
#[repr(C)]
struct Layer {
    id: LayerId,
    /// The scope that pushed it; 0 where only the guard that holds its id can remove it.
    owner: u64,
    modes: LayerModes,
    /// Shared with the scope's other layers until a write lands in this one.
    flags: Option<Arc<FlagSlots>>,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
struct LayerModes {
    decided: Masked<u8>,
    /// All mode bits as they are without this layer and those above it. Worked out again whenever
    /// something below changes, so that what is put in force when this layer ends is never stale.
    below: u8,
}

/// A layer that has gone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Removed {
    pub(super) named_flags: bool,
}

#[derive(Debug)]
pub(super) struct Layers {
    base_modes: u8,
    list: Vec<Layer>,
    pushed: u64,
}

impl Layers {
    pub(super) const fn new(base_modes: u8) -> Self {
        Layers { base_modes, list: Vec::new(), pushed: 0 }
    }

    /// The mode bits in force.
    pub(super) fn modes(&self) -> u8 {
        let in_force = |layer: &Layer| layer.modes.decided.applied_to(layer.modes.below);
        self.list.last().map_or(self.base_modes, in_force)
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
        owner: u64,
        decided: Masked<u8>,
        below: u8,
        flags: Option<Arc<FlagSlots>>,
    ) -> Option<LayerId> {
        let depth = self.list.len();
        let place = self.list.spare_capacity_mut().first_mut()?;
        self.pushed += 1;
        let id = LayerId(self.pushed);
        // Written where it stays: `Vec::push` makes a layer elsewhere and copies it.
        place.write(Layer { id, owner, modes: LayerModes { decided, below }, flags });
        // SAFETY: the element after the last one has just been written.
        unsafe { self.list.set_len(depth + 1) };
        Some(id)
    }

    /// Removes the innermost layer if it is the wanted one and names no flags; returns the mode bits
    /// that are in force without it.
    #[inline]
    pub(super) fn pop_plain(&mut self, wanted: impl Fn(LayerId, u64) -> bool) -> Option<u8> {
        let last = self.list.last()?;
        if !wanted(last.id, last.owner) || last.flags.is_some() {
            return None;
        }
        let below = last.modes.below;
        self.list.truncate(self.list.len() - 1);
        Some(below)
    }

    /// Removes the innermost wanted layer, wherever it lies.
    pub(super) fn remove(&mut self, wanted: impl Fn(LayerId, u64) -> bool) -> Option<Removed> {
        let index = self.list.iter().rposition(|layer| wanted(layer.id, layer.owner))?;
        let layer = self.list.remove(index);
        self.refresh_modes();
        Some(Removed { named_flags: layer.flags.is_some() })
    }

    fn refresh_modes(&mut self) {
        let mut modes = self.base_modes;
        for layer in &mut self.list {
            layer.modes.below = modes;
            modes = layer.modes.decided.applied_to(modes);
        }
    }

    /// Writes one mode bit where the innermost layer decides it; returns that place and its old bit.
    pub(super) fn write_modes(&mut self, bit: Masked<u8>) -> (Place, Masked<u8>) {
        let innermost = self.list.iter_mut().rev().find(|layer| layer.modes.decided.mask & bit.mask != 0);
        let (place, old) = match innermost {
            Some(layer) => {
                let old = layer.modes.decided.within(bit.mask);
                layer.modes.decided = bit.over(layer.modes.decided);
                (Place::Layer(layer.id), old)
            }
            None => {
                let old = Masked::new(bit.mask, self.base_modes);
                self.base_modes = bit.applied_to(self.base_modes);
                (Place::Base, old)
            }
        };
        self.refresh_modes();
        (place, old)
    }

    /// Gives a place its old bit again, if it is still there.
    pub(super) fn restore_modes(&mut self, place: Place, old: Masked<u8>) {
        match place {
            Place::Base => self.base_modes = old.applied_to(self.base_modes),
            Place::Layer(id) => {
                if let Some(layer) = self.list.iter_mut().find(|layer| layer.id == id) {
                    layer.modes.decided = old.over(layer.modes.decided);
                }
            }
        }
        self.refresh_modes();
    }

    /// The flags of each layer that has any, innermost first.
    fn flag_layers(&self) -> impl Iterator<Item = &FlagSlots> {
        self.list.iter().rev().filter_map(|layer| layer.flags.as_deref())
    }

    pub(super) fn flag_layer_count(&self) -> u64 {
        self.flag_layers().count() as u64
    }

    /// The flags of the innermost layer that names `slot`, to read.
    pub(super) fn deciding(&self, slot: Slot) -> Option<&FlagSlots> {
        self.flag_layers().find(|flags| flags.names(slot))
    }

    /// The same, to write; other layers of the same scope keep what they have.
    pub(super) fn deciding_mut(&mut self, slot: Slot) -> Option<&mut FlagSlots> {
        let flags = self.list.iter_mut().rev().filter_map(|layer| layer.flags.as_mut());
        flags.into_iter().find(|flags| flags.names(slot)).map(Arc::make_mut)
    }

    pub(super) fn flag(&self, id: FlagId) -> Option<u64> {
        self.flag_layers().find_map(|flags| flags.word(id))
    }

    /// What the layers together decide of the tree, and the bits of the flags that they name.
    pub(super) fn flag_summary(&self) -> (Masked<u64>, u64) {
        self.flag_layers().fold((Masked::default(), 0), |(tree, bits), flags| {
            (tree.over(flags.tree), bits | flags.named_bits())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAD: u8 = 0b01;
    const OTHER: u8 = 0b10;

    fn push(layers: &mut Layers, owner: u64, mask: u8, value: u8) -> LayerId {
        if layers.is_full() {
            layers.grow();
        }
        let below = layers.modes();
        layers.push(owner, Masked::new(mask, value), below, None).unwrap()
    }

    fn remove_of(layers: &mut Layers, owner: u64) -> bool {
        layers.remove(|_, its_owner| its_owner == owner).is_some()
    }

    #[test]
    fn layers_left_out_of_order_bring_the_base_back() {
        let mut layers = Layers::new(GRAD);
        push(&mut layers, 1, GRAD, 0);
        push(&mut layers, 2, GRAD, GRAD);
        assert!(remove_of(&mut layers, 1));
        assert_eq!(layers.modes(), GRAD);
        push(&mut layers, 3, GRAD, 0);
        assert!(remove_of(&mut layers, 2));
        assert_eq!(layers.modes(), 0);
        assert!(remove_of(&mut layers, 3));
        assert_eq!(layers.modes(), GRAD);
    }

    #[test]
    fn an_owner_that_entered_twice_leaves_its_inner_layer_first() {
        let mut layers = Layers::new(GRAD);
        let outer = push(&mut layers, 1, GRAD, 0);
        let inner = push(&mut layers, 1, GRAD, 0);
        assert!(remove_of(&mut layers, 1));
        assert!(layers.remove(|id, _| id == inner).is_none());
        assert!(layers.pop_plain(|id, _| id == outer).is_some());
        assert!(!remove_of(&mut layers, 1));
    }

    #[test]
    fn a_write_lasts_as_long_as_the_layer_that_decides_its_bit() {
        let mut layers = Layers::new(GRAD);
        let layer = push(&mut layers, 1, GRAD, 0);
        push(&mut layers, 2, OTHER, OTHER);
        let (place, old) = layers.write_modes(Masked::new(GRAD, GRAD));
        assert_eq!((place, old.value, layers.modes()), (Place::Layer(layer), 0, GRAD | OTHER));
        layers.restore_modes(place, old);
        assert_eq!(layers.modes(), OTHER);
        layers.write_modes(Masked::new(GRAD, GRAD));
        assert!(remove_of(&mut layers, 2));
        assert!(remove_of(&mut layers, 1));
        assert_eq!(layers.modes(), GRAD);
    }

    #[test]
    fn restoring_a_place_that_ended_changes_nothing() {
        let mut layers = Layers::new(GRAD);
        push(&mut layers, 1, GRAD, 0);
        let (place, _) = layers.write_modes(Masked::new(GRAD, GRAD));
        assert!(remove_of(&mut layers, 1));
        layers.restore_modes(place, Masked::new(GRAD, 0));
        assert_eq!(layers.modes(), GRAD);
    }

    #[test]
    fn a_write_into_one_layer_of_a_scope_leaves_its_other_layers() {
        let shared = Arc::new(FlagSlots { words: vec![(FlagId(3), 1)], ..FlagSlots::default() });
        let mut layers = Layers::new(GRAD);
        layers.grow();
        layers.push(1, Masked::default(), GRAD, Some(shared.clone())).unwrap();
        layers.push(1, Masked::default(), GRAD, Some(shared)).unwrap();
        layers.deciding_mut(Slot::Flag(FlagId(3))).unwrap().words = vec![(FlagId(3), 7)];
        assert_eq!(layers.flag(FlagId(3)), Some(7));
        assert!(remove_of(&mut layers, 1));
        assert_eq!(layers.flag(FlagId(3)), Some(1));
        assert_eq!(layers.flag_summary().1, 1 << 3);
    }
}
