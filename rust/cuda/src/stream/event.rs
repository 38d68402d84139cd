//! Events and their records.

use std::collections::HashMap;
use std::ffi::c_char;
use std::ptr;
use std::sync::{Arc, MutexGuard};

use cudarc::driver::sys::{CUevent, CUevent_flags, CUipcEventHandle};

use interlock_core::base::mutex::Mutex;
use interlock_driver::capture::CaptureId;
use interlock_driver::{Error, EventHandle, EventOptions, Result, TimelinePoint};

use crate::device::device::{CudaDevice, DeviceOp};
use crate::sys::api;

/// An event and its last record. The driver's event is destroyed when this is dropped.
pub(crate) struct Event {
    handle: EventHandle,
    options: EventOptions,
    device: Arc<CudaDevice>,
    recorded_at: Mutex<RecordedAt>,
}

/// The point at which an event was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedAt {
    Never,
    InStream(TimelinePoint),
    InCapture(CaptureId),
    /// In another process, for an event that was imported.
    InOtherProcess,
}

impl Event {
    pub(crate) fn device(&self) -> &Arc<CudaDevice> {
        &self.device
    }

    pub(crate) fn raw(&self) -> CUevent {
        ptr::with_exposed_provenance_mut(self.handle.raw as usize)
    }

    /// Locks the last record. Held while the event is recorded or queried, so that both use one record.
    pub(crate) fn recorded_at(&self) -> MutexGuard<'_, RecordedAt> {
        self.recorded_at.lock()
    }

    /// Returns whether the work before the last record has completed.
    pub(crate) fn query(&self, op: &DeviceOp<'_>) -> Result<bool> {
        // SAFETY: the event is alive.
        op.is_ready(unsafe { api::cuEventQuery(self.raw()) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: no other thread has a reference to this object.
        self.device.destroy("destroying an Event", || unsafe { api::cuEventDestroy_v2(self.raw()) });
    }
}

/// The events of the process by handle.
#[derive(Default)]
pub(crate) struct EventTable {
    events: Mutex<HashMap<EventHandle, Arc<Event>>>,
}

impl EventTable {
    fn add(
        &self,
        device: &Arc<CudaDevice>,
        event: CUevent,
        options: EventOptions,
        at: RecordedAt,
    ) -> EventHandle {
        let handle = EventHandle { device: device.index(), raw: event.expose_provenance() as u64 };
        let event = Event { handle, options, device: device.clone(), recorded_at: Mutex::new(at) };
        self.events.lock().insert(handle, Arc::new(event));
        handle
    }

    pub(crate) fn find(&self, handle: EventHandle, operation: &'static str) -> Result<Arc<Event>> {
        self.events.lock().get(&handle).cloned().ok_or_else(|| {
            let given = format!("an event with the handle {:#x}", handle.raw);
            Error::argument(
                format!("{operation}: event"),
                given,
                "an event that was created and not destroyed",
            )
        })
    }

    pub(crate) fn remove(&self, handle: EventHandle) -> Option<Arc<Event>> {
        self.events.lock().remove(&handle)
    }

    pub(crate) fn create(&self, device: &Arc<CudaDevice>, options: EventOptions) -> Result<EventHandle> {
        if options.timing && options.interprocess {
            let allowed = format!("false for one of them on {}", device.device_id());
            return Err(Error::argument(
                "Event: EventOptions::timing and interprocess",
                "true and true",
                allowed,
            ));
        }
        let op = device.begin("Event")?;
        // SAFETY: the pointer is valid.
        let event = op.read(ptr::null_mut(), |event| unsafe { api::cuEventCreate(event, flags(options)) })?;
        Ok(self.add(device, event, options, RecordedAt::Never))
    }

    /// Returns the milliseconds between two completed events.
    ///
    /// # Errors
    /// Refuses events that were created without timing or have not completed.
    pub(crate) fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f64> {
        const OPERATION: &str = "Event.elapsed_time";
        let [start, end] = [self.find(start, OPERATION)?, self.find(end, OPERATION)?];
        let misused = |reason: &str| Error::device(start.device.device_id(), OPERATION, reason);
        if !(start.options.timing && end.options.timing) {
            return Err(misused("both events must be created with EventOptions::timing"));
        }
        let op = start.device.begin(OPERATION)?;
        for event in [&start, &end] {
            let recorded_at = event.recorded_at();
            let is_recorded = matches!(*recorded_at, RecordedAt::InStream(_) | RecordedAt::InOtherProcess);
            if !is_recorded || !event.query(&op)? {
                return Err(misused("both events must have been recorded and have completed"));
            }
        }
        // SAFETY: the pointer is valid and the events alive.
        op.read(0.0, |time| unsafe { api::cuEventElapsedTime(time, start.raw(), end.raw()) }).map(f64::from)
    }

    /// Returns the `CUipcEventHandle` with which another process imports the event.
    pub(crate) fn export(&self, handle: EventHandle) -> Result<Vec<u8>> {
        const OPERATION: &str = "Event.ipc_handle";
        let event = self.find(handle, OPERATION)?;
        let empty = CUipcEventHandle { reserved: [0; 64] };
        let op = event.device.begin(OPERATION)?;
        // SAFETY: the pointer is valid and the event alive.
        let exported = op.read(empty, |handle| unsafe { api::cuIpcGetEventHandle(handle, event.raw()) })?;
        Ok(exported.reserved.map(|byte| u8::from_ne_bytes(byte.to_ne_bytes())).to_vec())
    }

    /// Imports an event of another process.
    pub(crate) fn import(&self, device: &Arc<CudaDevice>, exported: &[u8]) -> Result<EventHandle> {
        const OPERATION: &str = "Event.from_ipc_handle";
        let bytes: [u8; 64] = exported.try_into().map_err(|_| {
            let given = format!("{} bytes", exported.len());
            Error::argument(
                format!("{OPERATION}: handle"),
                given,
                "the 64 bytes that ipc_handle returned in another process",
            )
        })?;
        // A `c_char` has no sign on ARM.
        let handle = CUipcEventHandle { reserved: bytes.map(|byte| c_char::from_ne_bytes([byte])) };
        let op = device.begin(OPERATION)?;
        // SAFETY: the pointer is valid.
        let event = op.read(ptr::null_mut(), |event| unsafe { api::cuIpcOpenEventHandle(event, handle) })?;
        let options = EventOptions { interprocess: true, ..EventOptions::default() };
        Ok(self.add(device, event, options, RecordedAt::InOtherProcess))
    }
}

fn flags(options: EventOptions) -> u32 {
    let flag = |wanted: bool, flag: CUevent_flags| if wanted { flag as u32 } else { 0 };
    flag(options.blocking, CUevent_flags::CU_EVENT_BLOCKING_SYNC)
        | flag(!options.timing, CUevent_flags::CU_EVENT_DISABLE_TIMING)
        | flag(options.interprocess, CUevent_flags::CU_EVENT_INTERPROCESS)
}
