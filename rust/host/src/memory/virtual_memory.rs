//! Addresses of devices that get their memory later, and piece by piece.
//!
//! A program that touches addresses without memory is ended by the system (SIGSEGV). Heap that was taken back goes
//! to the system at once, and comes again as zeroes, though a driver promises no content.

use std::ptr;

use interlock_driver::Address;

/// The granularity of real devices, so that programs meet here what they meet there.
pub(crate) const GRANULARITY: usize = 2 << 20;

/// Addresses that belong to no other object of this process, until it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    start: usize,
    bytes: usize,
}

impl Reservation {
    /// Addresses without memory, aligned to the granularity; `None` where the system has none.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
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
        drop(Reservation { start: found, bytes: start - found });
        drop(Reservation { start: start + bytes, bytes: found + GRANULARITY - start });
        Some(Reservation { start, bytes })
    }
}

impl Reservation {
    /// Returns the first address.
    pub(crate) fn address(&self) -> Address {
        Address(self.start as u64)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: the range came from `mmap`, and nobody has its addresses any more. That the system refuses
            // means that they stay taken.
            unsafe { libc::munmap(ptr::with_exposed_provenance_mut(self.start), self.bytes) };
        }
    }
}

/// Gives pages to a part of a reservation.
pub(crate) fn commit(address: Address, bytes: usize) -> bool {
    let pointer = ptr::with_exposed_provenance_mut(address.0 as usize);
    // SAFETY: the pages lie in a range of ours and were out of everybody's reach.
    unsafe { libc::mprotect(pointer, bytes, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}

/// Takes the pages of a part of a reservation, whose addresses stay reserved.
///
/// # Safety
/// They are not used.
pub(crate) unsafe fn decommit(address: Address, bytes: usize) -> bool {
    let pointer = ptr::with_exposed_provenance_mut(address.0 as usize);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the addresses lie in a range of ours, and the caller guarantees that they are not used.
    unsafe { libc::mmap(pointer, bytes, libc::PROT_NONE, flags, -1, 0) != libc::MAP_FAILED }
}

pub(crate) fn is_multiple(bytes: usize) -> bool {
    bytes > 0 && bytes.is_multiple_of(GRANULARITY)
}
