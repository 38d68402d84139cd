//! Peer access: direct access of a device to the memory of another.

use interlock_driver::Result;

use super::device::CudaDevice;
use crate::sys::api;
use crate::sys::error::{Code, check, read};

/// Returns whether `device` can access the memory of `other`.
pub(crate) fn can_access_peer(device: &CudaDevice, other: &CudaDevice) -> bool {
    // SAFETY: the pointer is valid, and both are devices of the driver.
    let can = read(0, |can| unsafe { api::cuDeviceCanAccessPeer(can, device.ordinal(), other.ordinal()) });
    can.is_ok_and(|can| can != 0)
}

/// Enables access of `peer` to the memory of `device`. Returns false if the hardware supports no more peers.
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
