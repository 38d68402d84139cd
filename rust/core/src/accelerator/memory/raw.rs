//! Memory of a device, straight from its driver, and what streams do with it.

use std::sync::Arc;

use super::super::driver::{Address, Copy, DeviceIndex, Fill, Keeper, Place};
use super::super::in_use::Accelerator;
use super::super::stream::Stream;
use super::super::{Device, EventOptions, current, event::Event};
use crate::{Error, Result};

/// Bytes on a device. They go back to the driver with the last handle, and with the last queued work that uses
/// them.
#[derive(Clone, Debug)]
pub struct DeviceMemory(Arc<Bytes>);

#[derive(Debug)]
struct Bytes {
    home: &'static Accelerator,
    device: DeviceIndex,
    /// Of no bytes: nowhere.
    address: Address,
    bytes: usize,
}

/// Memory of this program, as one end of a copy.
#[derive(Clone)]
pub struct HostMemory {
    address: Address,
    bytes: usize,
    keep: Keeper,
}

impl HostMemory {
    /// `bytes` bytes from `pointer` on.
    ///
    /// # Safety
    /// They are valid, and nobody else reads what a copy writes or writes what it reads, until `keep` is dropped.
    pub unsafe fn new(pointer: *const u8, bytes: usize, keep: Keeper) -> Self {
        HostMemory { address: Address(pointer as u64), bytes, keep }
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
    /// `bytes` bytes on a device, not initialised; no device is the current one. Fails with
    /// [`Error::OutOfMemory`].
    pub fn new(device: Option<Device>, bytes: usize) -> Result<Self> {
        let (home, index) = current::resolve(device, "accelerator.memory.Buffer")?;
        let address = match bytes {
            0 => Address(0),
            _ => home.driver_for("the accelerator")?.allocate(index, bytes)?,
        };
        Ok(DeviceMemory(Arc::new(Bytes { home, device: index, address, bytes })))
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Where they are.
    pub fn device(&self) -> Device {
        self.0.home.device(self.0.device)
    }

    /// The address of the first, in the device's own counting; 0 where there are none.
    pub fn address(&self) -> Address {
        self.0.address
    }

    /// Sets every byte to `value`, in the order of `stream` or else of the current stream of the device. Returns
    /// at once.
    pub fn fill(&self, value: u8, stream: Option<&Stream>) -> Result<()> {
        self.0.home.driver_for("a Buffer")?;
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
        let (address, bytes, keep) = (self.0.address, self.0.bytes, self.0.clone() as Keeper);
        // SAFETY: the keeper owns the bytes, which are on the device of the stream.
        unsafe { stream.fill(Fill { address, bytes, value, keep }) }
    }

    fn stream_or(&self, stream: Option<&Stream>) -> Result<Stream> {
        stream.map_or_else(|| current::stream_on(self.0.home, self.0.device), |stream| Ok(stream.clone()))
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // A child can't reach the memory of its parent; it is left alone.
        if self.bytes != 0
            && let Ok(driver) = self.home.driver_for("a Buffer")
        {
            // SAFETY: the driver gave it for this device and size, and whatever uses it keeps it alive. A device
            // that is lost refuses, and then there is nothing to give back.
            let _ = unsafe { driver.release(self.device, self.address, self.bytes) };
        }
    }
}

impl End {
    fn bytes(&self) -> usize {
        match self {
            End::Device(memory) => memory.bytes(),
            End::Host(memory) => memory.bytes,
        }
    }

    fn place(&self) -> Place {
        match self {
            End::Device(memory) => Place::Device(memory.0.device, memory.0.address),
            End::Host(memory) => Place::Host(memory.address),
        }
    }

    fn keeper(&self) -> Keeper {
        match self {
            End::Device(memory) => memory.0.clone(),
            End::Host(memory) => memory.keep.clone(),
        }
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
    let home = on_device.0.home;
    for end in [to, from].into_iter().filter_map(End::device) {
        end.0.home.driver_for("a Buffer")?;
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
    if awaited && queued_on.is_capturing()? {
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
    let copy = Copy {
        to: to.place(),
        from: from.place(),
        bytes: to.bytes(),
        keep: Arc::new((to.keeper(), from.keeper())),
    };
    // SAFETY: the keeper owns both ends.
    unsafe { queued_on.copy(copy)? };
    if let Some(other) = other {
        let done = Event::new(Some(queued_on.device()), EventOptions::default())?;
        done.record(&queued_on)?;
        done.hold_back(&other)?;
    }
    Ok(queued_on)
}
