//! The current device, the current streams, the memory pools of allocations and the default device.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::device::{Device, DeviceIndex};

/// An object of a device that is stored in the state of a thread: a stream or a memory pool. The crate that owns the
/// type casts it back through [`Any`].
///
/// The destructor may call a driver, so it runs while the thread's state is not borrowed.
pub trait DeviceObject: Any + Debug + Send + Sync {
    /// The device of the object.
    fn device_index(&self) -> DeviceIndex;
}

/// At most one object for each device.
#[derive(Clone, Debug, Default)]
pub(super) struct PerDevice(Vec<Arc<dyn DeviceObject>>);

impl PerDevice {
    fn of(object: Arc<dyn DeviceObject>) -> Self {
        PerDevice(vec![object])
    }

    pub(super) fn get(&self, index: DeviceIndex) -> Option<&Arc<dyn DeviceObject>> {
        self.0.iter().find(|object| object.device_index() == index)
    }

    pub(super) fn as_slice(&self) -> &[Arc<dyn DeviceObject>] {
        &self.0
    }

    /// Stores an object, and returns the one that it replaces.
    fn put(&mut self, new: Arc<dyn DeviceObject>) -> Option<Arc<dyn DeviceObject>> {
        match self.0.iter_mut().find(|old| old.device_index() == new.device_index()) {
            Some(old) => Some(std::mem::replace(old, new)),
            None => {
                self.0.push(new);
                None
            }
        }
    }

    /// Adds the objects of the devices for which `self` has none.
    fn fill_from(&mut self, below: &PerDevice) {
        let is_new = |object: &&Arc<dyn DeviceObject>| self.get(object.device_index()).is_none();
        let new: Vec<_> = below.0.iter().filter(is_new).cloned().collect();
        self.0.extend(new);
    }
}

/// The device slots that a layer sets.
#[derive(Clone, Debug, Default)]
pub struct DeviceSlots {
    /// The current device.
    pub(super) device: Option<DeviceIndex>,
    /// The current streams.
    pub(super) streams: PerDevice,
    /// The memory pools that allocations use. Only scopes set them.
    pub(super) mem_pools: PerDevice,
    /// The default device for new tensors; `Some(None)` is the CPU.
    pub(super) default_device: Option<Option<Device>>,
}

impl DeviceSlots {
    /// Sets the current device.
    pub fn from_device(index: DeviceIndex) -> Self {
        DeviceSlots { device: Some(index), ..DeviceSlots::default() }
    }

    /// Sets the current stream of its device, and that device as the current one.
    pub fn from_stream(stream: Arc<dyn DeviceObject>) -> Self {
        let device = Some(stream.device_index());
        DeviceSlots { device, streams: PerDevice::of(stream), ..DeviceSlots::default() }
    }

    /// Sets the memory pool that allocations on its device use.
    pub fn from_mem_pool(pool: Arc<dyn DeviceObject>) -> Self {
        DeviceSlots { mem_pools: PerDevice::of(pool), ..DeviceSlots::default() }
    }

    /// Sets the default device for new tensors; `None` is the CPU.
    pub fn from_default_device(device: Option<Device>) -> Self {
        DeviceSlots { default_device: Some(device), ..DeviceSlots::default() }
    }

    pub(super) fn summary(&self) -> DeviceSummary {
        DeviceSummary {
            device: self.device,
            any_stream: !self.streams.0.is_empty(),
            any_mem_pool: !self.mem_pools.0.is_empty(),
            any_default_device: self.default_device.is_some(),
        }
    }

    /// Splits the slots that may be written without a scope into values of one slot each.
    pub(super) fn pieces(&self) -> impl Iterator<Item = DeviceSlots> {
        let device = self.device.map(DeviceSlots::from_device);
        let default_device = self.default_device.map(DeviceSlots::from_default_device);
        let one_stream = |stream: &Arc<dyn DeviceObject>| DeviceSlots {
            streams: PerDevice::of(stream.clone()),
            ..DeviceSlots::default()
        };
        device.into_iter().chain(default_device).chain(self.streams.0.iter().map(one_stream))
    }

    /// Returns whether every slot of a [piece](DeviceSlots::pieces) is set.
    pub(super) fn names_all_of(&self, piece: &DeviceSlots) -> bool {
        (piece.device.is_none() || self.device.is_some())
            && (piece.default_device.is_none() || self.default_device.is_some())
            && piece.streams.0.iter().all(|stream| self.streams.get(stream.device_index()).is_some())
    }

    /// Stores a [piece](DeviceSlots::pieces), and returns the stream that it replaces.
    pub(super) fn put(&mut self, piece: DeviceSlots) -> Option<Arc<dyn DeviceObject>> {
        self.device = piece.device.or(self.device);
        self.default_device = piece.default_device.or(self.default_device);
        let stream = piece.streams.0.into_iter().next()?;
        self.streams.put(stream)
    }

    /// Adds the slots that `below` sets and `self` does not.
    pub(super) fn fill_from(&mut self, below: &DeviceSlots) {
        self.device = self.device.or(below.device);
        self.streams.fill_from(&below.streams);
        self.mem_pools.fill_from(&below.mem_pools);
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
    /// Whether a layer sets a memory pool.
    pub(super) any_mem_pool: bool,
    /// Whether a layer sets a default device.
    pub(super) any_default_device: bool,
}

impl DeviceSummary {
    /// The summary of a thread whose layers set no device slot.
    pub(super) const NONE: DeviceSummary =
        DeviceSummary { device: None, any_stream: false, any_mem_pool: false, any_default_device: false };

    /// Returns the summary of both; where both set a slot, `self` takes precedence.
    pub(super) fn over(self, below: Self) -> Self {
        DeviceSummary {
            device: self.device.or(below.device),
            any_stream: self.any_stream || below.any_stream,
            any_mem_pool: self.any_mem_pool || below.any_mem_pool,
            any_default_device: self.any_default_device || below.any_default_device,
        }
    }
}
