//! Devices: their memory, copy engines and loss.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::Ordering;
use std::thread;

use interlock_core::device::{Device, DeviceType};
use interlock_driver::{DeviceIndex, DeviceProperties, Error, Result};

use crate::exec::async_error::AsyncError;
use crate::exec::copy_engines::CopyEngines;
use crate::exec::fault_plan::Work;
use crate::exec::inner::Inner;
use crate::memory::heap::Heap;
use crate::object::stream::{Stream, StreamId};

pub(crate) struct DeviceState {
    /// The reason of the loss, if the device is lost.
    lost: Option<String>,
    pub(crate) engines: CopyEngines,
    pub(crate) memory: Heap,
    pub(crate) default_stream: StreamId,
    /// Unreported errors of destroyed streams, in the order in which they occurred.
    pub(crate) unreported_errors: BTreeMap<u64, AsyncError>,
}

impl DeviceState {
    pub(crate) fn new(memory: u64, default_stream: StreamId) -> Self {
        DeviceState {
            lost: None,
            engines: CopyEngines::new(),
            memory: Heap::new(memory),
            default_stream,
            unreported_errors: BTreeMap::new(),
        }
    }

    pub(crate) fn properties(&self) -> DeviceProperties {
        let cpus = thread::available_parallelism().map_or(1, NonZero::get);
        DeviceProperties {
            name: "host device".into(),
            total_memory: self.memory.total(),
            multi_processor_count: u32::try_from(cpus).unwrap_or(u32::MAX),
            extra: vec![("engines", CopyEngines::COUNT.to_string())],
        }
    }
}

/// Returns the device of an index, as messages name it.
pub(crate) fn named(index: DeviceIndex) -> Device {
    Device::with_index(DeviceType::Host, index)
}

impl Inner {
    /// Returns a device that exists and is not lost.
    pub(crate) fn device(&mut self, index: DeviceIndex, operation: &str) -> Result<&mut DeviceState> {
        self.check_not_lost(index, operation)?;
        self.devices
            .get_mut(usize::from(index))
            .ok_or_else(|| Error::from(Device::invalid_index(named(index))))
    }

    /// Returns the heap of a device, even of a lost one, or the heap of pinned memory if `index` is `None`.
    pub(crate) fn heap(&mut self, index: Option<DeviceIndex>) -> Option<&mut Heap> {
        match index {
            Some(index) => self.devices.get_mut(usize::from(index)).map(|device| &mut device.memory),
            None => Some(&mut self.pinned),
        }
    }

    /// Counts bytes of a device, or of pinned memory, as used. Returns false if fewer are free or a fault is injected.
    pub(crate) fn reserve_memory(
        &mut self,
        index: Option<DeviceIndex>,
        bytes: usize,
        operation: &str,
    ) -> Result<bool> {
        index.map_or(Ok(()), |index| self.device(index, operation).map(drop))?;
        let fired = self.faults.count(&Work::of_allocation(index));
        if let Some(device) = index
            && let Some(reason) = fired.failure().and_then(|failure| failure.loss(operation))
        {
            self.lose_device(device, &reason)?;
            return self.check_not_lost(device, operation).map(|()| false);
        }
        Ok(fired.failure().is_none() && self.heap(index).is_some_and(|heap| heap.reserve(bytes)))
    }

    pub(crate) fn is_lost(&self, index: DeviceIndex) -> bool {
        self.devices.get(usize::from(index)).is_some_and(|device| device.lost.is_some())
    }

    /// Returns [`Error::DeviceLost`] if the device is lost.
    pub(crate) fn check_not_lost(&self, index: DeviceIndex, operation: &str) -> Result<()> {
        match self.devices.get(usize::from(index)).and_then(|device| device.lost.clone()) {
            None => Ok(()),
            Some(reason) => {
                Err(Error::DeviceLost { device: named(index), operation: operation.into(), reason })
            }
        }
    }

    /// Returns an error of `operation` if the driver does not have the device.
    pub(crate) fn check_exists(&self, index: DeviceIndex, operation: &str) -> Result<()> {
        if usize::from(index) < self.devices.len() {
            return Ok(());
        }
        Err(Error::DeviceUnavailable {
            operation: operation.to_owned(),
            device: named(index),
            reason: format!("the number of devices is {}", self.devices.len()),
        })
    }

    /// Marks a device as lost permanently. Work that is queued on it fails without running, and threads that wait for
    /// it are woken. A task that is already running continues.
    pub(crate) fn lose_device(&mut self, index: DeviceIndex, reason: &str) -> Result<()> {
        self.check_exists(index, "FaultInjector.lose_device")?;
        self.mark_lost(index, reason);
        self.advance_all();
        Ok(())
    }

    /// Marks a device as lost. The next [`advance`](Inner::advance) polls all streams.
    pub(crate) fn mark_lost(&mut self, index: DeviceIndex, reason: &str) {
        let Some(device) = self.devices.get_mut(usize::from(index)) else { return };
        device.lost.get_or_insert_with(|| reason.to_owned());
        self.has_lost_device.store(true, Ordering::Release);
        for stream in self.streams.values_mut().filter(|stream| stream.device() == index) {
            stream.wake_threads();
        }
        self.streams.values_mut().for_each(Stream::cancel_runnable);
        // Streams of other devices may have queued copies from or to this device.
        self.run_queue.extend(self.streams.keys());
    }
}
