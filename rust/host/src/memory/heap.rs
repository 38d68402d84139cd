//! Heaps: limited parts of CPU memory that emulate device memory and pinned memory.

use std::alloc::{self, Layout};
use std::collections::HashMap;
use std::ptr;

use interlock_driver::va_space::VaSpace;
use interlock_driver::{Address, Device, Error, MemoryInfo, races};

use super::virtual_memory::Reservation;

/// The alignment of every allocation in bytes.
const ALIGNMENT: usize = 512;

pub(crate) const ALLOCATING: &str = "an allocation";
pub(crate) const RELEASING: &str = "a release of memory";

/// The allocations of a device or of pinned memory, limited to `total` bytes.
#[derive(Debug)]
pub(crate) struct Heap {
    total: u64,
    used: u64,
    /// Bytes of each allocation by address.
    allocations: HashMap<u64, usize>,
    /// Reserved addresses, which `allocations` does not include.
    va_space: VaSpace<Reservation>,
}

impl Heap {
    pub(crate) fn new(total: u64) -> Self {
        Heap { total, used: 0, allocations: HashMap::new(), va_space: VaSpace::default() }
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

    /// Counts `bytes` as used; returns false if fewer are free.
    pub(crate) fn reserve(&mut self, bytes: usize) -> bool {
        let used = self.used.checked_add(bytes as u64).filter(|used| *used <= self.total);
        self.used = used.unwrap_or(self.used);
        used.is_some()
    }

    fn unreserve(&mut self, bytes: usize) {
        self.used -= bytes as u64;
    }

    /// Tracks an allocation whose bytes are reserved; unreserves them if the allocation failed.
    pub(crate) fn track(&mut self, allocated: Option<Address>, bytes: usize) -> Option<Address> {
        match allocated {
            Some(address) => {
                races::add_memory(address, bytes);
                self.allocations.insert(address.0, bytes);
            }
            None => self.unreserve(bytes),
        }
        allocated
    }

    /// Removes an allocation; returns false if it is not tracked.
    pub(crate) fn remove(&mut self, address: Address, bytes: usize) -> bool {
        let is_tracked = self.allocations.get(&address.0) == Some(&bytes);
        if is_tracked {
            self.allocations.remove(&address.0);
            races::remove_memory(address, bytes);
            self.unreserve(bytes);
        }
        is_tracked
    }

    pub(crate) fn va_space(&mut self) -> &mut VaSpace<Reservation> {
        &mut self.va_space
    }

    /// Removes a mapping and unreserves its bytes.
    pub(crate) fn remove_mapping(&mut self, address: Address, bytes: usize) {
        if self.va_space.unmap(address, bytes) {
            races::remove_memory(address, bytes);
            self.unreserve(bytes);
        }
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    // The global allocator does not accept layouts of 0 bytes.
    Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()
}

/// Allocates memory. The system commits its pages when they are first accessed.
pub(crate) fn allocate(bytes: usize) -> Option<Address> {
    // SAFETY: the layout has at least one byte.
    let pointer = unsafe { alloc::alloc(layout(bytes)?) };
    (!pointer.is_null()).then(|| Address(pointer.expose_provenance() as u64))
}

/// Frees memory.
///
/// # Safety
/// [`allocate`] returned `address` for `bytes`, and the memory is not used any more.
pub(crate) unsafe fn deallocate(address: Address, bytes: usize) {
    if let Some(layout) = layout(bytes) {
        // SAFETY: the caller guarantees that `allocate` returned the address for this layout and that it is unused.
        unsafe { alloc::dealloc(ptr::with_exposed_provenance_mut(address.0 as usize), layout) }
    }
}

/// Returns the error for an address that is not a tracked allocation of a device, or of pinned memory.
pub(crate) fn err_unknown(address: Address, bytes: usize, device: Option<Device>) -> Error {
    let owner = device.map_or("as pinned memory".to_owned(), |device| format!("on {device}"));
    let given = format!("{bytes} bytes at {:#x}", address.0);
    Error::argument(format!("{RELEASING}: the memory"), given, format!("allocated {owner} and not freed yet"))
}
