//! Copies and fills.

use std::ffi::{c_uchar, c_void};

use interlock_driver::WaitTarget;

use crate::call::{Answer, Handle, exported};
use crate::errors::INVALID_VALUE;
use crate::fake::Fake;
use crate::operations::{End, Operation, address_of};
use crate::waiting;

/// Queues or records a copy. What comes from pageable memory has been read when this returns, and what goes there has been
/// written, unless the stream captures.
fn copy(fake: &'static Fake, to: End, from: End, bytes: usize, stream: Handle) -> Answer {
    let mut state = fake.state();
    state.current()?;
    let name = state.stream_named(stream)?;
    let bytes = bytes as u64;
    if bytes == 0 {
        return Ok(());
    }
    let (reached_to, mut reached_from) = (state.reach_end(to, bytes)?, state.reach_end(from, bytes)?);
    let apart = to.address().abs_diff(from.address());
    if apart != 0 && apart < bytes {
        return Err(INVALID_VALUE);
    }
    let found = state.stream(name)?;
    let host = found.host;
    if let Some(capture) = found.capture {
        return state.record(capture, name, Operation::Copy { to, from, bytes });
    }
    if reached_from.is_pageable {
        reached_from = state.staged(from.address(), bytes);
    }
    let waits = reached_to.is_pageable;
    state.copy(host, reached_to, reached_from, bytes)?;
    drop(state);
    if waits { waiting::wait(fake, WaitTarget::Stream(host)) } else { Ok(()) }
}

exported! {
    /// Copies from the processor to a device.
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: Handle) |fake| {
        copy(fake, End::Device(to), End::Host(address_of(from)), bytes, stream)
    }

    /// Copies from a device to the processor.
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: Handle) |fake| {
        copy(fake, End::Host(address_of(to)), End::Device(from), bytes, stream)
    }

    /// Copies within a device, or to another.
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) |fake| {
        copy(fake, End::Device(to), End::Device(from), bytes, stream)
    }

    /// Copies between whatever the addresses lie in.
    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) |fake| {
        let (to, from) = {
            let state = fake.state();
            (state.end(to), state.end(from))
        };
        copy(fake, to, from, bytes, stream)
    }

    /// Copies from the device of one context to that of another.
    fn cuMemcpyPeerAsync(to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize, stream: Handle) |fake| {
        {
            let state = fake.state();
            state.current()?;
            for (context, address) in [(to_context, to), (from_context, from)] {
                let device = state.device_of_context(context)?;
                state.check(device)?;
                if bytes > 0 && state.reach(address, bytes as u64)?.0 != device {
                    return Err(INVALID_VALUE);
                }
            }
        }
        copy(fake, End::Device(to), End::Device(from), bytes, stream)
    }

    /// Sets bytes of a device's memory.
    fn cuMemsetD8Async(address: u64, value: c_uchar, bytes: usize, stream: Handle) |fake| {
        let mut state = fake.state();
        state.current()?;
        let name = state.stream_named(stream)?;
        let fill = Operation::Fill { address, value, bytes: bytes as u64 };
        if bytes == 0 {
            return Ok(());
        }
        state.check_operation(&fill)?;
        state.queue(fake, name, fill)
    }
}
