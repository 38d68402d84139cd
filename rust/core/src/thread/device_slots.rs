//! The current device, the current streams and the default device.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::device::{Device, DeviceIndex};

/// A stream that is stored in the state of a thread. The crate that owns the type casts it back through [`Any`].
///
/// The destructor may call a driver, so it runs while the thread's state is not borrowed.
pub trait StreamSlot: Any + Debug + Send + Sync {
    /// The device of the stream.
    fn device_index(&self) -> DeviceIndex;
}

/// The device slots that a layer decides.
#[derive(Clone, Debug, Default)]
pub struct DeviceSlots {
    /// The current device.
    pub(super) device: Option<DeviceIndex>,
    /// The current streams, at most one for each device.
    pub(super) streams: Vec<Arc<dyn StreamSlot>>,
    /// The default device for new tensors; `Some(None)` is the CPU.
    pub(super) default_device: Option<Option<Device>>,
}

impl DeviceSlots {
    /// Decides the current device.
    pub fn of_device(index: DeviceIndex) -> Self {
        DeviceSlots { device: Some(index), ..DeviceSlots::default() }
    }

    /// Decides the current stream of its device, and that device as the current one.
    pub fn of_stream(stream: Arc<dyn StreamSlot>) -> Self {
        DeviceSlots { device: Some(stream.device_index()), streams: vec![stream], default_device: None }
    }

    /// Decides the default device for new tensors; `None` is the CPU.
    pub fn of_default_device(device: Option<Device>) -> Self {
        DeviceSlots { default_device: Some(device), ..DeviceSlots::default() }
    }

    pub(super) fn summary(&self) -> DeviceSummary {
        DeviceSummary {
            device: self.device,
            any_stream: !self.streams.is_empty(),
            any_default_device: self.default_device.is_some(),
        }
    }

    pub(super) fn stream(&self, index: DeviceIndex) -> Option<&Arc<dyn StreamSlot>> {
        self.streams.iter().find(|stream| stream.device_index() == index)
    }

    /// Splits the slots into values of one slot each.
    pub(super) fn pieces(&self) -> impl Iterator<Item = DeviceSlots> {
        let device = self.device.map(DeviceSlots::of_device);
        let default_device = self.default_device.map(DeviceSlots::of_default_device);
        let one_stream = |stream: &Arc<dyn StreamSlot>| DeviceSlots {
            streams: vec![stream.clone()],
            ..DeviceSlots::default()
        };
        device.into_iter().chain(default_device).chain(self.streams.iter().map(one_stream))
    }

    /// Returns whether every slot of `other` is set.
    pub(super) fn names_all_of(&self, other: &DeviceSlots) -> bool {
        (other.device.is_none() || self.device.is_some())
            && (other.default_device.is_none() || self.default_device.is_some())
            && other.streams.iter().all(|stream| self.stream(stream.device_index()).is_some())
    }

    /// Stores the slots of `new`, which sets at most one stream, and returns the stream that it replaces.
    pub(super) fn put(&mut self, new: DeviceSlots) -> Option<Arc<dyn StreamSlot>> {
        self.device = new.device.or(self.device);
        self.default_device = new.default_device.or(self.default_device);
        let stream = new.streams.into_iter().next()?;
        match self.streams.iter_mut().find(|old| old.device_index() == stream.device_index()) {
            Some(old) => Some(std::mem::replace(old, stream)),
            None => {
                self.streams.push(stream);
                None
            }
        }
    }

    /// Adds the slots that `below` decides and `self` does not.
    pub(super) fn fill_from(&mut self, below: &DeviceSlots) {
        let is_new = |stream: &&Arc<dyn StreamSlot>| self.stream(stream.device_index()).is_none();
        let streams: Vec<_> = below.streams.iter().filter(is_new).cloned().collect();
        self.device = self.device.or(below.device);
        self.streams.extend(streams);
        self.default_device = self.default_device.or(below.default_device);
    }
}

/// The active device slots, as far as they can be read without the layers. Small, because it is stored next to the
/// cells that every guard reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DeviceSummary {
    pub(super) device: Option<DeviceIndex>,
    /// Whether a layer sets a stream.
    pub(super) any_stream: bool,
    /// Whether a layer sets a default device.
    pub(super) any_default_device: bool,
}

impl DeviceSummary {
    /// The summary of a thread whose layers decide no device slot.
    pub(super) const NONE: DeviceSummary =
        DeviceSummary { device: None, any_stream: false, any_default_device: false };

    /// Returns the summary of both; where both set a slot, `self` takes precedence.
    pub(super) fn over(self, below: Self) -> Self {
        DeviceSummary {
            device: self.device.or(below.device),
            any_stream: self.any_stream || below.any_stream,
            any_default_device: self.any_default_device || below.any_default_device,
        }
    }
}
