//! The allocation behind a storage and the lock that guards it.

use std::cell::RefCell;
use std::sync::Arc;

use interlock::accelerator::Device;
use interlock::accelerator::memory::{DeviceBuffer, PinnedMemory, RawBuffer};

use super::Storage;
use super::drop_queue::{Deferred, Queue};
use super::fork_rwlock::RawForkRwLock;
use super::placement::{Placement, current_stream_of};
use crate::{Error, Result};

/// The allocation behind a storage.
pub(crate) enum Bytes {
    Cpu(RawBuffer),
    Pinned(PinnedMemory),
    Device(DeviceBuffer),
    /// The memory of a pinned storage, mapped into the address space of a device: kernels that are queued on the
    /// streams of the device use it, as `cudaHostGetDevicePointer` permits.
    Mapped(Arc<Storage>, Device),
}

thread_local! {
    static DROPPED: RefCell<Vec<Bytes>> = const { RefCell::new(Vec::new()) };
}

/// Foreign memory may belong to an array that is a view of another tensor.
impl Deferred for Bytes {
    fn queue() -> &'static Queue<Self> {
        &DROPPED
    }
}

impl Bytes {
    /// Allocates `nbytes` uninitialized bytes for `op`. Device memory belongs to the current stream of the device.
    pub fn new(op: &'static str, placement: Placement, nbytes: usize) -> Result<Self> {
        Ok(match placement {
            Placement::Cpu => Bytes::Cpu(RawBuffer::new(nbytes)?),
            Placement::Pinned => {
                Bytes::Pinned(PinnedMemory::new(nbytes).map_err(|error| Error::from(error).during(op))?)
            }
            Placement::Device(device) => {
                Bytes::Device(DeviceBuffer::on(&current_stream_of(op, device)?, nbytes)?)
            }
        })
    }

    pub fn device(&self) -> Device {
        match self {
            Bytes::Cpu(buffer) => buffer.device(),
            Bytes::Pinned(_) => Device::CPU,
            Bytes::Device(memory) => memory.device(),
            Bytes::Mapped(_, device) => *device,
        }
    }

    pub fn nbytes(&self) -> usize {
        match self {
            Bytes::Cpu(buffer) => buffer.bytes(),
            Bytes::Pinned(memory) => memory.bytes(),
            Bytes::Device(memory) => memory.bytes(),
            Bytes::Mapped(pinned, _) => pinned.nbytes(),
        }
    }

    /// Returns the placement of the memory.
    pub fn placement(&self) -> Placement {
        match self {
            Bytes::Cpu(_) => Placement::Cpu,
            Bytes::Pinned(_) => Placement::Pinned,
            Bytes::Device(_) | Bytes::Mapped(..) => Placement::Device(self.device()),
        }
    }

    /// Returns the address of the first byte; for device memory an address in the device's address space.
    pub fn pointer(&self) -> *mut u8 {
        match self {
            Bytes::Cpu(buffer) => buffer.pointer().as_ptr(),
            Bytes::Pinned(memory) => memory.pointer().as_ptr(),
            Bytes::Mapped(pinned, _) => pinned.pointer(),
            Bytes::Device(memory) => std::ptr::with_exposed_provenance_mut(memory.address().0 as usize),
        }
    }
}

/// The lock of a storage. Device and pinned memory share it with the kernels that are queued on streams.
pub(super) enum StorageLock {
    Own(RawForkRwLock),
    Shared(Arc<RawForkRwLock>),
}

impl StorageLock {
    pub fn for_bytes(bytes: &Bytes) -> Self {
        match bytes {
            Bytes::Cpu(_) => StorageLock::Own(Default::default()),
            Bytes::Pinned(_) | Bytes::Device(_) | Bytes::Mapped(..) => StorageLock::Shared(Arc::default()),
        }
    }
}

impl std::ops::Deref for StorageLock {
    type Target = RawForkRwLock;

    fn deref(&self) -> &RawForkRwLock {
        match self {
            StorageLock::Own(lock) => lock,
            StorageLock::Shared(lock) => lock,
        }
    }
}
