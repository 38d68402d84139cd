//! The summary of several layers that readers need.

use super::device_slots::DeviceSummary;
use super::{Masked, Slots};

/// The values that layers set together, as far as they can be read without the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) modes: Masked<u8>,
    /// The nodes of the precision tree.
    pub(super) tree: Masked<u64>,
    /// The [`FlagId::bit`](super::FlagId) of every flag.
    pub(super) flags: u64,
    pub(super) devices: DeviceSummary,
    /// Whether a layer has hooks or a recording.
    pub(super) has_objects: bool,
    /// Whether slots below have no effect.
    pub(super) is_opaque: bool,
}

impl Summary {
    /// The summary of no layers.
    pub(super) const NONE: Summary = Summary {
        modes: Masked { mask: 0, value: 0 },
        tree: Masked { mask: 0, value: 0 },
        flags: 0,
        devices: DeviceSummary::NONE,
        has_objects: false,
        is_opaque: false,
    };

    /// Returns the summary of one layer.
    pub(super) fn from_layer(modes: Masked<u8>, slots: Option<&Slots>) -> Self {
        let Some(slots) = slots else { return Summary { modes, ..Summary::NONE } };
        Summary {
            modes,
            tree: slots.flags.tree,
            flags: slots.flags.named_bits(),
            devices: slots.devices.summary(),
            has_objects: slots.objects.is_some(),
            is_opaque: slots.is_opaque,
        }
    }

    /// Returns the summary of both; where both set a slot, `self` takes precedence.
    pub(super) fn over(self, below: Self) -> Self {
        let modes = self.modes.over(below.modes);
        if self.is_opaque {
            return Summary { modes, ..self };
        }
        Summary {
            modes,
            tree: self.tree.over(below.tree),
            flags: self.flags | below.flags,
            devices: self.devices.over(below.devices),
            has_objects: self.has_objects || below.has_objects,
            is_opaque: below.is_opaque,
        }
    }

    /// Returns whether any flag is set.
    pub(super) fn names_flags(self) -> bool {
        self.flags != 0 || self.tree.mask != 0
    }
}
