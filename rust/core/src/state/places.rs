//! Which device and which streams a layer makes current.

use crate::accelerator::driver::DeviceIndex;
use crate::accelerator::{Device, Stream};

/// What a layer decides about devices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The current device.
    pub(super) device: Option<DeviceIndex>,
    /// The current stream of some devices.
    pub(super) streams: Vec<Stream>,
    /// The device on which tensors are made that are given none; `Some(None)` is the processor.
    pub(super) default_device: Option<Option<Device>>,
}

impl Places {
    pub(crate) fn of_device(index: DeviceIndex) -> Self {
        Places { device: Some(index), ..Places::default() }
    }

    /// The stream, and its device.
    pub(crate) fn of_stream(stream: Stream) -> Self {
        Places { device: Some(stream.device_index()), streams: vec![stream], default_device: None }
    }

    pub(crate) fn of_default_device(device: Option<Device>) -> Self {
        Places { default_device: Some(device), ..Places::default() }
    }
}

std::thread_local! {
    static PLACES: std::cell::RefCell<Places> = std::cell::RefCell::default();
}

pub(crate) fn current_device() -> Option<DeviceIndex> {
    PLACES.with_borrow(|places| places.device)
}

pub(crate) fn current_stream(index: DeviceIndex) -> Option<Stream> {
    PLACES.with_borrow(|places| places.streams.iter().find(|stream| stream.device_index() == index).cloned())
}

pub(crate) fn default_device() -> Option<Device> {
    PLACES.with_borrow(|places| places.default_device).flatten()
}

pub(crate) fn write_place(places: Places) {
    PLACES.with_borrow_mut(|now| *now = places);
}
