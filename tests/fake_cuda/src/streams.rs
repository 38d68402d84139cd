//! Streams.
//!
//! All streams behave as if they were created with `CU_STREAM_NON_BLOCKING`: they do not synchronize with the default
//! stream. The tests do not need blocking streams.

use std::ffi::{c_int, c_uint};
use std::ops::RangeInclusive;

use interlock_driver::{DeviceIndex, StreamHandle, WaitTarget};

use crate::call::{Answer, Handle, Out, exported};
use crate::errors::{INVALID_HANDLE, INVALID_VALUE, NOT_READY, NOT_SUPPORTED};
use crate::state::State;
use crate::waiting;

/// The two handles of the default stream: null and `CU_STREAM_LEGACY`.
const LEGACY: RangeInclusive<Handle> = 0..=1;

/// `CU_STREAM_PER_THREAD`: the default stream of each thread.
const PER_THREAD: Handle = 2;

/// The priorities of streams, the greatest first.
pub(crate) const PRIORITIES: RangeInclusive<c_int> = -5..=0;

/// A stream and its stream of the host driver.
pub(crate) struct Stream {
    pub(crate) device: DeviceIndex,
    pub(crate) host: StreamHandle,
    pub(crate) priority: c_int,
    pub(crate) is_default: bool,
    /// The capture that it is part of.
    pub(crate) capture: Option<u64>,
}

/// Returns the priority for the host driver, whose range is smaller.
pub(crate) fn host_priority(priority: c_int) -> c_int {
    priority.clamp(-3, 0)
}

impl State {
    /// Returns the key of a stream in the table: its handle, or the default stream of the current context's device.
    /// Fails if its device is broken.
    pub(crate) fn stream_named(&self, handle: Handle) -> Answer<Handle> {
        let name = match handle {
            PER_THREAD => return Err(NOT_SUPPORTED),
            handle if LEGACY.contains(&handle) => self.context(self.current()?)?.default_stream,
            handle if self.contexts.iter().any(|context| context.default_stream == handle) => {
                return Err(INVALID_HANDLE);
            }
            handle => handle,
        };
        self.check(self.stream(name)?.device)?;
        Ok(name)
    }

    /// Returns the stream of a key.
    pub(crate) fn stream(&self, name: Handle) -> Answer<&Stream> {
        self.streams.get(&name).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn stream_mut(&mut self, name: Handle) -> Answer<&mut Stream> {
        self.streams.get_mut(&name).ok_or(INVALID_HANDLE)
    }
}

exported! {
    /// Creates a stream of the current context. Clamps the priority to the range.
    fn cuStreamCreateWithPriority(stream: Out<Handle>, flags: c_uint, priority: c_int) |fake| {
        let mut state = fake.state();
        let device = state.current()?;
        stream.check()?;
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        let priority = priority.clamp(*PRIORITIES.start(), *PRIORITIES.end());
        let created = state.driver.create_stream(device, host_priority(priority));
        let host = created.map_err(|_| state.code(device))?;
        let handle = state.new_handle();
        state.streams.insert(handle, Stream { device, host, priority, is_default: false, capture: None });
        stream.put(handle)
    }

    /// Destroys a stream. Queued work still runs, and a capture of the stream is invalidated.
    fn cuStreamDestroy_v2(stream: Handle) |fake| {
        let mut state = fake.state();
        state.current()?;
        let name = state.stream_named(stream)?;
        let found = state.stream(name)?;
        if found.is_default {
            return Err(INVALID_HANDLE);
        }
        let host = found.host;
        state.leave_capture(name);
        state.streams.remove(&name);
        state.driver.destroy_stream(host);
        Ok(())
    }

    /// Returns whether all queued work of a stream has completed.
    fn cuStreamQuery(stream: Handle) |fake| {
        let mut state = fake.state();
        state.current()?;
        let name = state.stream_named(stream)?;
        state.refuse_on_capturing(name)?;
        state.refuse_while_captured()?;
        let Stream { device, host, .. } = *state.stream(name)?;
        let done = state.driver.check(WaitTarget::Stream(host)).map_err(|_| state.code(device))?;
        if done { Ok(()) } else { Err(NOT_READY) }
    }

    /// Waits for all queued work of a stream.
    fn cuStreamSynchronize(stream: Handle) |fake| {
        let host = {
            let mut state = fake.state();
            state.current()?;
            let name = state.stream_named(stream)?;
            state.refuse_on_capturing(name)?;
            state.refuse_while_captured()?;
            state.stream(name)?.host
        };
        waiting::wait(fake, WaitTarget::Stream(host))
    }

    /// Makes later work of a stream wait for the last record of an event.
    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) |fake| {
        let mut state = fake.state();
        state.current()?;
        let name = state.stream_named(stream)?;
        match flags {
            0 => state.wait_for_event(name, event),
            // `CU_EVENT_WAIT_EXTERNAL`.
            1 => Err(NOT_SUPPORTED),
            _ => Err(INVALID_VALUE),
        }
    }

    /// Returns the context of a stream.
    fn cuStreamGetCtx(stream: Handle, context: Out<Handle>) |fake| {
        let state = fake.state();
        state.current()?;
        let device = state.stream(state.stream_named(stream)?)?.device;
        context.put(state.context(device)?.handle)
    }
}
