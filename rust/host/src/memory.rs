//! Memory: a part of the program's heap for each device, and one for what is pinned.

use std::alloc::{self, Layout};
use std::collections::HashMap;
use std::ptr;

use interlock_core::device::Device;
use interlock_driver::OutOfMemory;
use interlock_driver::va_space::VaSpace;
use interlock_driver::{Address, DeviceIndex, MemoryInfo};
use interlock_driver::{Error, Result};

use super::addresses::Range;
use super::device;
use super::shared::Shared;

/// Bytes to which every address is aligned.
const ALIGNMENT: usize = 512;

const ALLOCATING: &str = "an allocation";
const RELEASING: &str = "giving memory back";

/// What was given out, and how much more may be.
#[derive(Debug)]
pub(super) struct Memory {
    total: u64,
    used: u64,
    /// Bytes by address.
    blocks: HashMap<u64, usize>,
    /// A block is no part of any.
    pub(super) reservations: VaSpace<Range>,
}

impl Memory {
    pub(super) fn of(total: u64) -> Self {
        Memory { total, used: 0, blocks: HashMap::new(), reservations: VaSpace::default() }
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn used(&self) -> u64 {
        self.used
    }

    fn info(&self) -> MemoryInfo {
        MemoryInfo { free: self.total - self.used, total: self.total }
    }

    /// Counts bytes as used; false where there are not so many left.
    pub(super) fn reserve(&mut self, bytes: usize) -> bool {
        let used = self.used.checked_add(bytes as u64).filter(|used| *used <= self.total);
        self.used = used.unwrap_or(self.used);
        used.is_some()
    }

    /// Counts them no more.
    pub(super) fn unreserve(&mut self, bytes: usize) {
        self.used -= bytes as u64;
    }

    /// Puts the memory that was taken for a reservation on the books, or takes the reservation back.
    fn book(&mut self, taken: Option<Address>, bytes: usize) -> Option<Address> {
        match taken {
            Some(address) => drop(self.blocks.insert(address.0, bytes)),
            None => self.unreserve(bytes),
        }
        taken
    }

    /// Takes memory off the books; false where it is not on them.
    fn remove(&mut self, address: Address, bytes: usize) -> bool {
        let known = self.blocks.get(&address.0) == Some(&bytes);
        if known {
            self.blocks.remove(&address.0);
            self.unreserve(bytes);
        }
        known
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    // A layout of no bytes may not be passed to the global allocator.
    Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()
}

/// Takes memory from the heap, which takes it from the system when it is first touched.
fn take(bytes: usize) -> Option<Address> {
    // SAFETY: the layout has at least one byte.
    let pointer = unsafe { alloc::alloc(layout(bytes)?) };
    (!pointer.is_null()).then(|| Address(pointer.expose_provenance() as u64))
}

/// # Safety
/// `take` gave the address for so many bytes, and nobody uses it any more.
unsafe fn give(address: Address, bytes: usize) {
    if let Some(layout) = layout(bytes) {
        // SAFETY: as the caller vouches; the layout is that with which the memory was taken.
        unsafe { alloc::dealloc(ptr::with_exposed_provenance_mut(address.0 as usize), layout) }
    }
}

fn unknown(address: Address, bytes: usize, owner: &str) -> Error {
    Error::Argument {
        name: RELEASING,
        given: format!("{bytes} bytes at {:#x}", address.0),
        allowed: format!("what was allocated {owner} and not given back yet"),
    }
}

impl Shared {
    pub(super) fn memory_info(&self, device: DeviceIndex) -> Result<MemoryInfo> {
        Ok(self.lock()?.device(device, "accelerator.get_memory_info")?.memory.info())
    }

    pub(super) fn allocate(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        let out_of_memory = || OutOfMemory::error(device::named(device), bytes);
        {
            let mut state = self.lock()?;
            state.device(device, ALLOCATING)?;
            if state.faults.allocation_fails() || !state.device(device, ALLOCATING)?.memory.reserve(bytes) {
                return Err(out_of_memory());
            }
        }
        // Without the lock, as the system may take its time.
        let taken = take(bytes);
        let mut state = self.lock()?;
        let memory = state.devices.get_mut(usize::from(device)).map(|device| &mut device.memory);
        memory.and_then(|memory| memory.book(taken, bytes)).ok_or_else(out_of_memory)
    }

    /// # Safety
    /// As for [`Driver::release`](interlock_driver::Driver::release); what was never given out is
    /// an error.
    pub(super) unsafe fn release_memory(
        &self,
        device: DeviceIndex,
        address: Address,
        bytes: usize,
    ) -> Result<()> {
        let lost = {
            let mut state = self.lock()?;
            let lost = state.check_not_lost(device, RELEASING);
            let owner = format!("on {}", device::named(device));
            let memory = state.devices.get_mut(usize::from(device)).map(|device| &mut device.memory);
            if !memory.is_some_and(|memory| memory.remove(address, bytes)) {
                return Err(unknown(address, bytes, &owner));
            }
            lost
        };
        // SAFETY: it was on the books, so `take` gave it, and the caller vouches that nobody uses it.
        unsafe { give(address, bytes) };
        lost
    }

    pub(super) fn allocate_pinned(&self, bytes: usize) -> Result<Address> {
        let out_of_memory = || OutOfMemory::error(Device::CPU, bytes);
        {
            let mut state = self.lock()?;
            if state.faults.pinned_allocation_fails() || !state.pinned.reserve(bytes) {
                return Err(out_of_memory());
            }
        }
        let taken = take(bytes);
        self.lock()?.pinned.book(taken, bytes).ok_or_else(out_of_memory)
    }

    /// # Safety
    /// As for [`release_memory`](Shared::release_memory).
    pub(super) unsafe fn free_pinned(&self, address: Address, bytes: usize) -> Result<()> {
        {
            let mut state = self.lock()?;
            if !state.pinned.remove(address, bytes) {
                return Err(unknown(address, bytes, "as pinned memory"));
            }
        }
        // SAFETY: as in `release_memory`.
        unsafe { give(address, bytes) };
        Ok(())
    }
}
