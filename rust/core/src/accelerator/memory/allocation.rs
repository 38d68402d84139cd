//! Memory of a device that somebody uses.

use std::sync::Arc;

use super::super::Device;
use super::super::driver::{Address, DeviceIndex, Keeper};
use super::super::in_use::Accelerator;
use super::super::stream::Stream;
use crate::Result;

/// Memory of a device, free again when it is dropped.
#[derive(Debug)]
pub(super) struct Allocation {
    home: &'static Accelerator,
    device: DeviceIndex,
    /// Of no bytes: nowhere.
    address: Address,
    bytes: usize,
}

impl Allocation {
    pub(super) fn new(stream: &Stream, bytes: usize) -> Result<Self> {
        let (home, device) = (stream.home(), stream.device_index());
        let address = match bytes {
            0 => Address(0),
            _ => home.driver_for("the accelerator")?.allocate(device, bytes)?,
        };
        Ok(Allocation { home, device, address, bytes })
    }

    pub(super) fn home(&self) -> &'static Accelerator {
        self.home
    }

    pub(super) fn device_index(&self) -> DeviceIndex {
        self.device
    }

    pub(super) fn device(&self) -> Device {
        self.home.device(self.device)
    }

    /// The address of the first byte.
    pub(super) fn address(&self) -> Address {
        self.address
    }

    pub(super) fn record_stream(&self, stream: &Stream) -> Result<()> {
        self.home.driver_for("a Buffer")?;
        let _ = stream;
        Ok(())
    }

    /// What work on a stream has to own that uses the memory.
    pub(super) fn keeper_on(self: &Arc<Self>, stream: &Stream) -> Result<Keeper> {
        let _ = stream;
        Ok(self.clone())
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // A child can't reach the memory of its parent; it is left alone.
        if self.bytes != 0
            && let Ok(driver) = self.home.driver_for("a Buffer")
        {
            // SAFETY: the driver gave it for this device and size, and whatever uses it keeps it alive. A device
            // that is lost refuses, and then there is nothing to give back.
            let _ = unsafe { driver.release(self.device, self.address, self.bytes) };
        }
    }
}
