//! The slots of a layer besides its mode bits.

use std::any::Any;
use std::sync::Arc;

use super::{DeviceSlots, FlagSlots};

/// Flags and device slots of a layer. Shared by all layers that a scope pushes; a write to one of them copies it first.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Slots {
    pub(crate) flags: FlagSlots,
    pub(super) devices: DeviceSlots,
    /// The recording of calls; `dispatch` knows its type.
    pub(super) recording: Option<Arc<dyn Any + Send + Sync>>,
    /// The hooks of saved tensors; `autograd` of `interlock-tensor` knows their type.
    pub(super) saved_tensor_hooks: Option<Arc<dyn Any + Send + Sync>>,
    /// Whether the layers below have no effect. Slots that an opaque layer does not name have their values without
    /// scopes. A write to a device slot that it does not name changes this layer; a write to a flag changes the
    /// process.
    pub(super) is_opaque: bool,
}

impl Slots {
    #[inline]
    pub(crate) fn of_flags(flags: FlagSlots) -> Arc<Self> {
        Arc::new(Slots { flags, ..Slots::default() })
    }

    /// Returns slots that decide only device slots.
    pub fn of_devices(devices: DeviceSlots) -> Arc<Self> {
        Arc::new(Slots { devices, ..Slots::default() })
    }

    /// Returns slots that decide only the recording of calls.
    pub(crate) fn of_recording(recording: Arc<dyn Any + Send + Sync>) -> Arc<Self> {
        Arc::new(Slots { recording: Some(recording), ..Slots::default() })
    }

    /// Returns slots that decide only the hooks of saved tensors.
    pub(crate) fn of_saved_tensor_hooks(hooks: Arc<dyn Any + Send + Sync>) -> Arc<Self> {
        Arc::new(Slots { saved_tensor_hooks: Some(hooks), ..Slots::default() })
    }

    /// Returns opaque slots that name nothing.
    pub(super) fn opaque() -> Arc<Self> {
        Arc::new(Slots { is_opaque: true, ..Slots::default() })
    }

    /// Adds the slots that `below` names and `self` does not.
    pub(super) fn fill_from(&mut self, below: &Slots) {
        self.flags.fill_from(&below.flags);
        self.devices.fill_from(&below.devices);
        if self.recording.is_none() {
            self.recording.clone_from(&below.recording);
        }
        if self.saved_tensor_hooks.is_none() {
            self.saved_tensor_hooks.clone_from(&below.saved_tensor_hooks);
        }
    }
}
