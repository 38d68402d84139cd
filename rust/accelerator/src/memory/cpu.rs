//! Memory of the processor, from the program's own heap.

use std::alloc::{self, Layout};
use std::ptr::NonNull;
use std::sync::Arc;

use super::{Allocator, OutOfMemory};
use crate::Device;
use crate::Result;

/// Allocates from Rust's global allocator, aligned to a cache line and to every vector register.
///
/// ```
/// use interlock_accelerator::memory::{CpuAllocator, RawBuffer};
///
/// let buffer = RawBuffer::new(CpuAllocator::handle(), 100)?;
/// assert_eq!(buffer.pointer().addr().get() % CpuAllocator::ALIGNMENT, 0);
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
pub struct CpuAllocator;

impl CpuAllocator {
    /// Bytes to which every buffer is aligned.
    pub const ALIGNMENT: usize = 64;

    /// The allocator as a shared handle.
    pub fn handle() -> Arc<dyn Allocator> {
        Arc::new(CpuAllocator)
    }

    fn layout(bytes: usize) -> Option<Layout> {
        // A layout of no bytes may not be passed to the global allocator.
        Layout::from_size_align(bytes.max(1), Self::ALIGNMENT).ok()
    }
}

// SAFETY: the global allocator's memory is valid until it is deallocated, which only `release` does.
unsafe impl Allocator for CpuAllocator {
    fn device(&self) -> Device {
        Device::CPU
    }

    fn allocate(&self, bytes: usize) -> Result<NonNull<u8>> {
        let out_of_memory = || OutOfMemory::error(Device::CPU, bytes);
        let layout = Self::layout(bytes).ok_or_else(out_of_memory)?;
        // SAFETY: the layout has at least one byte.
        NonNull::new(unsafe { alloc::alloc(layout) }).ok_or_else(out_of_memory)
    }

    unsafe fn release(&self, pointer: NonNull<u8>, bytes: usize) {
        if let Some(layout) = Self::layout(bytes) {
            // SAFETY: the caller vouches that `allocate(bytes)` gave this pointer, with this same layout.
            unsafe { alloc::dealloc(pointer.as_ptr(), layout) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RawBuffer;
    use super::*;

    #[test]
    fn buffers_are_aligned_even_when_empty() {
        for bytes in [0, 1, 63, 64, 4096] {
            let buffer = RawBuffer::new(CpuAllocator::handle(), bytes).unwrap();
            assert_eq!(buffer.pointer().as_ptr() as usize % CpuAllocator::ALIGNMENT, 0);
            assert_eq!((buffer.bytes(), buffer.device()), (bytes, Device::CPU));
        }
    }

    #[test]
    fn a_size_beyond_the_address_space_is_out_of_memory() {
        let error = RawBuffer::new(CpuAllocator::handle(), usize::MAX).unwrap_err();
        assert_eq!(error, OutOfMemory::error(Device::CPU, usize::MAX));
    }
}
