//! Memory with the allocator that it is freed by.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use super::Allocator;
use crate::Device;
use crate::Result;

/// Memory of one device, freed when it is dropped.
///
/// ```
/// use interlock_accelerator::Device;
/// use interlock_accelerator::memory::{CpuAllocator, RawBuffer};
///
/// let buffer = RawBuffer::new(CpuAllocator::handle(), 4096)?;
/// assert_eq!((buffer.bytes(), buffer.device()), (4096, Device::CPU));
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
pub struct RawBuffer {
    pointer: NonNull<u8>,
    bytes: usize,
    device: Device,
    owner: Owner,
}

enum Owner {
    Allocator(Arc<dyn Allocator>),
    /// Dropping this frees the memory.
    Foreign {
        _keeper: Box<dyn Any + Send + Sync>,
    },
}

impl RawBuffer {
    /// Allocates `bytes` uninitialized bytes.
    ///
    /// # Errors
    /// Returns the error of the allocator.
    pub fn new(allocator: Arc<dyn Allocator>, bytes: usize) -> Result<Self> {
        let pointer = allocator.allocate(bytes)?;
        Ok(RawBuffer { pointer, bytes, device: allocator.device(), owner: Owner::Allocator(allocator) })
    }

    /// Wraps memory of another owner, kept alive by `keeper`.
    ///
    /// # Safety
    /// `pointer` is valid for reads and writes of `bytes` bytes on `device` for as long as `keeper` lives.
    pub unsafe fn foreign(
        pointer: NonNull<u8>,
        bytes: usize,
        device: Device,
        keeper: Box<dyn Any + Send + Sync>,
    ) -> Self {
        RawBuffer { pointer, bytes, device, owner: Owner::Foreign { _keeper: keeper } }
    }

    /// The address of the first byte, on [`device`](RawBuffer::device).
    pub fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }

    /// The number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The device of the memory.
    pub fn device(&self) -> Device {
        self.device
    }
}

// SAFETY: a buffer is an address and a handle that is Send and Sync itself; code that reads and writes
// through the address keeps the rules of the storage built on it.
unsafe impl Send for RawBuffer {}
// SAFETY: as above; `&RawBuffer` gives out no access to the bytes.
unsafe impl Sync for RawBuffer {}

impl Drop for RawBuffer {
    fn drop(&mut self) {
        if let Owner::Allocator(allocator) = &self.owner {
            // SAFETY: the pointer came from this allocator with this size, and the buffer owned it alone.
            unsafe { allocator.release(self.pointer, self.bytes) }
        }
    }
}

impl fmt::Debug for RawBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawBuffer({} bytes on {})", self.bytes, self.device)
    }
}
