//! What layers decide about places.

use std::sync::Arc;

use super::super::places::{PlaceSummary, Places};
use super::super::slots::Slots;
use super::Layers;
use crate::accelerator::driver::DeviceIndex;
use crate::accelerator::{Device, Stream};

impl Layers {
    pub(in crate::state) fn stream(&self, index: DeviceIndex) -> Option<&Stream> {
        self.in_sight().find_map(|slots| slots.places.stream(index))
    }

    pub(in crate::state) fn default_device(&self) -> Option<Device> {
        self.in_sight().find_map(|slots| slots.places.default_device).flatten()
    }

    /// Whether what places have in force depends on a layer with these slots, which comes or has gone.
    pub(in crate::state) fn places_depend_on(&self, slots: &Slots) -> bool {
        slots.places.name_any() || (slots.hides_below && self.name_places())
    }

    /// Whether any layer names places.
    pub(in crate::state) fn name_places(&self) -> bool {
        self.all_slots().any(|slots| slots.places.name_any())
    }

    pub(in crate::state) fn place_summary(&self) -> PlaceSummary {
        self.in_sight().fold(PlaceSummary::NONE, |above, slots| PlaceSummary {
            device: above.device.or(slots.places.device),
            any_stream: above.any_stream || !slots.places.streams.is_empty(),
            any_default_device: above.any_default_device || slots.places.default_device.is_some(),
        })
    }

    /// Writes each place where it is decided. Returns the streams that were there, for the caller to drop.
    pub(in crate::state) fn write_places(&mut self, written: &Places) -> Vec<Stream> {
        if let Some(index) = written.device {
            self.deciding_places_mut(|places| places.device.is_some()).device = Some(index);
        }
        if let Some(device) = written.default_device {
            self.deciding_places_mut(|places| places.default_device.is_some()).default_device = Some(device);
        }
        let put = |stream: &Stream| {
            let index = stream.device_index();
            self.deciding_places_mut(|places| places.stream(index).is_some()).put_stream(stream.clone())
        };
        written.streams.iter().filter_map(put).collect()
    }

    /// The innermost layer that names a place or hides who does, else the base. Other layers of the same scope
    /// keep what they have.
    fn deciding_places_mut(&mut self, name: impl Fn(&Places) -> bool) -> &mut Places {
        let layers = self.list.iter_mut().rev().filter_map(|layer| layer.slots.as_mut());
        let slots = match layers.into_iter().find(|slots| slots.hides_below || name(&slots.places)) {
            Some(slots) => slots,
            None => self.base.slots.get_or_insert_with(Slots::hiding),
        };
        &mut Arc::make_mut(slots).places
    }
}
