//! A pool of events that signal points on timelines.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{CUevent, CUevent_flags, CUresult, CUstream};

use interlock_core::base::mutex::Mutex;
use interlock_driver::Result;

use crate::device::device::DeviceOp;
use crate::sys::api;

/// The free events of a device, which are never destroyed.
#[derive(Default)]
pub(crate) struct EventPool(Mutex<Vec<u64>>);

/// An event that returns to its pool when it is dropped. The drop makes no driver call, and streams that wait for the
/// event still do.
pub(crate) struct PooledEvent {
    event: u64,
    pool: Arc<EventPool>,
}

impl PooledEvent {
    /// Returns an event of the device of `op` that is not recorded.
    pub(crate) fn acquire(pool: &Arc<EventPool>, op: &DeviceOp<'_>) -> Result<Self> {
        let free = pool.0.lock().pop();
        if let Some(event) = free {
            return Ok(PooledEvent { event, pool: pool.clone() });
        }
        let _relaxed = op.relax();
        // With blocking synchronization, a thread that waits for the event sleeps.
        let flags =
            CUevent_flags::CU_EVENT_DISABLE_TIMING as u32 | CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32;
        // SAFETY: the pointer is valid.
        let event = op.read(ptr::null_mut(), |event| unsafe { api::cuEventCreate(event, flags) })?;
        Ok(PooledEvent { event: event.expose_provenance() as u64, pool: pool.clone() })
    }

    fn raw(&self) -> CUevent {
        ptr::with_exposed_provenance_mut(self.event as usize)
    }

    /// Records the event after all work that is queued on a stream of its device.
    pub(crate) fn record(&self, on: CUstream) -> CUresult {
        // SAFETY: the event is never destroyed, and the caller's stream is alive.
        unsafe { api::cuEventRecord(self.raw(), on) }
    }

    /// Makes work that is queued on a stream from now on wait for the last record.
    pub(crate) fn enqueue_wait(&self, on: CUstream) -> CUresult {
        // SAFETY: the event is never destroyed, and the caller's stream is alive.
        unsafe { api::cuStreamWaitEvent(on, self.raw(), 0) }
    }

    /// Calls `cuEventSynchronize`, which blocks until the work before the last record has completed.
    pub(crate) fn synchronize(&self) -> CUresult {
        // SAFETY: the event is never destroyed.
        unsafe { api::cuEventSynchronize(self.raw()) }
    }

    /// Calls `cuEventQuery`.
    pub(crate) fn query(&self) -> CUresult {
        // SAFETY: the event is alive.
        unsafe { api::cuEventQuery(self.raw()) }
    }
}

impl Drop for PooledEvent {
    fn drop(&mut self) {
        self.pool.0.lock().push(self.event);
    }
}
