//! Events, which are recorded on streams or in captures.

use std::collections::BTreeSet;
use std::ffi::{c_uint, c_void};

use cudarc::driver::sys::CUipcEventHandle;
use interlock_driver::{DeviceIndex, EventHandle, EventOptions, WaitTarget};

use crate::call::{Answer, Handle, Out, exported};
use crate::errors::{
    CAPTURE_ISOLATION, CAPTURED_EVENT, INVALID_HANDLE, INVALID_VALUE, NOT_READY, NOT_SUPPORTED,
};
use crate::state::State;
use crate::waiting;

/// Bits of `CUevent_flags`.
mod flags {
    pub(super) const BLOCKING: u32 = 1;
    pub(super) const NO_TIMING: u32 = 2;
    pub(super) const INTERPROCESS: u32 = 4;
}

/// An event and its event of the host driver.
pub(crate) struct Event {
    device: DeviceIndex,
    has_timing: bool,
    host: EventHandle,
    recorded_at: RecordedAt,
}

/// The point at which an event was last recorded.
#[derive(Clone)]
enum RecordedAt {
    Never,
    /// Recorded with the event of the host driver.
    InStream,
    /// The capture, and its nodes that the event comes after.
    InCapture(u64, BTreeSet<usize>),
}

impl State {
    fn event(&self, handle: Handle) -> Answer<&Event> {
        let event = self.events.get(&handle).ok_or(INVALID_HANDLE)?;
        self.check(event.device)?;
        Ok(event)
    }

    /// Fails for an event of a capture, which is then invalidated: captured events can't be queried.
    fn refuse_captured(&mut self, handle: Handle) -> Answer {
        if let RecordedAt::InCapture(capture, _) = self.event(handle)?.recorded_at {
            self.invalidate(capture);
            return Err(CAPTURED_EVENT);
        }
        Ok(())
    }

    pub(crate) fn wait_for_event(&mut self, stream: Handle, handle: Handle) -> Answer {
        let event = self.event(handle)?;
        let (host, recorded_at) = (event.host, event.recorded_at.clone());
        let found = self.stream(stream)?;
        match (recorded_at, found.capture) {
            (RecordedAt::InCapture(capture, nodes), _) => self.join_capture(capture, stream, nodes),
            (_, Some(capture)) => {
                self.check_capture(capture)?;
                if let RecordedAt::Never = self.event(handle)?.recorded_at {
                    return Ok(());
                }
                self.invalidate(capture);
                Err(CAPTURE_ISOLATION)
            }
            (RecordedAt::Never, None) => Ok(()),
            (RecordedAt::InStream, None) => {
                self.driver.wait_event(found.host, host).map_err(|_| self.code(found.device))
            }
        }
    }
}

exported! {
    /// A new event of the current context, recorded nowhere.
    fn cuEventCreate(event: Out<Handle>, flags: c_uint) |fake| {
        let mut state = fake.state();
        let device = state.current()?;
        event.check()?;
        let is_interprocess = flags & flags::INTERPROCESS != 0;
        let known = flags::BLOCKING | flags::NO_TIMING | flags::INTERPROCESS;
        if flags & !known != 0 || (is_interprocess && flags & flags::NO_TIMING == 0) {
            return Err(INVALID_VALUE);
        }
        let has_timing = flags & flags::NO_TIMING == 0;
        let options = EventOptions { timing: has_timing, ..EventOptions::default() };
        let host = state.driver.create_event(device, options).map_err(|_| state.code(device))?;
        let handle = state.new_handle();
        state.events.insert(handle, Event { device, has_timing, host, recorded_at: RecordedAt::Never });
        event.put(handle)
    }

    /// Destroys an event. Waits for its last record are not affected.
    fn cuEventDestroy_v2(event: Handle) |fake| {
        let mut state = fake.state();
        state.current()?;
        let host = state.event(event)?.host;
        state.driver.destroy_event(host);
        state.events.remove(&event);
        Ok(())
    }

    /// Records an event on a stream of its context.
    fn cuEventRecord(event: Handle, stream: Handle) |fake| {
        let mut state = fake.state();
        state.current()?;
        let host = state.event(event)?.host;
        let name = state.stream_named(stream)?;
        let found = state.stream(name)?;
        if found.device != host.device {
            return Err(INVALID_HANDLE);
        }
        let recorded_at = match found.capture {
            Some(capture) => {
                state.check_capture(capture)?;
                RecordedAt::InCapture(capture, state.end_in_capture(capture, name))
            }
            None => {
                state.driver.record_event(host, found.host).map_err(|_| state.code(host.device))?;
                RecordedAt::InStream
            }
        };
        if let Some(event) = state.events.get_mut(&event) {
            event.recorded_at = recorded_at;
        }
        Ok(())
    }

    /// Returns whether an event has completed; true for an event that was never recorded.
    fn cuEventQuery(event: Handle) |fake| {
        let mut state = fake.state();
        state.refuse_captured(event)?;
        state.refuse_while_captured()?;
        let Event { host, ref recorded_at, .. } = *state.event(event)?;
        if let RecordedAt::Never = recorded_at {
            return Ok(());
        }
        let done = state.driver.check(WaitTarget::Event(host)).map_err(|_| state.code(host.device))?;
        if done { Ok(()) } else { Err(NOT_READY) }
    }

    /// Waits until an event has completed.
    fn cuEventSynchronize(event: Handle) |fake| {
        let host = {
            let mut state = fake.state();
            state.refuse_captured(event)?;
            state.refuse_while_captured()?;
            let Event { host, ref recorded_at, .. } = *state.event(event)?;
            if let RecordedAt::Never = recorded_at {
                return Ok(());
            }
            host
        };
        waiting::wait(fake, WaitTarget::Event(host))
    }

    /// Returns the milliseconds between two events.
    fn cuEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) |fake| {
        let mut state = fake.state();
        state.current()?;
        milliseconds.check()?;
        state.refuse_captured(start)?;
        state.refuse_captured(end)?;
        let (start, end) = (state.event(start)?, state.event(end)?);
        let is_timed = |event: &Event| event.has_timing && matches!(event.recorded_at, RecordedAt::InStream);
        if start.device != end.device || ![start, end].into_iter().all(is_timed) {
            return Err(INVALID_HANDLE);
        }
        for event in [start, end] {
            let done = state.driver.has_completed(event.host).map_err(|_| state.code(event.device))?;
            if !done {
                return Err(NOT_READY);
            }
        }
        let elapsed = state.driver.elapsed(start.host, end.host).map_err(|_| state.code(start.device))?;
        milliseconds.put(elapsed as f32)
    }

    /// Exports an event to other processes; not supported.
    fn cuIpcGetEventHandle(handle: Out<c_void>, event: Handle) |fake| {
        let state = fake.state();
        state.current()?;
        handle.check()?;
        state.event(event)?;
        Err(NOT_SUPPORTED)
    }

    /// Imports an event of another process; not supported.
    fn cuIpcOpenEventHandle(event: Out<Handle>, handle: CUipcEventHandle) |fake| {
        let _ = handle;
        fake.state().current()?;
        event.check()?;
        Err(NOT_SUPPORTED)
    }
}
