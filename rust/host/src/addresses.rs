//! Addresses of devices that get their memory later, and piece by piece.
//!
//! A program that touches addresses without memory is ended by the system (SIGSEGV). Memory that was taken back goes
//! to the system at once, and comes again as zeroes, though a driver promises no content.

use std::ptr;

use interlock_driver::OutOfMemory;
use interlock_driver::Result;
use interlock_driver::va_space::{self, MAPPING, RELEASING, RESERVING, UNMAPPING};
use interlock_driver::{Address, DeviceIndex};

use super::device;
use super::memory::Memory;
use super::shared::Shared;

/// As much as devices give memory for at least, so that programs meet here what they meet there.
const GRANULARITY: usize = 2 << 20;

/// A range of addresses that belongs to nobody else in this process, until it is dropped.
#[derive(Debug)]
pub(super) struct Range {
    start: usize,
    bytes: usize,
}

impl Range {
    /// Addresses without memory, aligned to the granularity; `None` where the system has none.
    fn new(bytes: usize) -> Option<Self> {
        // Somewhere in so many lies what is aligned; the rest goes back.
        let all = bytes.checked_add(GRANULARITY)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: the system chooses addresses that nobody has.
        let pointer = unsafe { libc::mmap(ptr::null_mut(), all, libc::PROT_NONE, flags, -1, 0) };
        if pointer == libc::MAP_FAILED {
            return None;
        }
        let found = pointer.expose_provenance();
        let start = found.next_multiple_of(GRANULARITY);
        drop(Range { start: found, bytes: start - found });
        drop(Range { start: start + bytes, bytes: found + GRANULARITY - start });
        Some(Range { start, bytes })
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: the range came from `mmap`, and nobody has its addresses any more. That the system refuses
            // means that they stay taken.
            unsafe { libc::munmap(ptr::with_exposed_provenance_mut(self.start), self.bytes) };
        }
    }
}

impl Memory {
    fn remove_piece(&mut self, address: Address, bytes: usize) {
        if self.reservations.unmap(address, bytes) {
            self.unreserve(bytes);
        }
    }
}

/// Gives pages to a part of a reserved range.
fn give_pages(address: Address, bytes: usize) -> bool {
    let pointer = ptr::with_exposed_provenance_mut(address.0 as usize);
    // SAFETY: the pages lie in a range of ours and were out of everybody's reach.
    unsafe { libc::mprotect(pointer, bytes, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}

/// Takes the pages of a part of a reserved range, whose addresses stay ours.
///
/// # Safety
/// Nobody uses them.
unsafe fn take_pages(address: Address, bytes: usize) -> bool {
    let pointer = ptr::with_exposed_provenance_mut(address.0 as usize);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the addresses lie in a range of ours, and the caller vouches that nobody uses them.
    unsafe { libc::mmap(pointer, bytes, libc::PROT_NONE, flags, -1, 0) != libc::MAP_FAILED }
}

fn is_whole(bytes: usize) -> bool {
    bytes > 0 && bytes.is_multiple_of(GRANULARITY)
}

impl Shared {
    pub(super) fn mapping_granularity(&self, device: DeviceIndex) -> Result<usize> {
        self.lock()?.device(device, RESERVING).map(|_| GRANULARITY)
    }

    pub(super) fn reserve_addresses(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        self.lock()?.device(device, RESERVING)?;
        if !is_whole(bytes) {
            return Err(va_space::err_misaligned(bytes, GRANULARITY));
        }
        let out_of_memory = || OutOfMemory::error(device::named(device), bytes);
        // Without the lock, as the system may take its time.
        let range = Range::new(bytes).ok_or_else(out_of_memory)?;
        let address = Address(range.start as u64);
        self.lock()?.device(device, RESERVING)?.memory.reservations.reserve(address, bytes, range);
        Ok(address)
    }

    pub(super) fn free_addresses(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let (released, lost) = {
            let mut state = self.lock()?;
            let lost = state.check_not_lost(device, RELEASING);
            let memory = state.devices.get_mut(usize::from(device)).map(|device| &mut device.memory);
            let released = memory.and_then(|memory| memory.reservations.free(address, bytes));
            (released, lost)
        };
        if released.is_none() {
            return Err(va_space::err_not_reserved(device::named(device), address, bytes));
        }
        lost
    }

    pub(super) fn map(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let out_of_memory = || OutOfMemory::error(device::named(device), bytes);
        {
            let mut state = self.lock()?;
            let memory = &mut state.device(device, MAPPING)?.memory;
            let is_whole = is_whole(bytes) && address.0.is_multiple_of(GRANULARITY as u64);
            if !is_whole || !memory.reservations.is_unmapped(address, bytes) {
                return Err(va_space::err_not_unmapped(device::named(device), address, bytes, GRANULARITY));
            }
            if state.faults.allocation_fails() || !state.device(device, MAPPING)?.memory.reserve(bytes) {
                return Err(out_of_memory());
            }
            state.device(device, MAPPING)?.memory.reservations.map(address, bytes);
        }
        // Without the lock: the addresses are on the books, so no other call takes them.
        if give_pages(address, bytes) {
            return Ok(());
        }
        self.remove_piece(device, address, bytes)?;
        Err(out_of_memory())
    }

    /// # Safety
    /// As for [`Driver::unmap`](interlock_driver::Driver::unmap); what was not given memory, or only as a
    /// part, is an error.
    pub(super) unsafe fn unmap(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let lost = {
            let mut state = self.lock()?;
            let lost = state.check_not_lost(device, UNMAPPING);
            let memory = state.devices.get_mut(usize::from(device)).map(|device| &mut device.memory);
            if !memory.is_some_and(|memory| memory.reservations.is_mapping(address, bytes)) {
                return Err(va_space::err_not_mapped(device::named(device), address, bytes));
            }
            lost
        };
        // SAFETY: the addresses are on the books until the pages are gone, so nobody is given them in the meantime,
        // and the caller vouches that nobody uses them.
        if !unsafe { take_pages(address, bytes) } {
            return Err(OutOfMemory::error(device::named(device), bytes));
        }
        self.remove_piece(device, address, bytes)?;
        lost
    }

    /// Whether the device is lost or not.
    fn remove_piece(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        if let Some(device) = self.lock()?.devices.get_mut(usize::from(device)) {
            device.memory.remove_piece(address, bytes);
        }
        Ok(())
    }
}
