//! What is known of one device.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::thread;

use interlock_core::device::{Device, DeviceType};
use interlock_driver::{DeviceIndex, DeviceProperties};
use interlock_driver::{Error, Result};

use super::engines::Engines;
use super::failure::Failure;
use super::memory::Memory;
use super::state::State;
use super::stream::Head;

pub(super) struct DeviceState {
    /// Why it is gone for good, if it is.
    pub(super) lost: Option<String>,
    pub(super) engines: Engines,
    pub(super) memory: Memory,
    /// What streams failed at that are gone, in the order of their failures.
    pub(super) orphans: BTreeMap<u64, Failure>,
}

impl DeviceState {
    pub(super) fn new(memory: u64) -> Self {
        DeviceState {
            lost: None,
            engines: Engines::new(),
            memory: Memory::of(memory),
            orphans: BTreeMap::new(),
        }
    }

    pub(super) fn properties(&self) -> DeviceProperties {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        DeviceProperties {
            name: "host device".into(),
            total_memory: self.memory.total(),
            multi_processor_count: u32::try_from(processors).unwrap_or(u32::MAX),
            more: vec![("engines", Engines::COUNT.to_string())],
        }
    }
}

/// A device as messages call it.
pub(super) fn named(index: DeviceIndex) -> Device {
    Device::with_index(DeviceType::Host, index)
}

impl State {
    /// A device that is there and not lost.
    pub(super) fn device(&mut self, index: DeviceIndex, operation: &str) -> Result<&mut DeviceState> {
        self.check_not_lost(index, operation)?;
        self.devices
            .get_mut(usize::from(index))
            .ok_or_else(|| Error::from(Device::invalid_index(named(index))))
    }

    pub(super) fn is_lost(&self, index: DeviceIndex) -> bool {
        self.devices.get(usize::from(index)).is_some_and(|device| device.lost.is_some())
    }

    /// Fails with [`Error::DeviceLost`] if the device is gone.
    pub(super) fn check_not_lost(&self, index: DeviceIndex, operation: &str) -> Result<()> {
        match self.devices.get(usize::from(index)).and_then(|device| device.lost.clone()) {
            None => Ok(()),
            Some(reason) => {
                Err(Error::DeviceLost { device: named(index), operation: operation.into(), reason })
            }
        }
    }

    /// The device is gone for good: nothing of what is queued there runs any more, and whoever waits for it is
    /// woken. A function that runs already goes on.
    pub(super) fn lose_device(&mut self, index: DeviceIndex, reason: &str) -> Result<()> {
        let Some(device) = self.devices.get_mut(usize::from(index)) else {
            return Err(Error::NoSuchDevice {
                name: "Faults.lose_device".to_owned(),
                given: named(index).to_string(),
                allowed: format!("one of the {} devices of the driver", self.devices.len()),
            });
        };
        device.lost.get_or_insert_with(|| reason.to_owned());
        for stream in self.streams.values_mut().filter(|stream| stream.device == index) {
            stream.wake_threads();
        }
        for stream in self.streams.values_mut().filter(|stream| stream.head == Head::Ready) {
            stream.head = Head::Fresh;
        }
        // All streams: those of other devices may be about to copy from or to this one.
        self.settle_all();
        Ok(())
    }
}
