//! Memory of ONNX Runtime from interlock's allocator of pinned memory.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

use interlock::accelerator::memory::{PinnedMemory, RawBuffer};
use ort::environment::Environment;
use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::sys::{OrtAllocator, OrtMemoryInfo};
use ort::{AsPointer, api};

use crate::Result;

/// The allocator of CPU memory that an environment shares among its sessions.
///
/// Its blocks are counted in [`host_memory_stats`](interlock::accelerator::memory::host_memory_stats), reused by
/// interlock, and page-locked if the driver is one of GPUs, so that copies to a device need no further one. If there is no
/// pinned memory left, a block is ordinary memory and a warning is logged, because ONNX Runtime crashes without a block.
#[repr(C)]
pub struct HostAllocator {
    // ONNX Runtime passes a pointer to this member, so it is the first one.
    functions: OrtAllocator,
    info: MemoryInfo<'static>,
    blocks: Mutex<HashMap<usize, Block>>,
}

/// The memory of a block, freed when it is dropped.
enum Block {
    Pinned(PinnedMemory),
    Ordinary(RawBuffer),
}

impl Block {
    fn new(bytes: usize) -> interlock::accelerator::Result<Self> {
        PinnedMemory::new(bytes).map(Block::Pinned).or_else(|error| {
            log::warn!("a block of {bytes} bytes for ONNX Runtime is not pinned: {error}");
            RawBuffer::new(bytes).map(Block::Ordinary)
        })
    }

    fn pointer(&self) -> NonNull<u8> {
        match self {
            Block::Pinned(memory) => memory.pointer(),
            Block::Ordinary(memory) => memory.pointer(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Block::Pinned(memory) => memory.bytes(),
            Block::Ordinary(memory) => memory.bytes(),
        }
    }
}

impl HostAllocator {
    /// Returns the number of blocks in use.
    pub fn blocks(&self) -> usize {
        self.locked().len()
    }

    /// Returns the number of blocks in use that are not pinned.
    pub fn ordinary_blocks(&self) -> usize {
        self.locked().values().filter(|block| matches!(block, Block::Ordinary(_))).count()
    }

    /// Returns the number of bytes in use.
    pub fn bytes(&self) -> usize {
        self.locked().values().map(Block::bytes).sum()
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<usize, Block>> {
        // Nothing panics with the lock held.
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allocate(&self, bytes: usize) -> *mut c_void {
        if bytes == 0 {
            return ptr::null_mut();
        }
        match Block::new(bytes) {
            Ok(memory) => {
                let pointer = memory.pointer().as_ptr();
                self.locked().insert(pointer as usize, memory);
                pointer.cast()
            }
            Err(error) => {
                log::error!("an allocation of {bytes} bytes for ONNX Runtime failed: {error}");
                ptr::null_mut()
            }
        }
    }

    fn free(&self, pointer: *mut c_void) {
        // Dropped without the lock, because that calls the driver.
        let memory = self.locked().remove(&(pointer as usize));
        drop(memory);
    }
}

impl std::fmt::Debug for HostAllocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostAllocator").field("blocks", &self.blocks()).finish_non_exhaustive()
    }
}

/// Registers interlock's allocator of pinned memory for the CPU memory of an environment. A session uses it if it is
/// built with `with_env_allocators`. A later registration replaces it for sessions that are created afterwards. It exists
/// until the process exits, because sessions may outlive the environment.
///
/// # Errors
/// Returns [`Error::Accelerator`](crate::Error::Accelerator) if no accelerator is in use: to use pinned memory without a
/// GPU, call `accelerator::use_named("host")` first. Returns [`Error::Ort`](crate::Error::Ort) if ONNX Runtime refuses the
/// allocator.
pub fn register_allocator(environment: &Environment) -> Result<&'static HostAllocator> {
    // Reports now that no driver can be used, instead of at the first allocation.
    PinnedMemory::new(0)?;
    let info = MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::Default)?;
    // Newer versions of the interface have further functions, which may be absent.
    // SAFETY: the functions that may not be absent follow.
    let mut functions = unsafe { OrtAllocator::default() };
    functions.Alloc = Some(allocate);
    functions.Free = Some(free);
    functions.Info = Some(info_of);
    functions.Reserve = Some(reserve);
    let allocator = Box::into_raw(Box::new(HostAllocator { functions, info, blocks: Mutex::default() }));
    // SAFETY: the allocator is never freed after it was registered.
    let status = unsafe { (api().RegisterAllocator)(environment.ptr().cast_mut(), allocator.cast()) };
    // SAFETY: the status was returned by ONNX Runtime, and is used once.
    let registered = unsafe { ort::Error::result_from_status(status) };
    if let Err(error) = registered {
        // SAFETY: the pointer is of `into_raw`, and a refused allocator is not stored.
        drop(unsafe { Box::from_raw(allocator) });
        return Err(error.into());
    }
    // SAFETY: the allocator lives until the process exits.
    Ok(unsafe { &*allocator })
}

/// Returns the allocator of a pointer that ONNX Runtime passes.
///
/// # Safety
/// `functions` is a pointer that was registered.
unsafe fn allocator<'a>(functions: *const OrtAllocator) -> &'a HostAllocator {
    // SAFETY: the member is the first one of the allocator, which is never freed.
    unsafe { &*functions.cast() }
}

unsafe extern "system" fn allocate(functions: *mut OrtAllocator, bytes: usize) -> *mut c_void {
    // SAFETY: ONNX Runtime passes the registered pointer.
    unsafe { allocator(functions) }.allocate(bytes)
}

unsafe extern "system" fn reserve(functions: *const OrtAllocator, bytes: usize) -> *mut c_void {
    // SAFETY: ONNX Runtime passes the registered pointer.
    unsafe { allocator(functions) }.allocate(bytes)
}

unsafe extern "system" fn free(functions: *mut OrtAllocator, pointer: *mut c_void) {
    // SAFETY: ONNX Runtime passes the registered pointer.
    unsafe { allocator(functions) }.free(pointer);
}

unsafe extern "system" fn info_of(functions: *const OrtAllocator) -> *const OrtMemoryInfo {
    // SAFETY: ONNX Runtime passes the registered pointer.
    unsafe { allocator(functions) }.info.ptr()
}
