//! Virtual memory: address reservations whose pages are committed and decommitted.
//!
//! An access to addresses without memory raises `SIGSEGV`. Decommitted pages return to the system at once; pages that
//! are committed again are zeroed, although drivers do not guarantee any content.

use std::ptr;

use interlock_driver::Address;

/// The mapping granularity in bytes: 2 MiB, as on NVIDIA GPUs.
pub(crate) const GRANULARITY: usize = 2 << 20;

/// A range of addresses that is reserved in this process until it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    start: usize,
    bytes: usize,
}

impl Reservation {
    /// Reserves addresses aligned to the granularity; returns `None` if the system has none.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        // Reserves more, to find an aligned range in it; the rest is unmapped.
        let all = bytes.checked_add(GRANULARITY)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: without `MAP_FIXED`, the system chooses unused addresses.
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

    /// Returns the first address.
    pub(crate) fn address(&self) -> Address {
        Address(self.start as u64)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: `mmap` returned the range, and its addresses are not used any more. If `munmap` fails, they leak.
            unsafe { libc::munmap(ptr::with_exposed_provenance_mut(self.start), self.bytes) };
        }
    }
}

/// Commits the pages of a part of a reservation.
pub(crate) fn commit(address: Address, bytes: usize) -> bool {
    let pointer = ptr::with_exposed_provenance_mut(address.0 as usize);
    // SAFETY: the range is part of a reservation of this driver, and no code could access it before.
    unsafe { libc::mprotect(pointer, bytes, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}

/// Decommits the pages of a part of a reservation, whose addresses stay reserved.
///
/// # Safety
/// The pages are not used.
pub(crate) unsafe fn decommit(address: Address, bytes: usize) -> bool {
    let pointer = ptr::with_exposed_provenance_mut(address.0 as usize);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the range is part of a reservation of this driver, and the caller guarantees that it is not used.
    unsafe { libc::mmap(pointer, bytes, libc::PROT_NONE, flags, -1, 0) != libc::MAP_FAILED }
}

pub(crate) fn is_multiple(bytes: usize) -> bool {
    bytes > 0 && bytes.is_multiple_of(GRANULARITY)
}
