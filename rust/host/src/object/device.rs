//! What is known of one device.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::thread;

use interlock_core::device::{Device, DeviceType};
use interlock_driver::{DeviceIndex, DeviceProperties, Error, Result};

use crate::exec::async_error::AsyncError;
use crate::exec::copy_engines::CopyEngines;
use crate::exec::inner::Inner;
use crate::memory::heap::Heap;
use crate::object::stream::{HeadState, StreamId};

pub(crate) struct DeviceState {
    /// Why it is gone for good, if it is.
    pub(crate) lost: Option<String>,
    pub(crate) engines: CopyEngines,
    pub(crate) memory: Heap,
    /// The stream that it has from the start.
    pub(crate) default_stream: StreamId,
    /// What streams failed at that are gone, in the order of their failures.
    pub(crate) unreported_errors: BTreeMap<u64, AsyncError>,
}

impl DeviceState {
    pub(crate) fn new(memory: u64, default_stream: StreamId) -> Self {
        DeviceState {
            lost: None,
            engines: CopyEngines::new(),
            memory: Heap::of(memory),
            default_stream,
            unreported_errors: BTreeMap::new(),
        }
    }

    pub(crate) fn properties(&self) -> DeviceProperties {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        DeviceProperties {
            name: "host device".into(),
            total_memory: self.memory.total(),
            multi_processor_count: u32::try_from(processors).unwrap_or(u32::MAX),
            extra: vec![("engines", CopyEngines::COUNT.to_string())],
        }
    }
}

/// A device as messages call it.
pub(crate) fn named(index: DeviceIndex) -> Device {
    Device::with_index(DeviceType::Host, index)
}

impl Inner {
    /// A device that is there and not lost.
    pub(crate) fn device(&mut self, index: DeviceIndex, operation: &str) -> Result<&mut DeviceState> {
        self.check_not_lost(index, operation)?;
        self.devices
            .get_mut(usize::from(index))
            .ok_or_else(|| Error::from(Device::invalid_index(named(index))))
    }

    /// Returns the heap of a device, whether it is lost or not, or that of pinned memory.
    pub(crate) fn heap(&mut self, index: Option<DeviceIndex>) -> Option<&mut Heap> {
        match index {
            Some(index) => self.devices.get_mut(usize::from(index)).map(|device| &mut device.memory),
            None => Some(&mut self.pinned),
        }
    }

    /// Counts bytes of a device, or of pinned memory, as used. Returns false if fewer are left, or if this allocation is
    /// to fail.
    pub(crate) fn reserve_memory(
        &mut self,
        index: Option<DeviceIndex>,
        bytes: usize,
        operation: &str,
    ) -> Result<bool> {
        index.map_or(Ok(()), |index| self.device(index, operation).map(drop))?;
        let fails = self.faults.allocation_fails(index.is_none());
        Ok(!fails && self.heap(index).is_some_and(|heap| heap.reserve(bytes)))
    }

    pub(crate) fn is_lost(&self, index: DeviceIndex) -> bool {
        self.devices.get(usize::from(index)).is_some_and(|device| device.lost.is_some())
    }

    /// Fails with [`Error::DeviceLost`] if the device is gone.
    pub(crate) fn check_not_lost(&self, index: DeviceIndex, operation: &str) -> Result<()> {
        match self.devices.get(usize::from(index)).and_then(|device| device.lost.clone()) {
            None => Ok(()),
            Some(reason) => {
                Err(Error::DeviceLost { device: named(index), operation: operation.into(), reason })
            }
        }
    }

    /// The device is gone for good: nothing of what is queued there runs any more, and whoever waits for it is
    /// woken. A function that runs already goes on.
    pub(crate) fn lose_device(&mut self, index: DeviceIndex, reason: &str) -> Result<()> {
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
        for stream in self.streams.values_mut().filter(|stream| stream.head == HeadState::Runnable) {
            stream.head = HeadState::Unpolled;
        }
        // All streams: those of other devices may be about to copy from or to this one.
        self.advance_all();
        Ok(())
    }
}
