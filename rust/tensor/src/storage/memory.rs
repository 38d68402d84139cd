//! Where the bytes of a storage come from.

use std::sync::Arc;

use interlock::accelerator::Error;
use interlock::accelerator::memory::{DeviceBuffer, PinnedMemory, RawBuffer};
use interlock::accelerator::{Device, DeviceType, Stream, current_stream};

use crate::access::Access;
use crate::{DType, Result};

/// Where the elements of a tensor lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In memory of the processor.
    Cpu,
    /// In memory of the processor that devices reach without a detour.
    Pinned,
    /// On a device; without an index, on the current one of its type.
    Device(Device),
}

impl From<Device> for Place {
    fn from(device: Device) -> Self {
        if device.kind() == DeviceType::Cpu { Place::Cpu } else { Place::Device(device) }
    }
}

/// What a new tensor is: its element type, and where it lies if that is not the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The type of the elements.
    pub dtype: DType,
    /// Where they lie.
    pub place: Place,
}

impl From<DType> for Options {
    fn from(dtype: DType) -> Self {
        Options { dtype, place: Place::Cpu }
    }
}

impl<P: Into<Place>> From<(DType, P)> for Options {
    fn from((dtype, place): (DType, P)) -> Self {
        Options { dtype, place: place.into() }
    }
}

/// The bytes of a storage.
pub(crate) enum Memory {
    Cpu(RawBuffer),
    Pinned(PinnedMemory),
    Device(DeviceBuffer),
}

impl Memory {
    /// `bytes` bytes, not initialised; on a device they are for its current stream.
    pub fn new(place: Place, bytes: usize) -> Result<Self> {
        Ok(match place {
            Place::Cpu => Memory::Cpu(RawBuffer::new(bytes)?),
            Place::Pinned => Memory::Pinned(PinnedMemory::new(bytes)?),
            Place::Device(device) => Memory::Device(DeviceBuffer::on(&stream_of(device)?, bytes)?),
        })
    }

    pub fn device(&self) -> Device {
        match self {
            Memory::Cpu(block) => block.device(),
            Memory::Pinned(_) => Device::CPU,
            Memory::Device(memory) => memory.device(),
        }
    }

    pub fn bytes(&self) -> usize {
        match self {
            Memory::Cpu(block) => block.bytes(),
            Memory::Pinned(memory) => memory.bytes(),
            Memory::Device(memory) => memory.bytes(),
        }
    }

    /// The address of the first byte: of a device's memory in the device's own counting.
    pub fn pointer(&self) -> *mut u8 {
        match self {
            Memory::Cpu(block) => block.pointer().as_ptr(),
            Memory::Pinned(memory) => memory.pointer().as_ptr(),
            Memory::Device(memory) => std::ptr::with_exposed_provenance_mut(memory.address().0 as usize),
        }
    }
}

/// The current stream of a device on which a tensor is to be.
pub(crate) fn stream_of(device: Device) -> Result<Stream> {
    let named = |error| match error {
        Error::NoAccelerator { reason, .. } => {
            Error::NoAccelerator { operation: "a tensor on a device", reason }
        }
        Error::NoSuchDevice { given, allowed, .. } => {
            Error::NoSuchDevice { name: "a tensor on a device".to_owned(), given, allowed }
        }
        other => other,
    };
    Ok(current_stream(Some(device)).map_err(named)?)
}

/// A lock that queued work shares, where there can be such work.
pub(super) enum Lock {
    Own(Access),
    Shared(Arc<Access>),
}

impl Lock {
    pub fn for_memory(memory: &Memory) -> Self {
        match memory {
            Memory::Cpu(_) | Memory::Pinned(_) => Lock::Own(Default::default()),
            Memory::Device(_) => Lock::Shared(Arc::default()),
        }
    }
}

impl std::ops::Deref for Lock {
    type Target = Access;

    fn deref(&self) -> &Access {
        match self {
            Lock::Own(access) => access,
            Lock::Shared(access) => access,
        }
    }
}
