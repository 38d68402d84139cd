//! The current device, the current streams and the default device.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use super::active::{publish_devices, with_layers};
use super::tls::with_tls;
use crate::device::{Device, DeviceIndex};

/// A stream that is stored in the state of a thread. The crate that owns the type casts it back through [`Any`].
///
/// The destructor may call a driver, so it runs while the thread's state is not borrowed.
#[doc(hidden)]
pub trait StreamSlot: Any + Debug + Send + Sync {
    /// The device of the stream.
    fn device_index(&self) -> DeviceIndex;
}

/// The device slots that a layer decides.
#[doc(hidden)]
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

    pub(super) fn name_any(&self) -> bool {
        self.device.is_some() || !self.streams.is_empty() || self.default_device.is_some()
    }

    pub(super) fn stream(&self, index: DeviceIndex) -> Option<&Arc<dyn StreamSlot>> {
        self.streams.iter().find(|stream| stream.device_index() == index)
    }

    /// Stores the stream for its device and returns the one that it replaces.
    pub(super) fn replace_stream(&mut self, stream: Arc<dyn StreamSlot>) -> Option<Arc<dyn StreamSlot>> {
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
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceSummary {
    pub(super) device: Option<DeviceIndex>,
    /// Whether any active layer decides a stream.
    pub(super) any_stream: bool,
    /// Whether any active layer decides a default device.
    pub(super) any_default_device: bool,
}

impl DeviceSummary {
    /// The summary of a thread whose layers decide no device slot.
    pub(super) const NONE: DeviceSummary =
        DeviceSummary { device: None, any_stream: false, any_default_device: false };
}

/// Returns the current device of this thread, or `None` if no layer or write has set it.
#[doc(hidden)]
#[inline]
pub fn current_device() -> Option<DeviceIndex> {
    with_tls(|current| current.devices.get().device)
}

/// Returns the current stream of a device on this thread, or `None` if no layer or write has set it.
#[doc(hidden)]
#[inline]
pub fn current_stream(index: DeviceIndex) -> Option<Arc<dyn StreamSlot>> {
    with_tls(|current| {
        if !current.devices.get().any_stream {
            return None;
        }
        current.owned.try_borrow().ok()?.state.layers.stream(index).cloned()
    })
}

/// Returns the default device for new tensors on this thread, or `None` if it is the CPU.
#[doc(hidden)]
#[inline]
pub fn default_device() -> Option<Device> {
    with_tls(|current| {
        if !current.devices.get().any_default_device {
            return None;
        }
        current.owned.try_borrow().ok()?.state.layers.default_device()
    })
}

/// Writes each slot to the innermost layer that decides it, else to the base of this thread or task.
#[doc(hidden)]
pub fn set_device_slots(devices: DeviceSlots) {
    with_layers(|current, owned| {
        if !owned.ensure_cleanup_registered() {
            return Vec::new();
        }
        let replaced = owned.state.layers.write_devices(&devices);
        publish_devices(current, owned);
        replaced
    });
}
