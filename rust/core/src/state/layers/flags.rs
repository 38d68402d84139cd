//! What layers decide about flags.

use std::sync::Arc;

use super::super::{FlagId, FlagSlots, Masked, Slot};
use super::{EVERYTHING, Layers};
use crate::sync::SharedWord;

/// How many layers of all threads and tasks name flags. While it is zero no read of a flag looks
/// further. A forked child also counts the layers of threads that it lacks, which costs it a load.
static FLAG_LAYERS: SharedWord = SharedWord::new(0);

/// Whether a layer of any thread names any flag.
#[inline]
pub(crate) fn any_flag_layer() -> bool {
    FLAG_LAYERS.get() != 0
}

pub(super) fn layers_began(count: u64) {
    if count != 0 {
        FLAG_LAYERS.add(count);
    }
}

pub(super) fn layers_ended(count: u64) {
    if count != 0 {
        FLAG_LAYERS.subtract(count);
    }
}

impl Layers {
    /// The flags of each layer that has any and of the base, innermost first.
    fn flag_layers(&self) -> impl Iterator<Item = &Arc<FlagSlots>> {
        self.list.iter().rev().filter_map(|layer| layer.flags.as_ref()).chain(&self.base.flags)
    }

    pub(super) fn flag_layer_count(&self) -> u64 {
        self.flag_layers().count() as u64
    }

    /// Whether any layer names flags.
    pub(in crate::state) fn name_flags(&self) -> bool {
        self.flag_layers().next().is_some()
    }

    /// Has layers that decide everything hide the flags of the base, where there were none to hide when they
    /// were pushed.
    pub(super) fn hide_base_flags(&mut self) {
        if self.base.flags.is_some() {
            let whole = self.list.iter_mut().filter(|layer| layer.modes.decided.mask == EVERYTHING);
            for layer in whole {
                layer.flags.get_or_insert_with(|| Arc::new(FlagSlots::hiding()));
            }
        }
    }

    /// Those that count: down to the first that hides what lies below it.
    fn flags_in_sight(&self) -> impl Iterator<Item = &Arc<FlagSlots>> {
        let mut hidden = false;
        self.flag_layers().take_while(move |flags| !std::mem::replace(&mut hidden, flags.hides_below))
    }

    /// The flags of the innermost layer that names `slot`, to read.
    pub(in crate::state) fn deciding(&self, slot: Slot) -> Option<&FlagSlots> {
        self.flags_in_sight().find(|flags| flags.names(slot)).map(Arc::as_ref)
    }

    /// The same, to write; other layers of the same scope keep what they have.
    pub(in crate::state) fn deciding_mut(&mut self, slot: Slot) -> Option<&mut FlagSlots> {
        let index = self.flags_in_sight().position(|flags| flags.names(slot))?;
        let layers = self.list.iter_mut().rev().filter_map(|layer| layer.flags.as_mut());
        layers.chain(&mut self.base.flags).nth(index).map(Arc::make_mut)
    }

    pub(in crate::state) fn flag(&self, id: FlagId) -> Option<u64> {
        self.flags_in_sight().find_map(|flags| flags.word(id))
    }

    /// What the layers together decide of the tree, and the bits of the flags that they name.
    pub(in crate::state) fn flag_summary(&self) -> (Masked<u64>, u64) {
        self.flags_in_sight().fold((Masked::default(), 0), |(tree, bits), flags| {
            (tree.over(flags.tree), bits | flags.named_bits())
        })
    }

    /// All that the layers decide, as one layer that hides what lies below it; none where they decide
    /// nothing.
    pub(in crate::state) fn flags_together(&self) -> Option<Arc<FlagSlots>> {
        let mut in_sight = self.flags_in_sight();
        let innermost = in_sight.next()?;
        if innermost.hides_below {
            return Some(innermost.clone());
        }
        let mut together = FlagSlots { hides_below: true, ..FlagSlots::clone(innermost) };
        in_sight.for_each(|below| together.add_below(below));
        Some(Arc::new(together))
    }
}
