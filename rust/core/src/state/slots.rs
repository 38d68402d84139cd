//! What a layer decides besides mode bits.

use std::sync::Arc;

use super::{FlagSlots, Places};

/// Shared by all layers that a scope pushes, until a write lands in one of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    pub(crate) flags: FlagSlots,
    pub(super) places: Places,
    /// Whether what is not named here is as it is without any scope, whatever lies below this layer. A write
    /// to a place that is not named lands here, too; one to a flag goes to the process.
    pub(super) hides_below: bool,
}

impl Slots {
    #[inline]
    pub(crate) fn of_flags(flags: FlagSlots) -> Arc<Self> {
        Arc::new(Slots { flags, ..Slots::default() })
    }

    pub(crate) fn of_places(places: Places) -> Arc<Self> {
        Arc::new(Slots { places, ..Slots::default() })
    }

    /// Nothing is named, and nothing below is looked at.
    pub(super) fn hiding() -> Arc<Self> {
        Arc::new(Slots { hides_below: true, ..Slots::default() })
    }

    /// Takes in what `below` names and this does not.
    pub(super) fn add_below(&mut self, below: &Slots) {
        self.flags.add_below(&below.flags);
        self.places.add_below(&below.places);
    }
}
