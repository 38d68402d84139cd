//! Heaps: a part of this program's memory for each device, and one for pinned memory.

use std::alloc::{self, Layout};
use std::collections::HashMap;
use std::ptr;

use interlock_driver::va_space::VaSpace;
use interlock_driver::{Address, Device, Error, MemoryInfo};

use super::virtual_memory::Reservation;

/// Bytes to which every address is aligned.
const ALIGNMENT: usize = 512;

pub(crate) const ALLOCATING: &str = "an allocation";
pub(crate) const RELEASING: &str = "giving memory back";

/// The allocations of a device or of pinned memory, and how much more there may be.
#[derive(Debug)]
pub(crate) struct Heap {
    total: u64,
    used: u64,
    /// Bytes by address.
    blocks: HashMap<u64, usize>,
    /// Virtual memory. No block is a part of it.
    va_space: VaSpace<Reservation>,
}

impl Heap {
    pub(crate) fn of(total: u64) -> Self {
        Heap { total, used: 0, blocks: HashMap::new(), va_space: VaSpace::default() }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    pub(crate) fn info(&self) -> MemoryInfo {
        MemoryInfo { free: self.total - self.used, total: self.total }
    }

    /// Counts bytes as used; returns false if fewer are left.
    pub(crate) fn reserve(&mut self, bytes: usize) -> bool {
        let used = self.used.checked_add(bytes as u64).filter(|used| *used <= self.total);
        self.used = used.unwrap_or(self.used);
        used.is_some()
    }

    fn unreserve(&mut self, bytes: usize) {
        self.used -= bytes as u64;
    }

    /// Tracks memory that was allocated for reserved bytes, or reverts the reservation if there is none.
    pub(crate) fn track(&mut self, allocated: Option<Address>, bytes: usize) -> Option<Address> {
        match allocated {
            Some(address) => drop(self.blocks.insert(address.0, bytes)),
            None => self.unreserve(bytes),
        }
        allocated
    }

    /// Removes an allocation; returns false if it is not tracked.
    pub(crate) fn remove(&mut self, address: Address, bytes: usize) -> bool {
        let is_tracked = self.blocks.get(&address.0) == Some(&bytes);
        if is_tracked {
            self.blocks.remove(&address.0);
            self.unreserve(bytes);
        }
        is_tracked
    }

    pub(crate) fn va_space(&mut self) -> &mut VaSpace<Reservation> {
        &mut self.va_space
    }

    /// Removes a mapping, whose memory no longer counts as used.
    pub(crate) fn remove_mapping(&mut self, address: Address, bytes: usize) {
        if self.va_space.unmap(address, bytes) {
            self.unreserve(bytes);
        }
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    // A layout of no bytes may not be passed to the global allocator.
    Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()
}

/// Allocates memory, which the system provides when it is first touched.
pub(crate) fn allocate(bytes: usize) -> Option<Address> {
    // SAFETY: the layout has at least one byte.
    let pointer = unsafe { alloc::alloc(layout(bytes)?) };
    (!pointer.is_null()).then(|| Address(pointer.expose_provenance() as u64))
}

/// # Safety
/// [`allocate`] returned the address for so many bytes, and it is not used any more.
pub(crate) unsafe fn deallocate(address: Address, bytes: usize) {
    if let Some(layout) = layout(bytes) {
        // SAFETY: as the caller guarantees; the layout is that with which the memory was taken.
        unsafe { alloc::dealloc(ptr::with_exposed_provenance_mut(address.0 as usize), layout) }
    }
}

/// Returns the error for memory that was not allocated on a device, or as pinned memory.
pub(crate) fn err_unknown(address: Address, bytes: usize, device: Option<Device>) -> Error {
    let owner = device.map_or("as pinned memory".to_owned(), |device| format!("on {device}"));
    let given = format!("{bytes} bytes at {:#x}", address.0);
    Error::argument(RELEASING, given, format!("what was allocated {owner} and not given back yet"))
}
