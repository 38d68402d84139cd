//! Copies between buffers on devices and memory of this process.

use interlock_driver::{Address, Copy, CopyEndpoint, Owners, capture};

use super::{DeviceBuffer, PinnedMemory};
use crate::event::Event;
use crate::stream::Stream;
use crate::{Error, EventOptions, Result};

const OPERATION: &str = "accelerator.memory.copy_";

/// Memory of this process, as an operand of a copy.
///
/// ```
/// use std::sync::Arc;
///
/// use interlock_accelerator::driver::Owners;
/// use interlock_accelerator::memory::{CopyOperand, DeviceBuffer, HostMemory, copy};
///
/// interlock_accelerator::use_named("host")?;
/// let bytes = Arc::new([1_u8; 64]);
/// // SAFETY: the copy owns the bytes, and only reads them.
/// let source = unsafe { HostMemory::new(bytes.as_ptr(), 64, Owners::until_completed(bytes)) };
/// let target = DeviceBuffer::new(None, source.bytes())?;
/// copy(&CopyOperand::Device(target), &CopyOperand::Host(source), None, true)?.synchronize()?;
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone)]
pub struct HostMemory {
    address: Address,
    bytes: usize,
    owners: Owners,
    /// Pinned memory, which keeps itself alive.
    pinned: Option<PinnedMemory>,
}

impl HostMemory {
    /// Describes `bytes` bytes that begin at `pointer`.
    ///
    /// # Safety
    /// The bytes are valid, and nothing else reads what a copy writes or writes what it reads, until the work that was
    /// queued with them has completed and no graph can repeat it, or as long as `owners` require.
    pub unsafe fn new(pointer: *const u8, bytes: usize, owners: Owners) -> Self {
        HostMemory { address: Address(pointer as u64), bytes, owners, pinned: None }
    }

    pub(super) fn pinned(memory: &PinnedMemory) -> Self {
        let (address, bytes) = (Address(memory.pointer().as_ptr() as u64), memory.bytes());
        HostMemory { address, bytes, owners: Owners::default(), pinned: Some(memory.clone()) }
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The source or the destination of a copy.
///
/// ```
/// use interlock_accelerator::memory::{CopyOperand, DeviceBuffer, copy};
///
/// interlock_accelerator::use_named("host")?;
/// let (source, target) = (DeviceBuffer::new(None, 64)?, DeviceBuffer::new(None, 64)?);
/// source.fill(1, None)?;
/// let stream = copy(&CopyOperand::Device(target), &CopyOperand::Device(source), None, false)?;
/// stream.synchronize()?;
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone)]
pub enum CopyOperand {
    /// Memory of a device.
    Device(DeviceBuffer),
    /// Memory of this process.
    Host(HostMemory),
}

impl CopyOperand {
    fn bytes(&self) -> usize {
        match self {
            CopyOperand::Device(memory) => memory.bytes(),
            CopyOperand::Host(memory) => memory.bytes,
        }
    }

    fn endpoint(&self) -> CopyEndpoint {
        match self {
            CopyOperand::Device(memory) => CopyEndpoint::Device(memory.device_index(), memory.address()),
            CopyOperand::Host(memory) => CopyEndpoint::Host(memory.address),
        }
    }

    /// Prepares the operand for a copy on a stream, with the returned owners.
    fn prepare_use(&self, stream: &Stream) -> Result<Owners> {
        match self {
            CopyOperand::Device(memory) => memory.prepare_use(stream),
            CopyOperand::Host(memory) => match &memory.pinned {
                Some(pinned) => pinned.prepare_use(stream),
                None => Ok(memory.owners.clone()),
            },
        }
    }

    /// Returns whether it is pageable memory of this process, which the driver does not know.
    fn is_pageable(&self) -> bool {
        matches!(self, CopyOperand::Host(HostMemory { pinned: None, .. }))
    }

    fn device(&self) -> Option<&DeviceBuffer> {
        match self {
            CopyOperand::Device(memory) => Some(memory),
            CopyOperand::Host(_) => None,
        }
    }
}

/// Queues a copy of all bytes from one operand to another of the same size, of which at least one is on a device.
/// Returns the stream on which it is queued: `stream`, which must be on the device of one operand, or the current
/// stream of the device.
///
/// Between two devices and without a stream, the copy is queued on the current stream of the source's device. It waits
/// for the work that is queued on the current stream of the destination's device, and later work there waits for the
/// copy.
///
/// `awaited` means that the caller will wait for the copy, which is an error while the stream is captured.
///
/// # Errors
/// Returns [`Error::Argument`] for operands that do not fit, [`Error::NoSuchDevice`] for a stream of another device,
/// [`Error::Graph`] for an `awaited` copy on a captured stream, and errors of the driver.
pub fn copy(to: &CopyOperand, from: &CopyOperand, stream: Option<&Stream>, awaited: bool) -> Result<Stream> {
    let buffers: Vec<&DeviceBuffer> = [from, to].into_iter().filter_map(CopyOperand::device).collect();
    let Some(on_device) = buffers.first() else {
        let name = format!("{OPERATION}: destination or source");
        return Err(Error::argument(name, "two objects in CPU memory", "a Buffer"));
    };
    if to.bytes() != from.bytes() {
        let given = format!("{} and {} bytes", to.bytes(), from.bytes());
        let name = format!("{OPERATION}: destination and source");
        return Err(Error::argument(name, given, "equal in size"));
    }
    let started = on_device.started();
    for buffer in &buffers {
        buffer.check_process()?;
    }
    let queued_on = on_device.stream_or(stream)?;
    if !std::ptr::eq(queued_on.started(), started) {
        return Err(Error::Forked { what: "a Stream" });
    }
    if buffers.iter().all(|buffer| buffer.device() != queued_on.device()) {
        return Err(Error::NoSuchDevice {
            name: format!("{OPERATION}: stream"),
            given: format!("a stream of {}", queued_on.device()),
            allowed: "on the device of a buffer".to_owned(),
        });
    }
    let other = match to.device() {
        Some(memory) if stream.is_none() && memory.device() != on_device.device() => {
            Some(memory.stream_or(None)?)
        }
        _ => None,
    };
    let is_pageable = [to, from].into_iter().any(CopyOperand::is_pageable);
    // A driver may block within its copy function for pageable memory, which could not be interrupted.
    let waits_before = awaited && is_pageable && !started.runtime().is_host_accessible();
    // Otherwise the driver asks when it queues the copy.
    let asks_now = awaited && (waits_before || other.is_some() || to.bytes() == 0);
    if asks_now && queued_on.is_capturing().map_err(|error| error.during(OPERATION))? {
        return Err(capture::err_awaited(OPERATION));
    }
    if to.bytes() == 0 {
        return Ok(queued_on);
    }
    other.as_ref().map_or(Ok(()), |other| queued_on.wait_stream(other))?;
    if waits_before {
        queued_on.synchronize().map_err(|error| error.during(OPERATION))?;
    }
    // Created before the copy is queued, so that an error has no effect.
    let copied = other.map(|other| {
        Ok((other, Event::of(started, Some(queued_on.device_index()), EventOptions::default()).created()?))
    });
    let copied: Option<(Stream, Event)> =
        copied.transpose().map_err(|error: Error| error.during(OPERATION))?;
    let owners = to.prepare_use(&queued_on)?.and(from.prepare_use(&queued_on)?);
    let copy = Copy { to: to.endpoint(), from: from.endpoint(), bytes: to.bytes(), owners };
    // SAFETY: the copy owns both operands, or they are not reused before it has completed.
    unsafe {
        match awaited {
            true => queued_on.copy_awaited(copy).map_err(named)?,
            false => queued_on.copy(copy)?,
        }
    }
    if let Some((other, event)) = copied
        && event.record(&queued_on).and_then(|()| event.block(&other)).is_err()
    {
        // The copy is queued: later work of the other stream is queued after its completion instead.
        queued_on.synchronize().map_err(|error| error.during(OPERATION))?;
    }
    Ok(queued_on)
}

/// Returns the error of an awaited copy that a capture refuses with the name of the caller's operation.
fn named(error: Error) -> Error {
    match error {
        Error::Graph { reason, .. } => Error::Graph { operation: OPERATION, reason },
        other => other.during(OPERATION),
    }
}
