//! Copies and fills.

use std::ffi::{c_uchar, c_void};

use interlock_driver::WaitTarget;

use crate::call::{Answer, Handle, exported};
use crate::errors::INVALID_VALUE;
use crate::fake::Fake;
use crate::operations::{Operand, Operation, address_of};
use crate::waiting;

/// Queues or records a copy. Unless the stream captures, pageable source memory has been read when this returns, and
/// pageable destination memory has been written.
fn copy(fake: &'static Fake, to: Operand, from: Operand, bytes: usize, stream: Handle) -> Answer {
    let mut state = fake.state();
    state.current()?;
    let name = state.stream_named(stream)?;
    let bytes = bytes as u64;
    if bytes == 0 {
        return Ok(());
    }
    let (resolved_to, mut resolved_from) = (state.resolve(to, bytes)?, state.resolve(from, bytes)?);
    let distance = to.address().abs_diff(from.address());
    if distance != 0 && distance < bytes {
        return Err(INVALID_VALUE);
    }
    let found = state.stream(name)?;
    let host = found.host;
    if let Some(capture) = found.capture {
        return state.record(capture, name, Operation::Copy { to, from, bytes });
    }
    if resolved_from.is_pageable {
        resolved_from = state.staged(from.address(), bytes);
    }
    let waits = resolved_to.is_pageable;
    state.copy(host, resolved_to, resolved_from, bytes)?;
    drop(state);
    if waits { waiting::wait(fake, WaitTarget::Stream(host)) } else { Ok(()) }
}

exported! {
    /// Copies from host memory to a device.
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: Handle) |fake| {
        copy(fake, Operand::Device(to), Operand::Host(address_of(from)), bytes, stream)
    }

    /// Copies from a device to host memory.
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: Handle) |fake| {
        copy(fake, Operand::Host(address_of(to)), Operand::Device(from), bytes, stream)
    }

    /// Copies within a device or between devices.
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) |fake| {
        copy(fake, Operand::Device(to), Operand::Device(from), bytes, stream)
    }

    /// Copies between addresses of any kind of memory.
    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) |fake| {
        let (to, from) = {
            let state = fake.state();
            (state.operand(to), state.operand(from))
        };
        copy(fake, to, from, bytes, stream)
    }

    /// Copies between the devices of two contexts.
    fn cuMemcpyPeerAsync(to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize, stream: Handle) |fake| {
        {
            let state = fake.state();
            state.current()?;
            for (context, address) in [(to_context, to), (from_context, from)] {
                let device = state.device_of_context(context)?;
                state.check(device)?;
                if bytes > 0 && state.owners(address, bytes as u64)?.0 != device {
                    return Err(INVALID_VALUE);
                }
            }
        }
        copy(fake, Operand::Device(to), Operand::Device(from), bytes, stream)
    }

    /// Sets bytes of device memory.
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
