//! The state of the fake driver. Each kind of object has its own file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::c_int;
use std::sync::Arc;

use interlock_driver::{DeviceIndex, DriverRuntime};
use interlock_host::{FaultInjector, HostDriver, HostOptions};

use crate::addresses::{Physical, Reservation};
use crate::call::{Answer, Code, Handle};
use crate::captures::Capture;
use crate::contexts::Context;
use crate::errors::{INVALID_DEVICE, UNKNOWN};
use crate::events::Event;
use crate::executables::Executable;
use crate::graphs::Graph;
use crate::pinned::Pinned;
use crate::regions::Region;
use crate::settings::Settings;
use crate::streams::Stream;

/// The objects of the fake driver by handle, and the host driver that runs their work.
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) driver: Arc<dyn DriverRuntime>,
    pub(crate) faults: FaultInjector,
    /// The primary context of each device.
    pub(crate) contexts: Vec<Context>,
    pub(crate) streams: HashMap<Handle, Stream>,
    pub(crate) events: HashMap<Handle, Event>,
    /// By id, and so in the order in which they began.
    pub(crate) captures: BTreeMap<u64, Capture>,
    pub(crate) graphs: HashMap<Handle, Graph>,
    /// The graph of each node, and the index of the node in it.
    pub(crate) nodes: HashMap<Handle, (Handle, usize)>,
    pub(crate) executables: HashMap<Handle, Executable>,
    /// Device memory by address.
    pub(crate) regions: BTreeMap<u64, Region>,
    /// Pinned memory by address.
    pub(crate) pinned: BTreeMap<u64, Pinned>,
    pub(crate) physical: HashMap<Handle, Physical>,
    pub(crate) reservations: BTreeMap<u64, Reservation>,
    last_handle: usize,
}

impl State {
    pub(crate) fn new(settings: Settings) -> interlock_driver::Result<Self> {
        let faults = FaultInjector::new();
        let count = settings.devices.len() as u32;
        // One device more has the memory of all devices, so that memory of a broken device can be freed.
        let options = HostOptions { devices: count + 1, memory: u64::MAX >> 1, faults: faults.clone() };
        let driver = HostDriver::new(options)?.start()?;
        let mut state = State {
            settings,
            driver,
            faults,
            contexts: Vec::new(),
            streams: HashMap::new(),
            events: HashMap::new(),
            captures: BTreeMap::new(),
            graphs: HashMap::new(),
            nodes: HashMap::new(),
            executables: HashMap::new(),
            regions: BTreeMap::new(),
            pinned: BTreeMap::new(),
            physical: HashMap::new(),
            reservations: BTreeMap::new(),
            // Neither a small number nor an address at which systems place memory.
            last_handle: 0x00fa_4ecd_a000,
        };
        for device in 0..count {
            let context = Context::new(&mut state, device as DeviceIndex)?;
            state.contexts.push(context);
        }
        Ok(state)
    }

    /// Returns a new handle. Handles are never reused.
    pub(crate) fn new_handle(&mut self) -> Handle {
        self.last_handle += 16;
        self.last_handle
    }

    /// Returns the device of the host driver that has the memory of all devices.
    pub(crate) fn memory_device(&self) -> DeviceIndex {
        self.settings.devices.len() as DeviceIndex
    }

    /// Returns the device of an ordinal. Fails if it is broken.
    pub(crate) fn device(&self, number: c_int) -> Answer<DeviceIndex> {
        let device = self.device_or_broken(number)?;
        self.check(device)?;
        Ok(device)
    }

    /// Returns the device of an ordinal, broken or not.
    pub(crate) fn device_or_broken(&self, number: c_int) -> Answer<DeviceIndex> {
        let known = usize::try_from(number).is_ok_and(|number| number < self.contexts.len());
        if known { Ok(number as DeviceIndex) } else { Err(INVALID_DEVICE) }
    }

    pub(crate) fn context(&self, device: DeviceIndex) -> Answer<&Context> {
        self.contexts.get(usize::from(device)).ok_or(INVALID_DEVICE)
    }

    pub(crate) fn context_mut(&mut self, device: DeviceIndex) -> Answer<&mut Context> {
        self.contexts.get_mut(usize::from(device)).ok_or(INVALID_DEVICE)
    }

    /// Fails with the code of a broken device.
    pub(crate) fn check(&self, device: DeviceIndex) -> Answer {
        self.context(device)?.broken.map_or(Ok(()), Err)
    }

    /// Returns the code for an error of the host driver: the code of a broken device, or `CUDA_ERROR_UNKNOWN`.
    pub(crate) fn code(&self, device: DeviceIndex) -> Code {
        self.check(device).err().unwrap_or(UNKNOWN)
    }

    /// Breaks a device permanently.
    pub(crate) fn break_device(&mut self, device: DeviceIndex, code: Code) -> Answer {
        self.context_mut(device)?.broken.get_or_insert(code);
        self.faults.lose_device(device, "it was broken").map_err(|_| UNKNOWN)
    }

    /// Returns all devices.
    pub(crate) fn devices(&self) -> BTreeSet<DeviceIndex> {
        (0..self.contexts.len()).map(|device| device as DeviceIndex).collect()
    }
}
