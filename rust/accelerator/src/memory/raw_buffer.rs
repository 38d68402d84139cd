//! Owned memory: CPU memory of Rust's global allocator, or memory of another owner.

use std::alloc::{self, Layout};
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;

use super::OutOfMemory;
use crate::{Device, Result};

/// Memory of one device, freed when it is dropped.
///
/// ```
/// use interlock_accelerator::Device;
/// use interlock_accelerator::memory::RawBuffer;
///
/// let buffer = RawBuffer::new(4096)?;
/// assert_eq!((buffer.bytes(), buffer.device()), (4096, Device::CPU));
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
pub struct RawBuffer {
    pointer: NonNull<u8>,
    bytes: usize,
    device: Device,
    /// Dropping this frees the memory; `None` if it is from Rust's global allocator.
    owner: Option<Box<dyn Any + Send + Sync>>,
}

impl RawBuffer {
    /// The alignment of CPU memory in bytes: a cache line, and sufficient for every vector register.
    pub const ALIGNMENT: usize = 64;

    /// Allocates `bytes` uninitialized bytes of the CPU.
    ///
    /// # Errors
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(bytes: usize) -> Result<Self> {
        let out_of_memory = || OutOfMemory::error(Device::CPU, bytes);
        let layout = Self::layout(bytes).ok_or_else(out_of_memory)?;
        // SAFETY: the layout has at least one byte.
        let pointer = NonNull::new(unsafe { alloc::alloc(layout) }).ok_or_else(out_of_memory)?;
        Ok(RawBuffer { pointer, bytes, device: Device::CPU, owner: None })
    }

    /// Allocates `bytes` zeroed bytes of the CPU. The pages of large allocations are zeroed by the operating system at their
    /// first access.
    ///
    /// ```
    /// use interlock_accelerator::memory::RawBuffer;
    ///
    /// let buffer = RawBuffer::zeroed(1 << 20)?;
    /// // SAFETY: the buffer has the byte.
    /// assert_eq!(unsafe { buffer.pointer().add(1 << 19).read() }, 0);
    /// # Ok::<(), interlock_accelerator::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn zeroed(bytes: usize) -> Result<Self> {
        if bytes < LARGE {
            let buffer = Self::new(bytes)?;
            // SAFETY: the buffer has these bytes, which nothing else refers to.
            unsafe { buffer.pointer.write_bytes(0, bytes) };
            return Ok(buffer);
        }
        let pages = Pages::new(bytes)?;
        // SAFETY: the allocation is longer than the bytes by the alignment.
        let pointer = unsafe { pages.start.add(pages.start.align_offset(Self::ALIGNMENT)) };
        Ok(RawBuffer { pointer, bytes, device: Device::CPU, owner: Some(Box::new(pages)) })
    }

    fn layout(bytes: usize) -> Option<Layout> {
        // The global allocator does not accept a layout of 0 bytes.
        Layout::from_size_align(bytes.max(1), Self::ALIGNMENT).ok()
    }

    /// Wraps memory that belongs to `owner`.
    ///
    /// # Safety
    /// `pointer` is valid for reads and writes of `bytes` bytes on `device` for as long as `owner` lives.
    pub unsafe fn foreign(
        pointer: NonNull<u8>,
        bytes: usize,
        device: Device,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Self {
        RawBuffer { pointer, bytes, device, owner: Some(owner) }
    }

    /// Returns the address of the first byte, on [`device`](RawBuffer::device).
    pub fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the device of the memory.
    pub fn device(&self) -> Device {
        self.device
    }
}

/// The size from which allocators of C libraries map new pages, which are zero, instead of returning freed memory.
const LARGE: usize = 1 << 17;

/// An allocation of zeroed pages, in which a buffer begins at an aligned address. Its own alignment is small: Rust's
/// allocator writes all bytes of a zeroed allocation of a greater alignment.
struct Pages {
    start: NonNull<u8>,
    layout: Layout,
}

impl Pages {
    fn new(bytes: usize) -> Result<Self> {
        let out_of_memory = || OutOfMemory::error(Device::CPU, bytes);
        let size = bytes.checked_add(RawBuffer::ALIGNMENT).ok_or_else(out_of_memory)?;
        let layout = Layout::from_size_align(size, align_of::<usize>()).map_err(|_| out_of_memory())?;
        // SAFETY: the layout has at least one byte.
        let start = NonNull::new(unsafe { alloc::alloc_zeroed(layout) }).ok_or_else(out_of_memory)?;
        Ok(Pages { start, layout })
    }
}

// SAFETY: the allocation is an address, which only `drop` uses.
unsafe impl Send for Pages {}
// SAFETY: see `Send`.
unsafe impl Sync for Pages {}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the pointer came from the global allocator with this layout.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) }
    }
}

// SAFETY: a buffer is an address and an owner that is itself Send and Sync; code that reads and writes
// through the address follows the rules of the storage built on it.
unsafe impl Send for RawBuffer {}
// SAFETY: see `Send`; `&RawBuffer` gives no access to the bytes.
unsafe impl Sync for RawBuffer {}

impl Drop for RawBuffer {
    fn drop(&mut self) {
        if let (None, Some(layout)) = (&self.owner, Self::layout(self.bytes)) {
            // SAFETY: the pointer came from the global allocator with this layout, and the buffer owned it alone.
            unsafe { alloc::dealloc(self.pointer.as_ptr(), layout) }
        }
    }
}

impl fmt::Debug for RawBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawBuffer({} bytes on {})", self.bytes, self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroed_buffer_is_aligned_and_zero() {
        for bytes in [0, 1, 64, LARGE - 1, LARGE, 1 << 22] {
            let buffer = RawBuffer::zeroed(bytes).unwrap();
            assert_eq!(buffer.pointer().as_ptr() as usize % RawBuffer::ALIGNMENT, 0);
            // SAFETY: the buffer has these bytes, which are zeroed.
            let zeroed = unsafe { std::slice::from_raw_parts(buffer.pointer().as_ptr(), bytes) };
            assert!(zeroed.iter().all(|byte| *byte == 0));
        }
        assert!(RawBuffer::zeroed(usize::MAX).is_err());
    }

    #[test]
    fn raw_buffer_is_aligned_even_without_bytes() {
        for bytes in [0, 1, 63, 64, 4096] {
            let buffer = RawBuffer::new(bytes).unwrap();
            assert_eq!(buffer.pointer().as_ptr() as usize % RawBuffer::ALIGNMENT, 0);
            assert_eq!((buffer.bytes(), buffer.device()), (bytes, Device::CPU));
        }
    }

    #[test]
    fn raw_buffer_beyond_the_address_space_is_out_of_memory() {
        let error = RawBuffer::new(usize::MAX).unwrap_err();
        assert_eq!(error, OutOfMemory::error(Device::CPU, usize::MAX));
    }
}
