//! Submission of copies.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{CUresult, CUstream};

use interlock_driver::{Address, Copy, CopyEndpoint, DeviceIndex};

use crate::sys::api;
use crate::sys::context_guard::Context;

fn pointer(address: Address) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address.0 as usize)
}

/// Returns the destination and the source of a copy between two devices, `None` for other copies.
pub(crate) fn peers(copy: &Copy) -> Option<(DeviceIndex, DeviceIndex)> {
    match (copy.to, copy.from) {
        (CopyEndpoint::Device(to, _), CopyEndpoint::Device(from, _)) if to != from => Some((to, from)),
        _ => None,
    }
}

/// The contexts of the destination and the source of a copy between devices.
pub(crate) struct PeerContexts {
    pub(crate) to: Context,
    pub(crate) from: Context,
}

/// Queues a copy on a stream whose context is current. A copy between devices needs `peers`.
///
/// # Safety
/// Both endpoints are valid until the copy has completed.
pub(crate) unsafe fn copy(copy: &Copy, peers: Option<PeerContexts>, on: CUstream) -> CUresult {
    let Copy { to, from, bytes, .. } = *copy;
    // SAFETY: the caller guarantees that both endpoints are valid.
    unsafe {
        match (to, from, peers) {
            (CopyEndpoint::Device(_, to), CopyEndpoint::Host(from), _) => {
                api::cuMemcpyHtoDAsync_v2(to.0, pointer(from), bytes, on)
            }
            (CopyEndpoint::Host(to), CopyEndpoint::Device(_, from), _) => {
                api::cuMemcpyDtoHAsync_v2(pointer(to), from.0, bytes, on)
            }
            (CopyEndpoint::Host(to), CopyEndpoint::Host(from), _) => {
                api::cuMemcpyAsync(to.0, from.0, bytes, on)
            }
            (CopyEndpoint::Device(_, to), CopyEndpoint::Device(_, from), None) => {
                api::cuMemcpyDtoDAsync_v2(to.0, from.0, bytes, on)
            }
            (CopyEndpoint::Device(_, to), CopyEndpoint::Device(_, from), Some(peers)) => {
                api::cuMemcpyPeerAsync(to.0, peers.to.pointer(), from.0, peers.from.pointer(), bytes, on)
            }
        }
    }
}
