//! The list of one thread's live layers, without the thread: pushing, removing, writing and working
//! out what is in force.

use std::sync::Arc;

use super::{Contents, FlagId, FlagSlots, Masked, Slot};

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

#[derive(Debug)]
struct Layer {
    id: LayerId,
    /// The scope that pushed it; 0 where only the guard that holds its id can remove it.
    owner: u64,
    contents: Contents,
    /// All mode bits as they are with this layer and those below it.
    modes_here: u8,
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
    #[inline]
    pub(super) fn modes(&self) -> u8 {
        self.list.last().map_or(self.base_modes, |layer| layer.modes_here)
    }

    #[inline]
    pub(super) fn push(&mut self, owner: u64, contents: Contents) -> LayerId {
        self.pushed += 1;
        let id = LayerId(self.pushed);
        let modes_here = contents.modes.applied_to(self.modes());
        self.list.push(Layer { id, owner, contents, modes_here });
        id
    }

    /// Removes the innermost layer of `owner` and returns what it held.
    #[inline]
    pub(super) fn remove_of(&mut self, owner: u64) -> Option<Contents> {
        self.remove_where(|layer| layer.owner == owner)
    }

    /// Removes this very layer and returns what it held.
    #[inline]
    pub(super) fn remove(&mut self, id: LayerId) -> Option<Contents> {
        self.remove_where(|layer| layer.id == id)
    }

    #[inline]
    fn remove_where(&mut self, wanted: impl Fn(&Layer) -> bool) -> Option<Contents> {
        if wanted(self.list.last()?) {
            return self.list.pop().map(|layer| layer.contents);
        }
        let index = self.list.iter().rposition(wanted)?;
        let contents = self.list.remove(index).contents;
        self.refresh_modes();
        Some(contents)
    }

    fn refresh_modes(&mut self) {
        let mut modes = self.base_modes;
        for layer in &mut self.list {
            modes = layer.contents.modes.applied_to(modes);
            layer.modes_here = modes;
        }
    }

    /// Writes one mode bit where the innermost layer decides it; returns that place and its old bit.
    pub(super) fn write_modes(&mut self, bit: Masked<u8>) -> (Place, Masked<u8>) {
        let innermost = self.list.iter_mut().rev().find(|layer| layer.contents.modes.mask & bit.mask != 0);
        let (place, old) = match innermost {
            Some(layer) => {
                let old = layer.contents.modes.within(bit.mask);
                layer.contents.modes = bit.over(layer.contents.modes);
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
                    layer.contents.modes = old.over(layer.contents.modes);
                }
            }
        }
        self.refresh_modes();
    }

    /// The flags of each layer that has any, innermost first.
    fn flag_layers(&self) -> impl Iterator<Item = &FlagSlots> {
        self.list.iter().rev().filter_map(|layer| layer.contents.flags.as_deref())
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
        let flags = self.list.iter_mut().rev().filter_map(|layer| layer.contents.flags.as_mut());
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

    fn decides(mask: u8, value: u8) -> Contents {
        Contents::of_modes(Masked::new(mask, value))
    }

    #[test]
    fn layers_left_out_of_order_bring_the_base_back() {
        let mut layers = Layers::new(GRAD);
        layers.push(1, decides(GRAD, 0));
        layers.push(2, decides(GRAD, GRAD));
        layers.remove_of(1).unwrap();
        assert_eq!(layers.modes(), GRAD);
        layers.push(3, decides(GRAD, 0));
        layers.remove_of(2).unwrap();
        assert_eq!(layers.modes(), 0);
        layers.remove_of(3).unwrap();
        assert_eq!(layers.modes(), GRAD);
    }

    #[test]
    fn an_owner_that_entered_twice_leaves_its_inner_layer_first() {
        let mut layers = Layers::new(GRAD);
        let outer = layers.push(1, decides(GRAD, 0));
        let inner = layers.push(1, decides(GRAD, 0));
        layers.remove_of(1).unwrap();
        assert!(layers.remove(inner).is_none());
        assert!(layers.remove(outer).is_some());
        assert!(layers.remove_of(1).is_none());
    }

    #[test]
    fn a_write_lasts_as_long_as_the_layer_that_decides_its_bit() {
        let mut layers = Layers::new(GRAD);
        let layer = layers.push(1, decides(GRAD, 0));
        layers.push(2, decides(OTHER, OTHER));
        let (place, old) = layers.write_modes(Masked::new(GRAD, GRAD));
        assert_eq!((place, old.value, layers.modes()), (Place::Layer(layer), 0, GRAD | OTHER));
        layers.restore_modes(place, old);
        assert_eq!(layers.modes(), OTHER);
        layers.write_modes(Masked::new(GRAD, GRAD));
        layers.remove_of(2).unwrap();
        layers.remove_of(1).unwrap();
        assert_eq!(layers.modes(), GRAD);
    }

    #[test]
    fn restoring_a_place_that_ended_changes_nothing() {
        let mut layers = Layers::new(GRAD);
        layers.push(1, decides(GRAD, 0));
        let (place, _) = layers.write_modes(Masked::new(GRAD, GRAD));
        layers.remove_of(1).unwrap();
        layers.restore_modes(place, Masked::new(GRAD, 0));
        assert_eq!(layers.modes(), GRAD);
    }

    #[test]
    fn a_write_into_one_layer_of_a_scope_leaves_its_other_layers() {
        let shared = Arc::new(FlagSlots { words: vec![(FlagId(3), 1)], ..FlagSlots::default() });
        let mut layers = Layers::new(GRAD);
        layers.push(1, Contents::of_flags(shared.clone()));
        layers.push(1, Contents::of_flags(shared));
        layers.deciding_mut(Slot::Flag(FlagId(3))).unwrap().words = vec![(FlagId(3), 7)];
        assert_eq!(layers.flag(FlagId(3)), Some(7));
        layers.remove_of(1).unwrap();
        assert_eq!(layers.flag(FlagId(3)), Some(1));
        assert_eq!(layers.flag_summary().1, 1 << 3);
    }
}
