//! Copies and fills, and devices that reach each other's memory.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{CUresult, CUstream};

use super::api;
use super::device::CudaDevice;
use super::errors::{Code, check};
use super::runtime::CudaRuntime;
use crate::Result;
use crate::accelerator::driver::{Address, Copy, CopyEndpoint, Fill};

pub(super) const COPY: &str = "a copy";
pub(super) const FILL: &str = "a fill";

fn pointer(address: Address) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address.0 as usize)
}

/// Whether both ends of a copy are on one device.
pub(super) fn stays_on_its_device(copy: &Copy) -> bool {
    matches!((copy.to, copy.from), (CopyEndpoint::Device(there, _), CopyEndpoint::Device(here, _)) if there == here)
}

impl CudaRuntime {
    /// Queues a copy on a stream, whose context is current.
    ///
    /// # Safety
    /// Both ends are valid until the copy is done.
    pub(super) unsafe fn queue_copy(&self, copy: &Copy, on: CUstream) -> Result<CUresult> {
        let Copy { to, from, bytes, .. } = *copy;
        // SAFETY: as the caller vouches.
        Ok(unsafe {
            match (to, from) {
                (CopyEndpoint::Device(_, to), CopyEndpoint::Host(from)) => {
                    api::cuMemcpyHtoDAsync_v2(to.0, pointer(from), bytes, on)
                }
                (CopyEndpoint::Host(to), CopyEndpoint::Device(_, from)) => {
                    api::cuMemcpyDtoHAsync_v2(pointer(to), from.0, bytes, on)
                }
                (CopyEndpoint::Host(to), CopyEndpoint::Host(from)) => {
                    api::cuMemcpyAsync(to.0, from.0, bytes, on)
                }
                (CopyEndpoint::Device(there, to), CopyEndpoint::Device(here, from)) if there == here => {
                    api::cuMemcpyDtoDAsync_v2(to.0, from.0, bytes, on)
                }
                (CopyEndpoint::Device(there, to), CopyEndpoint::Device(here, from)) => {
                    let (there, here) = (self.device(there)?, self.device(here)?);
                    introduce(here, there)?;
                    let (to_context, from_context) = (there.context(COPY)?, here.context(COPY)?);
                    api::cuMemcpyPeerAsync(
                        to.0,
                        to_context.pointer(),
                        from.0,
                        from_context.pointer(),
                        bytes,
                        on,
                    )
                }
            }
        })
    }

    /// Queues a fill on a stream, whose context is current.
    ///
    /// # Safety
    /// The bytes are valid until the fill is done.
    pub(super) unsafe fn queue_fill(&self, fill: &Fill, on: CUstream) -> CUresult {
        // SAFETY: as the caller vouches.
        unsafe { api::cuMemsetD8Async(fill.address.0, fill.value, fill.bytes, on) }
    }
}

/// Lets two devices reach each other's memory, the first time that something is copied between them. Where they can't,
/// the driver copies through the processor's memory.
fn introduce(here: &CudaDevice, there: &CudaDevice) -> Result<()> {
    for (device, peer) in [(here, there), (there, here)] {
        let mut peers = device.reached_by();
        if !peers.contains(&peer.index) && reaches(peer, device) && let_reach(device, peer)? {
            peers.insert(peer.index);
        }
    }
    Ok(())
}

/// Whether a device can reach the memory of another.
fn reaches(device: &CudaDevice, other: &CudaDevice) -> bool {
    let mut reaches = 0;
    // SAFETY: the pointer is valid, and both are devices of the driver.
    let asked = unsafe { api::cuDeviceCanAccessPeer(&raw mut reaches, device.ordinal, other.ordinal) };
    check(asked).is_ok() && reaches != 0
}

/// Lets a peer reach what memory a device has and will have; false where the peer reaches as many already as it can.
fn let_reach(device: &CudaDevice, peer: &CudaDevice) -> Result<bool> {
    let context = device.context(COPY)?;
    let enabled = {
        let _bound = peer.bind(COPY)?;
        // SAFETY: the context is retained for the rest of the process.
        check(unsafe { api::cuCtxEnablePeerAccess(context.pointer(), 0) })
    };
    match enabled {
        Ok(()) | Err(Code::PEER_ACCESS_ALREADY_ENABLED) => {}
        Err(Code::TOO_MANY_PEERS) => return Ok(false),
        Err(code) => return Err(peer.error(COPY, code)),
    }
    let _bound = device.bind(COPY)?;
    device.check(COPY, device.let_reach_addresses(peer)).map(|()| true)
}
