//! Events that mark places for the driver itself, used again and again.

use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{CUevent, CUevent_flags, CUresult, CUstream};

use super::api;
use super::device::CudaDevice;
use crate::Result;

/// The events of a device that nobody needs now. They last as long as the process.
#[derive(Default)]
pub(super) struct SpareEvents(Mutex<Vec<u64>>);

/// An event of a device, which is spare again when this is dropped. That calls nobody: who waits for what the event
/// marks has it from the driver.
pub(super) struct PooledEvent {
    event: u64,
    spare: Arc<SpareEvents>,
}

impl PooledEvent {
    /// One that is recorded behind all that is queued on a stream of the device, whose context is current.
    pub(super) fn recorded(device: &CudaDevice, operation: &'static str, stream: CUstream) -> Result<Self> {
        let event = Self::taken(device, operation)?;
        // SAFETY: the event and the stream are of this device and alive.
        device.check(operation, unsafe { api::cuEventRecord(event.pointer(), stream) })?;
        Ok(event)
    }

    fn taken(device: &CudaDevice, operation: &'static str) -> Result<Self> {
        let spare = device.spare_events.clone();
        let kept = spare.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(event) = kept {
            return Ok(PooledEvent { event, spare });
        }
        let (mut event, flags) = (ptr::null_mut(), CUevent_flags::CU_EVENT_DISABLE_TIMING as u32);
        // SAFETY: the pointer is valid.
        device.check(operation, unsafe { api::cuEventCreate(&raw mut event, flags) })?;
        Ok(PooledEvent { event: event.expose_provenance() as u64, spare })
    }

    pub(super) fn pointer(&self) -> CUevent {
        ptr::with_exposed_provenance_mut(self.event as usize)
    }

    /// Whether what it marks has been done.
    pub(super) fn query(&self) -> CUresult {
        // SAFETY: the event is alive.
        unsafe { api::cuEventQuery(self.pointer()) }
    }
}

impl Drop for PooledEvent {
    fn drop(&mut self) {
        self.spare.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.event);
    }
}
