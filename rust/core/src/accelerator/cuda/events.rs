//! Events, and what they mark.

use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUevent, CUevent_flags, CUipcEventHandle};

use super::api;
use super::device::CudaDevice;
use crate::accelerator::driver::{DeviceIndex, EventHandle, EventOptions};
use crate::{Error, Result};

pub(super) struct Event {
    pub(super) handle: EventHandle,
    pub(super) options: EventOptions,
    state: Mutex<EventState>,
}

#[derive(Clone, Copy)]
pub(super) struct EventState {
    pub(super) marked: Marked,
    /// The number of the last record: no two of a process have the same.
    pub(super) record: u64,
    /// Whether somebody may be waiting for this record.
    pub(super) is_awaited: bool,
}

/// What an event marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marked {
    Nothing,
    /// A place in the stream of this number.
    InStream {
        stream: u64,
        place: u64,
    },
    /// A place in the capture of this number.
    InCapture(u64),
    /// What another process recorded.
    Elsewhere,
}

impl Event {
    pub(super) fn pointer(&self) -> CUevent {
        ptr::with_exposed_provenance_mut(self.handle.raw as usize)
    }

    /// Locked while the event is recorded or asked, so that both are of one record.
    pub(super) fn state(&self) -> MutexGuard<'_, EventState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether what it marks has been done.
    pub(super) fn is_ready(&self, device: &CudaDevice, operation: &'static str) -> Result<bool> {
        // SAFETY: the event is alive.
        device.is_ready(operation, || unsafe { api::cuEventQuery(self.pointer()) })
    }
}

#[derive(Default)]
pub(super) struct Events {
    table: Mutex<HashMap<EventHandle, Arc<Event>>>,
    records: AtomicU64,
}

impl Events {
    fn table(&self) -> MutexGuard<'_, HashMap<EventHandle, Arc<Event>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, index: DeviceIndex, event: CUevent, options: EventOptions, marked: Marked) -> EventHandle {
        let handle = EventHandle { device: index, raw: event.expose_provenance() as u64 };
        let state = EventState { marked, record: self.next_record(), is_awaited: false };
        self.table().insert(handle, Arc::new(Event { handle, options, state: Mutex::new(state) }));
        handle
    }

    /// The number of a record.
    pub(super) fn next_record(&self) -> u64 {
        self.records.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn find(&self, handle: EventHandle, operation: &'static str) -> Result<Arc<Event>> {
        self.table().get(&handle).cloned().ok_or_else(|| Error::Argument {
            name: operation,
            given: format!("an event with the handle {:#x}", handle.raw),
            allowed: "an event that was made and not let go".to_owned(),
        })
    }

    pub(super) fn remove(&self, handle: EventHandle) -> Option<Arc<Event>> {
        self.table().remove(&handle)
    }

    pub(super) fn create(&self, device: &CudaDevice, options: EventOptions) -> Result<EventHandle> {
        if options.timing && options.interprocess {
            return Err(Error::Argument {
                name: "Event",
                given: "both timing and interprocess".to_owned(),
                allowed: format!("one of the two on {}", device.named()),
            });
        }
        let mut event = ptr::null_mut();
        // SAFETY: the pointer is valid.
        let create = || unsafe { api::cuEventCreate(&raw mut event, flags(options)) };
        device.call("Event", create)?;
        Ok(self.add(device.index, event, options, Marked::Nothing))
    }

    /// Milliseconds between two events of the device that were made with timing and reached.
    pub(super) fn elapsed(&self, device: &CudaDevice, start: EventHandle, end: EventHandle) -> Result<f64> {
        const OPERATION: &str = "Event.elapsed_time";
        let [start, end] = [self.find(start, OPERATION)?, self.find(end, OPERATION)?];
        let misused = |reason: &str| Error::Device {
            device: device.named(),
            operation: OPERATION.to_owned(),
            reason: reason.to_owned(),
            code: None,
        };
        for event in [&start, &end] {
            if !event.options.timing {
                return Err(misused("both events must be made with timing"));
            }
            let state = event.state();
            let is_recorded = matches!(state.marked, Marked::InStream { .. } | Marked::Elsewhere);
            if !is_recorded || !event.is_ready(device, OPERATION)? {
                return Err(misused("both events must be recorded and reached"));
            }
        }
        let mut milliseconds = 0.0;
        // SAFETY: the pointer is valid and the events alive.
        let ask =
            || unsafe { api::cuEventElapsedTime(&raw mut milliseconds, start.pointer(), end.pointer()) };
        device.call(OPERATION, ask)?;
        Ok(f64::from(milliseconds))
    }

    /// What another process opens the event with.
    pub(super) fn export(&self, device: &CudaDevice, handle: EventHandle) -> Result<Vec<u8>> {
        const OPERATION: &str = "Event.ipc_handle";
        let event = self.find(handle, OPERATION)?;
        let mut exported = CUipcEventHandle { reserved: [0; 64] };
        // SAFETY: the pointer is valid and the event alive.
        let export = || unsafe { api::cuIpcGetEventHandle(&raw mut exported, event.pointer()) };
        device.call(OPERATION, export)?;
        Ok(exported.reserved.map(i8::cast_unsigned).to_vec())
    }

    /// An event of another process.
    pub(super) fn import(&self, device: &CudaDevice, exported: &[u8]) -> Result<EventHandle> {
        const OPERATION: &str = "Event.from_ipc_handle";
        let bytes: [u8; 64] = exported.try_into().map_err(|_| Error::Argument {
            name: OPERATION,
            given: format!("{} bytes", exported.len()),
            allowed: "the 64 bytes that ipc_handle gave in another process".to_owned(),
        })?;
        let (mut event, handle) =
            (ptr::null_mut(), CUipcEventHandle { reserved: bytes.map(u8::cast_signed) });
        // SAFETY: the pointer is valid.
        device.call(OPERATION, || unsafe { api::cuIpcOpenEventHandle(&raw mut event, handle) })?;
        let options = EventOptions { interprocess: true, ..EventOptions::default() };
        Ok(self.add(device.index, event, options, Marked::Elsewhere))
    }
}

fn flags(options: EventOptions) -> u32 {
    let flag = |wanted: bool, flag: CUevent_flags| if wanted { flag as u32 } else { 0 };
    flag(options.blocking, CUevent_flags::CU_EVENT_BLOCKING_SYNC)
        | flag(!options.timing, CUevent_flags::CU_EVENT_DISABLE_TIMING)
        | flag(options.interprocess, CUevent_flags::CU_EVENT_INTERPROCESS)
}
