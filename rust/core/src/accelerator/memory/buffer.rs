//! Bytes on a device, and what streams do with them.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use super::super::driver::{Address, Copy, CopyEndpoint, DeviceIndex, Fill, KeepAlive};
use super::super::in_use::Accelerator;
use super::super::stream::Stream;
use super::super::{Device, EventOptions, Waiting, current, event::Event};
use super::PinnedMemory;
use super::allocation::Allocation;
use crate::{Error, Result};

/// Bytes on a device, allocated for a stream. Clones and slices are of the same memory, which is free again once the
/// last of them has gone. Work that was queued by then is done before others get it: that of the stream because what
/// is allocated for it later is used later, that of others because they are [recorded](DeviceMemory::record_stream).
#[derive(Clone, Debug)]
pub struct DeviceMemory {
    allocation: Arc<Allocation>,
    offset: usize,
    bytes: usize,
}

/// Memory of this program, as one end of a copy.
#[derive(Clone)]
pub struct HostMemory {
    address: Address,
    bytes: usize,
    owner: HostOwner,
}

#[derive(Clone)]
enum HostOwner {
    Kept(Option<KeepAlive>),
    Pinned(PinnedMemory),
}

impl HostMemory {
    /// `bytes` bytes from `pointer` on.
    ///
    /// # Safety
    /// They are valid, and nobody else reads what a copy writes or writes what it reads, until `keep_alive` is dropped,
    /// or without one until what was queued with them has completed.
    pub unsafe fn new(pointer: *const u8, bytes: usize, keep_alive: Option<KeepAlive>) -> Self {
        HostMemory { address: Address(pointer as u64), bytes, owner: HostOwner::Kept(keep_alive) }
    }

    pub(super) fn pinned(memory: &PinnedMemory) -> Self {
        let (address, bytes) = (Address(memory.pointer().as_ptr() as u64), memory.bytes());
        HostMemory { address, bytes, owner: HostOwner::Pinned(memory.clone()) }
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// One end of a copy.
#[derive(Clone)]
pub enum End {
    /// On a device.
    Device(DeviceMemory),
    /// In this program.
    Host(HostMemory),
}

impl DeviceMemory {
    /// `bytes` bytes on a device for its current stream, not initialised; no device is the current one. Fails with
    /// [`Error::OutOfMemory`].
    pub fn new(device: Option<Device>, bytes: usize) -> Result<Self> {
        let (home, index) = current::resolve(device, "accelerator.memory.Buffer")?;
        Self::on(&current::stream_on(home, index)?, bytes)
    }

    /// `bytes` bytes for a stream, on its device, not initialised. Fails with [`Error::OutOfMemory`].
    pub fn on(stream: &Stream, bytes: usize) -> Result<Self> {
        Ok(DeviceMemory { allocation: Arc::new(Allocation::new(stream, bytes)?), offset: 0, bytes })
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where they are.
    pub fn device(&self) -> Device {
        self.allocation.device()
    }

    /// The address of the first, in the device's own counting; 0 where there are none.
    pub fn address(&self) -> Address {
        if self.bytes == 0 { Address(0) } else { Address(self.allocation.address().0 + self.offset as u64) }
    }

    /// The same address for the processor, where it reaches the memory of the device. Nothing that is queued may use
    /// the bytes meanwhile.
    pub fn pointer(&self) -> Option<NonNull<u8>> {
        let address = self.allocation.home().is_host_accessible().then(|| self.address().0 as usize)?;
        NonNull::new(std::ptr::with_exposed_provenance_mut(address))
    }

    /// Whether the processor reads and writes the memory of the device where it lies.
    pub fn is_reached_by_processor(&self) -> bool {
        self.allocation.home().is_host_accessible()
    }

    /// A part of the bytes. Fails with [`Error::Argument`] for a range that does not lie within.
    pub fn slice(&self, range: Range<usize>) -> Result<Self> {
        if range.start > range.end || range.end > self.bytes {
            return Err(Error::Argument {
                name: "accelerator.memory.Buffer.slice",
                given: format!("{} to {}", range.start, range.end),
                allowed: format!("a range within the {} bytes", self.bytes),
            });
        }
        let (offset, bytes) = (self.offset + range.start, range.end - range.start);
        Ok(DeviceMemory { allocation: self.allocation.clone(), offset, bytes })
    }

    /// Work on `stream` uses the bytes: once they are free, nobody gets them before what is queued there by then has
    /// been done. For the stream that they were allocated for this does nothing.
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        self.allocation.record_stream(stream)
    }

    /// Records that work which is queued on `stream` next uses the bytes, and returns what that work has to own, if
    /// anything. While the stream captures that is the memory itself, because a replay uses it again, unless it comes
    /// from the pool of the same capture.
    pub fn prepare_use(&self, stream: &Stream) -> Result<Option<KeepAlive>> {
        self.record_stream(stream)?;
        self.allocation.keep_alive_for(stream)
    }

    /// The stream that they were allocated for; `None` once that has gone.
    pub fn stream(&self) -> Result<Option<Stream>> {
        self.allocation.stream()
    }

    /// The streams whose work may use the bytes, as far as they are alive: the one that they were allocated for, the
    /// current one of the device, and those that were [recorded](DeviceMemory::record_stream).
    pub fn streams(&self) -> Result<Vec<Stream>> {
        let mut streams = self.allocation.used_on()?;
        for stream in self.stream()?.into_iter().chain([self.stream_or(None)?]) {
            if !streams.contains(&stream) {
                streams.push(stream);
            }
        }
        Ok(streams)
    }

    /// Begins to wait until all has been done that is queued now and may use the bytes.
    pub fn waiting(&self) -> Result<Vec<Waiting>> {
        match self.stream()? {
            Some(_) => self.streams()?.iter().map(Stream::waiting).collect(),
            // What a stream has queued that is gone can be awaited only with all that the device has.
            None => {
                let others = self.allocation.used_on()?;
                let elsewhere = others.iter().filter(|other| other.device() != self.device());
                std::iter::once(current::waiting(Some(self.device())))
                    .chain(elsewhere.map(Stream::waiting))
                    .collect()
            }
        }
    }

    /// Sets every byte to `value`, in the order of `stream` or else of the current stream of the device. Returns
    /// at once.
    pub fn fill(&self, value: u8, stream: Option<&Stream>) -> Result<()> {
        self.home().driver_for("a Buffer")?;
        let stream = self.stream_or(stream)?;
        if stream.device() != self.device() {
            return Err(Error::NoSuchDevice {
                name: "accelerator.memory.fill_".to_owned(),
                given: format!("a stream of {}", stream.device()),
                allowed: format!("a stream of the buffer's device, {}", self.device()),
            });
        }
        if self.bytes() == 0 {
            return Ok(());
        }
        let keep_alive = self.prepare_use(&stream)?;
        // SAFETY: the bytes are on the device of the stream, and are freed in its order or owned by the fill.
        unsafe { stream.fill(Fill { address: self.address(), bytes: self.bytes, value, keep_alive }) }
    }

    fn home(&self) -> &'static Accelerator {
        self.allocation.home()
    }

    fn device_index(&self) -> DeviceIndex {
        self.allocation.device_index()
    }

    fn stream_or(&self, stream: Option<&Stream>) -> Result<Stream> {
        let current = || current::stream_on(self.home(), self.device_index());
        stream.map_or_else(current, |stream| Ok(stream.clone()))
    }
}

impl End {
    fn bytes(&self) -> usize {
        match self {
            End::Device(memory) => memory.bytes(),
            End::Host(memory) => memory.bytes,
        }
    }

    fn place(&self) -> CopyEndpoint {
        match self {
            End::Device(memory) => CopyEndpoint::Device(memory.device_index(), memory.address()),
            End::Host(memory) => CopyEndpoint::Host(memory.address),
        }
    }

    /// What a copy on a stream has to own.
    fn prepare_use(&self, stream: &Stream) -> Result<Option<KeepAlive>> {
        match self {
            End::Device(memory) => memory.prepare_use(stream),
            End::Host(HostMemory { owner: HostOwner::Kept(keep_alive), .. }) => Ok(keep_alive.clone()),
            End::Host(HostMemory { owner: HostOwner::Pinned(memory), .. }) => memory.prepare_use(stream),
        }
    }

    /// Whether it is memory of this program that the driver does not know.
    fn is_pageable(&self) -> bool {
        matches!(self, End::Host(HostMemory { owner: HostOwner::Kept(_), .. }))
    }

    fn device(&self) -> Option<&DeviceMemory> {
        match self {
            End::Device(memory) => Some(memory),
            End::Host(_) => None,
        }
    }
}

/// Copies all bytes of one end to the other, of which at least one is on a device and which have equally many.
/// Returns at once, with the stream in whose order the copy is: `stream`, which must be of the device of one end, or
/// the current one of the device.
///
/// Between two devices and without a stream it is the current stream of the source's. It waits for what the
/// current stream of the destination's has queued, and what is queued there later waits for the copy.
///
/// `awaited` says that the caller will wait for the copy: that is refused where the stream records a graph.
pub fn copy(to: &End, from: &End, stream: Option<&Stream>, awaited: bool) -> Result<Stream> {
    const OPERATION: &str = "accelerator.memory.copy_";
    let Some(on_device) = from.device().or(to.device()) else {
        return Err(Error::Argument {
            name: OPERATION,
            given: "memory of this program twice".to_owned(),
            allowed: "a buffer on a device as source, destination or both".to_owned(),
        });
    };
    if to.bytes() != from.bytes() {
        return Err(Error::Argument {
            name: OPERATION,
            given: format!("{} bytes to be copied to {}", from.bytes(), to.bytes()),
            allowed: "a source and a destination of one size".to_owned(),
        });
    }
    let home = on_device.home();
    for end in [to, from].into_iter().filter_map(End::device) {
        end.home().driver_for("a Buffer")?;
    }
    let queued_on = on_device.stream_or(stream)?;
    if !std::ptr::eq(queued_on.home(), home) {
        return Err(Error::Forked { what: "a Stream" });
    }
    let on_either =
        [to, from].into_iter().filter_map(End::device).any(|end| end.device() == queued_on.device());
    if !on_either {
        return Err(Error::NoSuchDevice {
            name: OPERATION.to_owned(),
            given: format!("a stream of {}", queued_on.device()),
            allowed: "a stream of the device of a buffer".to_owned(),
        });
    }
    if awaited && queued_on.is_capturing().map_err(|error| error.during(OPERATION))? {
        let reason = "a copy that is recorded into a graph can't be waited for; make it non_blocking";
        return Err(Error::Graph { operation: OPERATION, reason: reason.to_owned() });
    }
    if to.bytes() == 0 {
        return Ok(queued_on);
    }
    let other = match to.device() {
        Some(memory) if stream.is_none() && memory.device() != on_device.device() => {
            Some(memory.stream_or(None)?)
        }
        _ => None,
    };
    other.as_ref().map_or(Ok(()), |other| queued_on.wait_stream(other))?;
    if awaited && !home.is_host_accessible() && [to, from].into_iter().any(End::is_pageable) {
        // A driver may wait within its copy function for such memory, and nobody could interrupt that.
        queued_on.synchronize()?;
    }
    let keep_alive: Option<KeepAlive> = match (to.prepare_use(&queued_on)?, from.prepare_use(&queued_on)?) {
        (Some(to), Some(from)) => Some(Arc::new((to, from))),
        (to, from) => to.or(from),
    };
    let copy = Copy { to: to.place(), from: from.place(), bytes: to.bytes(), keep_alive };
    // SAFETY: the copy owns both ends, or they are freed in the order of its stream.
    unsafe { queued_on.copy(copy)? };
    if let Some(other) = other {
        let done = Event::new(Some(queued_on.device()), EventOptions::default())?;
        done.record(&queued_on)?;
        done.hold_back(&other)?;
    }
    Ok(queued_on)
}
