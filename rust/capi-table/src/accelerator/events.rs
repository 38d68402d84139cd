//! The entries for events.

use interlock::accelerator::{self, Event, EventOptions};
use interlock_capi::sys::*;

use super::devices;
use crate::arguments::{Handle, write};
use crate::entry::{Failure, run, run_infallible};
use crate::hooks::detached;

// SAFETY: `new` alone makes these handles.
unsafe impl Handle for InterlockEvent {
    type Target = Event;
}

pub(crate) unsafe extern "C" fn new(
    device: *const InterlockDevice,
    options: u32,
    event: *mut *mut InterlockEvent,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            if options & !(INTERLOCK_EVENT_TIMING | INTERLOCK_EVENT_BLOCKING) != 0 {
                let allowed = "a combination of INTERLOCK_EVENT_*";
                return Err(Failure::argument("event_new: options", allowed, options));
            }
            let options = EventOptions {
                timing: options & INTERLOCK_EVENT_TIMING != 0,
                blocking: options & INTERLOCK_EVENT_BLOCKING != 0,
                ..EventOptions::default()
            };
            let device = devices::optional_from_c("event_new", device)?;
            Handle::store("event_new: event", event, detached(|| Event::new(device, options))?)
        })
    }
}

pub(crate) unsafe extern "C" fn record(
    event: *const InterlockEvent,
    stream: *const InterlockStream,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let event = Handle::target("event_record: event", event)?;
            let stream = Handle::optional_target(stream);
            Ok(detached(|| match stream {
                Some(stream) => event.record(stream),
                None => event.record(&accelerator::current_stream(None)?),
            })?)
        })
    }
}

pub(crate) unsafe extern "C" fn query(
    event: *const InterlockEvent,
    is_done: *mut u8,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let event = Handle::target("event_query: event", event)?;
            write("event_query: is_done", is_done, u8::from(detached(|| event.query())?))
        })
    }
}

pub(crate) unsafe extern "C" fn synchronize(event: *const InterlockEvent, error: *mut InterlockError) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let event = Handle::target("event_synchronize: event", event)?;
            Ok(detached(|| event.synchronize())?)
        })
    }
}

pub(crate) unsafe extern "C" fn free(event: *mut InterlockEvent) {
    // SAFETY: the contract of the table.
    run_infallible(|| unsafe { Handle::free_detached(event) });
}
