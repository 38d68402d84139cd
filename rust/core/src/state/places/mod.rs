//! Which device and which streams are current: what a layer decides about that, and what is in force.

#[cfg(test)]
mod tests;

use super::current::with_current;
use super::thread::{publish_places, with_layers};
use crate::accelerator::driver::DeviceIndex;
use crate::accelerator::{Device, Stream};

/// The places that a layer decides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The current device.
    pub(super) device: Option<DeviceIndex>,
    /// The current streams of some devices, one of each.
    pub(super) streams: Vec<Stream>,
    /// The device on which tensors are made that are given none; `Some(None)` is the processor.
    pub(super) default_device: Option<Option<Device>>,
}

impl Places {
    /// A device that is current.
    pub(crate) fn of_device(index: DeviceIndex) -> Self {
        Places { device: Some(index), ..Places::default() }
    }

    /// A stream that is current on its device, and that device.
    pub(crate) fn of_stream(stream: Stream) -> Self {
        Places { device: Some(stream.device_index()), streams: vec![stream], default_device: None }
    }

    /// The device on which tensors are made that are given none; `None` is the processor.
    pub(crate) fn of_default_device(device: Option<Device>) -> Self {
        Places { default_device: Some(device), ..Places::default() }
    }

    pub(super) fn name_any(&self) -> bool {
        self.device.is_some() || !self.streams.is_empty() || self.default_device.is_some()
    }

    pub(super) fn stream(&self, index: DeviceIndex) -> Option<&Stream> {
        self.streams.iter().find(|stream| stream.device_index() == index)
    }

    /// Names the stream for its device, and returns the one that was named before.
    pub(super) fn put_stream(&mut self, stream: Stream) -> Option<Stream> {
        match self.streams.iter_mut().find(|old| old.device_index() == stream.device_index()) {
            Some(old) => Some(std::mem::replace(old, stream)),
            None => {
                self.streams.push(stream);
                None
            }
        }
    }

    /// Takes in what `below` names and this does not.
    pub(super) fn add_below(&mut self, below: &Places) {
        let new = |stream: &&Stream| self.stream(stream.device_index()).is_none();
        let streams: Vec<_> = below.streams.iter().filter(new).cloned().collect();
        self.device = self.device.or(below.device);
        self.streams.extend(streams);
        self.default_device = self.default_device.or(below.default_device);
    }
}

/// What is in force of the places, as far as it can be read without looking at the layers. Small, because it lies
/// among what every guard reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceSummary {
    pub(super) device: Option<DeviceIndex>,
    /// Whether any layer in force names a stream.
    pub(super) any_stream: bool,
    /// Whether any names a default device.
    pub(super) any_default_device: bool,
}

impl PlaceSummary {
    /// That of a thread whose layers name no place.
    pub(super) const NONE: PlaceSummary =
        PlaceSummary { device: None, any_stream: false, any_default_device: false };
}

/// The device that layers or a write made current on this thread.
#[inline]
pub(crate) fn current_device() -> Option<DeviceIndex> {
    with_current(|current| current.places.get().device)
}

/// The stream that layers or a write made current on this thread for a device.
#[inline]
pub(crate) fn current_stream(index: DeviceIndex) -> Option<Stream> {
    with_current(|current| {
        if !current.places.get().any_stream {
            return None;
        }
        current.owned.try_borrow().ok()?.state.layers.stream(index).cloned()
    })
}

/// The device that layers or a write chose on this thread for tensors that are given none.
#[inline]
pub(crate) fn default_device() -> Option<Device> {
    with_current(|current| {
        if !current.places.get().any_default_device {
            return None;
        }
        current.owned.try_borrow().ok()?.state.layers.default_device()
    })
}

/// Writes each place where the innermost layer decides it, else to what this thread or task starts from.
pub(crate) fn write_place(places: Places) {
    with_layers(|current, owned| {
        if !owned.is_looked_after() {
            return Vec::new();
        }
        let replaced = owned.state.layers.write_places(&places);
        publish_places(current, owned);
        replaced
    });
}
