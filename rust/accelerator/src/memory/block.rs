//! A block of memory that knows what it must be given back to.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use super::Allocator;
use crate::Device;
use crate::Result;

/// Memory of one device, given back when the block is dropped.
pub struct Block {
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

impl Block {
    /// `bytes` bytes from `allocator`, not initialised.
    pub fn new(allocator: Arc<dyn Allocator>, bytes: usize) -> Result<Self> {
        let pointer = allocator.allocate(bytes)?;
        Ok(Block { pointer, bytes, device: allocator.device(), owner: Owner::Allocator(allocator) })
    }

    /// Memory that someone else made, kept alive by `keeper`.
    ///
    /// # Safety
    /// `pointer` is valid for reads and writes of `bytes` bytes on `device` for as long as `keeper` lives.
    pub unsafe fn foreign(
        pointer: NonNull<u8>,
        bytes: usize,
        device: Device,
        keeper: Box<dyn Any + Send + Sync>,
    ) -> Self {
        Block { pointer, bytes, device, owner: Owner::Foreign { _keeper: keeper } }
    }

    /// The address of the first byte, on [`device`](Block::device).
    pub fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the memory lies.
    pub fn device(&self) -> Device {
        self.device
    }
}

// SAFETY: a block is an address and a handle that is Send and Sync itself; who reads and writes
// through the address keeps the rules of the storage built on it.
unsafe impl Send for Block {}
// SAFETY: as above; `&Block` gives out no access to the bytes.
unsafe impl Sync for Block {}

impl Drop for Block {
    fn drop(&mut self) {
        if let Owner::Allocator(allocator) = &self.owner {
            // SAFETY: the pointer came from this allocator with this size, and the block owned it alone.
            unsafe { allocator.release(self.pointer, self.bytes) }
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} bytes on {})", self.bytes, self.device)
    }
}
