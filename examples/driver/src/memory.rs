//! Memory of a device, or pinned memory.

use std::alloc::{self, Layout};
use std::collections::HashMap;
use std::sync::Mutex;

use interlock_driver::{Address, Device, Error, MemoryInfo, OutOfMemory, Result};

use crate::lock;

/// The alignment in bytes that [`DriverRuntime::allocate`](interlock_driver::DriverRuntime::allocate) requires.
const ALIGNMENT: usize = 512;

/// Allocations up to a fixed number of bytes. Dropping it leaks allocations that were not freed.
pub(crate) struct Memory {
    /// The device for error messages.
    device: Device,
    total: u64,
    blocks: Mutex<Blocks>,
}

#[derive(Default)]
struct Blocks {
    used: u64,
    /// The layout of each allocation by address.
    layouts: HashMap<u64, Layout>,
}

impl Memory {
    pub(crate) fn new(device: Device, total: u64) -> Self {
        Memory { device, total, blocks: Mutex::default() }
    }

    pub(crate) fn info(&self) -> MemoryInfo {
        MemoryInfo { free: self.total - lock(&self.blocks).used, total: self.total }
    }

    /// Allocates bytes.
    ///
    /// # Errors
    /// Returns [`Error::OutOfMemory`] if fewer bytes are free.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Address> {
        let out_of_memory = || OutOfMemory::error(self.device, bytes);
        let layout = Layout::from_size_align(bytes, ALIGNMENT).map_err(|_| out_of_memory())?;
        let mut blocks = lock(&self.blocks);
        let used = blocks.used.checked_add(bytes as u64).filter(|used| *used <= self.total);
        let used = used.ok_or_else(out_of_memory)?;
        if bytes == 0 {
            return Err(Error::argument("allocate: bytes", "0", "at least 1"));
        }
        // SAFETY: the layout has at least one byte. The bytes are zeroed, because the CPU may read them before they are
        // written: reading memory that was never initialized is undefined in Rust.
        let allocated = unsafe { alloc::alloc_zeroed(layout) };
        if allocated.is_null() {
            return Err(out_of_memory());
        }
        // Exposed, because copies and fills pass the address as an integer.
        let address = allocated.expose_provenance() as u64;
        blocks.used = used;
        blocks.layouts.insert(address, layout);
        Ok(Address(address))
    }

    /// Frees an allocation.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] if there is no such allocation.
    ///
    /// # Safety
    /// Neither queued work nor the caller uses the bytes.
    pub(crate) unsafe fn free(&self, address: Address, bytes: usize) -> Result<()> {
        let mut blocks = lock(&self.blocks);
        let Some(layout) = blocks.layouts.get(&address.0).copied().filter(|layout| layout.size() == bytes)
        else {
            let given = format!("{bytes} bytes at {address:?}");
            return Err(Error::argument("free: memory", given, format!("an allocation on {}", self.device)));
        };
        blocks.layouts.remove(&address.0);
        blocks.used -= bytes as u64;
        // SAFETY: `allocate` allocated the memory with this layout, and its entry was removed, so it is freed once.
        unsafe { alloc::dealloc(std::ptr::with_exposed_provenance_mut(address.0 as usize), layout) };
        Ok(())
    }
}
