//! The driver once it has been started: its devices, and all that was made on them.

use interlock_core::base::fork;

use super::captures::Captures;
use super::device::CudaDevice;
use super::events::Events;
use super::graphs::Graphs;
use super::streams::Streams;
use super::waits::Superseded;
use super::whole_device::WholeDevice;
use crate::driver::DeviceIndex;
use crate::{Device, Result};

pub(super) struct Started {
    /// The fork generation of the process that started it.
    generation: u32,
    pub(super) devices: Vec<CudaDevice>,
    pub(super) streams: Streams,
    pub(super) events: Events,
    pub(super) captures: Captures,
    pub(super) graphs: Graphs,
    pub(super) superseded: Superseded,
    whole: Vec<WholeDevice>,
}

impl Started {
    pub(super) fn with_devices(count: u32) -> Result<Self> {
        let count = DeviceIndex::try_from(count).unwrap_or(DeviceIndex::MAX);
        let devices: Result<Vec<_>> = (0..count).map(CudaDevice::new).collect();
        Ok(Started {
            generation: fork::generation(),
            devices: devices?,
            streams: Streams::default(),
            events: Events::default(),
            captures: Captures::default(),
            graphs: Graphs::default(),
            superseded: Superseded::default(),
            whole: (0..count).map(|_| WholeDevice::default()).collect(),
        })
    }

    pub(super) fn is_of_this_process(&self) -> bool {
        self.generation == fork::generation()
    }

    pub(super) fn device(&self, index: DeviceIndex) -> Result<&CudaDevice> {
        self.devices.get(usize::from(index)).ok_or_else(|| Device::invalid_index(index).into())
    }

    /// A device whose context exists, and is of use if that of any is; the first if none does.
    pub(super) fn any_used_device(&self) -> Result<&CudaDevice> {
        let used = || self.devices.iter().filter(|device| device.has_context());
        let whole = used().find(|device| !device.has_failed()).or_else(|| used().next());
        whole.map_or_else(|| self.device(0), Ok)
    }

    pub(super) fn whole(&self, index: DeviceIndex) -> Result<&WholeDevice> {
        self.whole.get(usize::from(index)).ok_or_else(|| Device::invalid_index(index).into())
    }
}
