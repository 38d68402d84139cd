//! The device slots of a layer stack.

use std::sync::Arc;

use super::super::device_slots::{DeviceSlots, DeviceSummary, StreamSlot};
use super::super::slots::Slots;
use super::LayerStack;
use crate::device::{Device, DeviceIndex};

impl LayerStack {
    pub(in crate::thread) fn stream(&self, index: DeviceIndex) -> Option<&Arc<dyn StreamSlot>> {
        self.visible().find_map(|slots| slots.devices.stream(index))
    }

    pub(in crate::thread) fn default_device(&self) -> Option<Device> {
        self.visible().find_map(|slots| slots.devices.default_device).flatten()
    }

    /// Returns whether pushing or removing a layer with these slots changes the active device slots.
    pub(in crate::thread) fn devices_depend_on(&self, slots: &Slots) -> bool {
        slots.devices.name_any() || (slots.is_opaque && self.name_devices())
    }

    /// Returns whether any layer decides a device slot.
    pub(in crate::thread) fn name_devices(&self) -> bool {
        self.all_slots().any(|slots| slots.devices.name_any())
    }

    pub(in crate::thread) fn device_summary(&self) -> DeviceSummary {
        self.visible().fold(DeviceSummary::NONE, |above, slots| DeviceSummary {
            device: above.device.or(slots.devices.device),
            any_stream: above.any_stream || !slots.devices.streams.is_empty(),
            any_default_device: above.any_default_device || slots.devices.default_device.is_some(),
        })
    }

    /// Writes each slot to the layer that decides it. Returns the streams that were replaced, for the caller to drop.
    pub(in crate::thread) fn write_devices(&mut self, written: &DeviceSlots) -> Vec<Arc<dyn StreamSlot>> {
        if let Some(index) = written.device {
            self.owning_devices_mut(|devices| devices.device.is_some()).device = Some(index);
        }
        if let Some(device) = written.default_device {
            self.owning_devices_mut(|devices| devices.default_device.is_some()).default_device = Some(device);
        }
        let put = |stream: &Arc<dyn StreamSlot>| {
            let index = stream.device_index();
            self.owning_devices_mut(|devices| devices.stream(index).is_some()).replace_stream(stream.clone())
        };
        written.streams.iter().filter_map(put).collect()
    }

    /// Returns the device slots of the innermost layer that decides a slot or is opaque, else of the base. Slots that
    /// are shared with other layers of a scope are copied first.
    fn owning_devices_mut(&mut self, decides: impl Fn(&DeviceSlots) -> bool) -> &mut DeviceSlots {
        let layers = self.list.iter_mut().rev().filter_map(|layer| layer.slots.as_mut());
        let slots = match layers.into_iter().find(|slots| slots.is_opaque || decides(&slots.devices)) {
            Some(slots) => slots,
            None => self.base.slots.get_or_insert_with(Slots::opaque),
        };
        &mut Arc::make_mut(slots).devices
    }
}
