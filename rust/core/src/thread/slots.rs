//! What a layer decides besides mode bits.

use std::sync::Arc;

use super::{DeviceSlots, FlagSlots};

/// Shared by all layers that a scope pushes, until a write lands in one of them.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Slots {
    pub(crate) flags: FlagSlots,
    pub(super) devices: DeviceSlots,
    /// Whether what is not named here is as it is without any scope, whatever lies below this layer. A write
    /// to a place that is not named lands here, too; one to a flag goes to the process.
    pub(super) is_opaque: bool,
}

impl Slots {
    #[inline]
    pub(crate) fn of_flags(flags: FlagSlots) -> Arc<Self> {
        Arc::new(Slots { flags, ..Slots::default() })
    }

    /// Slots that decide the device slots alone.
    pub fn of_devices(devices: DeviceSlots) -> Arc<Self> {
        Arc::new(Slots { devices, ..Slots::default() })
    }

    /// Nothing is named, and nothing below is looked at.
    pub(super) fn opaque() -> Arc<Self> {
        Arc::new(Slots { is_opaque: true, ..Slots::default() })
    }

    /// Takes in what `below` names and this does not.
    pub(super) fn fill_from(&mut self, below: &Slots) {
        self.flags.fill_from(&below.flags);
        self.devices.fill_from(&below.devices);
    }
}
