//! Memory: the trait that every allocator is behind, and the block of memory that it hands out.

mod block;
mod cpu;
mod raw;

use std::ptr::NonNull;

use super::Device;
use crate::Result;

pub use block::Block;
pub use cpu::CpuAllocator;
pub use raw::{DeviceMemory, End, HostMemory, copy};

/// Hands out memory of one device.
///
/// # Safety
/// What [`allocate`](Allocator::allocate) returns must stay valid for reads and writes of that many
/// bytes, on the device, until it is released.
pub unsafe trait Allocator: Send + Sync {
    /// Where the memory lies.
    fn device(&self) -> Device;

    /// Memory of at least `bytes` bytes, aligned for every element type; its content is undefined.
    /// Fails with [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    fn allocate(&self, bytes: usize) -> Result<NonNull<u8>>;

    /// Takes memory back.
    ///
    /// # Safety
    /// `pointer` came from `allocate(bytes)` of this allocator and nothing uses it any more.
    unsafe fn release(&self, pointer: NonNull<u8>, bytes: usize);
}
