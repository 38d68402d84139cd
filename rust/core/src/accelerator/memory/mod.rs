//! Memory: the trait that every allocator is behind, and the block of memory that it hands out.

mod allocation;
mod block;
mod buffer;
pub mod config;
mod cpu;
mod out_of_memory;
mod pinned;

use std::ptr::NonNull;

use super::Device;
use crate::Result;

pub use block::Block;
pub use buffer::{DeviceMemory, End, HostMemory, copy};
pub(crate) use config::CONFIGURED;
pub use config::{AllocatorConfig, ConfigReader, config, config_report, config_source, set_config};
pub use cpu::CpuAllocator;
pub use out_of_memory::{CacheState, OutOfMemory};
pub use pinned::PinnedMemory;

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
