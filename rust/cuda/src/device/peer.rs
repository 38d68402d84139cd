//! Direct access of devices to each other's memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::CUdevice;

use interlock_driver::DeviceIndex;
use interlock_driver::Result;

use super::device::CudaDevice;
use crate::sys::api;
use crate::sys::error::{Code, check};

/// The devices that access the memory of a device, besides itself.
#[derive(Default)]
pub(crate) struct Peers(Mutex<BTreeMap<DeviceIndex, CUdevice>>);

impl Peers {
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<DeviceIndex, CUdevice>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether a device can access the memory of another.
pub(crate) fn can_access_peer(device: &CudaDevice, other: &CudaDevice) -> bool {
    let mut can = 0;
    // SAFETY: the pointer is valid, and both are devices of the driver.
    let queried = unsafe { api::cuDeviceCanAccessPeer(&raw mut can, device.ordinal(), other.ordinal()) };
    check(queried).is_ok() && can != 0
}

/// Lets `peer` access the memory of a device; returns false where it accesses as many devices as it can already.
pub(crate) fn enable_peer_access(
    device: &CudaDevice,
    peer: &CudaDevice,
    operation: &'static str,
) -> Result<bool> {
    let context = device.context(operation)?;
    let op = peer.begin(operation)?;
    // SAFETY: the context is retained for the rest of the process.
    match check(unsafe { api::cuCtxEnablePeerAccess(context.pointer(), 0) }) {
        Ok(()) | Err(Code::PEER_ACCESS_ALREADY_ENABLED) => Ok(true),
        Err(Code::TOO_MANY_PEERS) => Ok(false),
        Err(code) => Err(op.error(code)),
    }
}
