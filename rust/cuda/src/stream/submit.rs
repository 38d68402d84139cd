//! Submission of copies and host functions.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{CUresult, CUstream};

use interlock_driver::{Address, Copy, CopyEndpoint, HostFn, Result};

use super::host_fn::{self, ErrorSink, HostFnCall};
use super::stream::Stream;
use super::stream_semaphore::Semaphore;
use crate::device::device::DeviceOp;
use crate::sys::api;
use crate::sys::context_guard::Context;
use crate::sys::error::check;

fn pointer(address: Address) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address.0 as usize)
}

/// Returns whether both endpoints of a copy are on one device.
pub(crate) fn is_within_device(copy: &Copy) -> bool {
    matches!((copy.to, copy.from), (CopyEndpoint::Device(to, _), CopyEndpoint::Device(from, _)) if to == from)
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

/// Queues a host function and, if it has a semaphore, the stream's wait for it. The caller keeps the returned call
/// alive until the function has returned for the last time.
pub(crate) fn host_fn(
    op: &DeviceOp<'_>,
    stream: &Stream,
    errors: ErrorSink,
    semaphore: Option<Arc<Semaphore>>,
    function: HostFn,
) -> Result<Arc<HostFnCall>> {
    let call = Arc::new(HostFnCall::new(function, op.device().device_id(), errors, semaphore.clone()));
    stream.submit(op, |on| {
        // SAFETY: the caller keeps the call alive until the function has returned for the last time.
        let queued = unsafe { api::cuLaunchHostFunc(on, Some(host_fn::call), call.data()) };
        let (Some(semaphore), Ok(())) = (semaphore, check(queued)) else { return queued };
        let wait = semaphore.enqueue_wait(on);
        if check(wait).is_err() {
            // Leaked: the function is queued, and its completion can't be detected.
            std::mem::forget(call.clone());
        }
        wait
    })?;
    Ok(call)
}
