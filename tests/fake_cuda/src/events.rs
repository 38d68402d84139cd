//! Events: places in streams, or in captures.

use std::collections::BTreeSet;
use std::ffi::{c_uint, c_void};

use cudarc::driver::sys::CUipcEventHandle;
use interlock_driver::{DeviceIndex, EventHandle, EventOptions, WaitTarget};

use crate::call::{Answer, Handle, Out, exported};
use crate::errors::{
    CAPTURE_ISOLATION, CAPTURED_EVENT, INVALID_HANDLE, INVALID_VALUE, NOT_READY, NOT_SUPPORTED,
};
use crate::state::State;

/// Bits of what an event is made with.
mod flags {
    pub(super) const BLOCKING: u32 = 1;
    pub(super) const NO_TIMING: u32 = 2;
    pub(super) const INTERPROCESS: u32 = 4;
}

pub(crate) struct Event {
    device: DeviceIndex,
    has_timing: bool,
    host: EventHandle,
    mark: Mark,
}

/// What an event marks.
#[derive(Clone)]
enum Mark {
    Nothing,
    /// What the host driver's event marks.
    InStream,
    /// What was recorded last in a capture, by places of nodes.
    InCapture(u64, BTreeSet<usize>),
}

impl State {
    fn event(&self, handle: Handle) -> Answer<&Event> {
        let event = self.events.get(&handle).ok_or(INVALID_HANDLE)?;
        self.check(event.device)?;
        Ok(event)
    }

    /// What a capture holds of an event makes the capture useless when somebody asks whether it was reached.
    fn refuse_captured(&mut self, handle: Handle) -> Answer {
        if let Mark::InCapture(capture, _) = self.event(handle)?.mark {
            self.invalidate(capture);
            return Err(CAPTURED_EVENT);
        }
        Ok(())
    }

    pub(crate) fn wait_for_event(&mut self, stream: Handle, handle: Handle) -> Answer {
        let event = self.event(handle)?;
        let (host, mark) = (event.host, event.mark.clone());
        let found = self.stream(stream)?;
        match (mark, found.capture) {
            (Mark::InCapture(capture, nodes), _) => self.join_capture(capture, stream, nodes),
            (_, Some(capture)) => {
                self.check_capture(capture)?;
                if let Mark::Nothing = self.event(handle)?.mark {
                    return Ok(());
                }
                self.invalidate(capture);
                Err(CAPTURE_ISOLATION)
            }
            (Mark::Nothing, None) => Ok(()),
            (Mark::InStream, None) => {
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
        let is_for_others = flags & flags::INTERPROCESS != 0;
        let known = flags::BLOCKING | flags::NO_TIMING | flags::INTERPROCESS;
        if flags & !known != 0 || (is_for_others && flags & flags::NO_TIMING == 0) {
            return Err(INVALID_VALUE);
        }
        let has_timing = flags & flags::NO_TIMING == 0;
        let options = EventOptions { timing: has_timing, ..EventOptions::default() };
        let host = state.driver.create_event(device, options).map_err(|_| state.code(device))?;
        let handle = state.number();
        state.events.insert(handle, Event { device, has_timing, host, mark: Mark::Nothing });
        event.put(handle)
    }

    /// Lets an event go; who waits for its last record still does.
    fn cuEventDestroy_v2(event: Handle) |fake| {
        let mut state = fake.state();
        state.current()?;
        let host = state.event(event)?.host;
        state.driver.destroy_event(host);
        state.events.remove(&event);
        Ok(())
    }

    /// Marks the place after all that is queued on a stream of the same context.
    fn cuEventRecord(event: Handle, stream: Handle) |fake| {
        let mut state = fake.state();
        state.current()?;
        let host = state.event(event)?.host;
        let name = state.stream_named(stream)?;
        let found = state.stream(name)?;
        if found.device != host.device {
            return Err(INVALID_HANDLE);
        }
        let mark = match found.capture {
            Some(capture) => {
                state.check_capture(capture)?;
                Mark::InCapture(capture, state.end_in_capture(capture, name))
            }
            None => {
                state.driver.record_event(host, found.host).map_err(|_| state.code(host.device))?;
                Mark::InStream
            }
        };
        if let Some(event) = state.events.get_mut(&event) {
            event.mark = mark;
        }
        Ok(())
    }

    /// Whether what an event marks has been reached; an event that was never recorded has.
    fn cuEventQuery(event: Handle) |fake| {
        let mut state = fake.state();
        state.refuse_captured(event)?;
        state.refuse_while_captured()?;
        let Event { host, ref mark, .. } = *state.event(event)?;
        if let Mark::Nothing = mark {
            return Ok(());
        }
        let done = state.driver.check(WaitTarget::Event(host)).map_err(|_| state.code(host.device))?;
        if done { Ok(()) } else { Err(NOT_READY) }
    }

    /// Milliseconds from one event to another.
    fn cuEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) |fake| {
        let mut state = fake.state();
        state.current()?;
        milliseconds.check()?;
        state.refuse_captured(start)?;
        state.refuse_captured(end)?;
        let (start, end) = (state.event(start)?, state.event(end)?);
        let can_be_asked = |event: &Event| event.has_timing && matches!(event.mark, Mark::InStream);
        if start.device != end.device || ![start, end].into_iter().all(can_be_asked) {
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

    /// What another process would open an event with, if that were supported.
    fn cuIpcGetEventHandle(handle: Out<c_void>, event: Handle) |fake| {
        let state = fake.state();
        state.current()?;
        handle.check()?;
        state.event(event)?;
        Err(NOT_SUPPORTED)
    }

    /// An event of another process, if that were supported.
    fn cuIpcOpenEventHandle(event: Out<Handle>, handle: CUipcEventHandle) |fake| {
        let _ = handle;
        fake.state().current()?;
        event.check()?;
        Err(NOT_SUPPORTED)
    }
}
