//! Memory of the processor that devices reach without a detour.

mod books;
mod cache;
mod marks;
mod options;
mod statistics;
#[cfg(test)]
mod tests;

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

pub(in crate::accelerator) use cache::PinnedCache;
pub use statistics::{HostStatistics, Times};

use super::super::driver::{Address, KeepAlive};
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
    uses: Mutex<Uses>,
}

/// What uses the bytes besides the program.
#[derive(Debug, Default)]
struct Uses {
    streams: Vec<Stream>,
    /// A graph that does not own the bytes.
    graph: bool,
}

impl PinnedMemory {
    /// `bytes` bytes, not initialised. Fails with [`Error::OutOfMemory`](crate::Error::OutOfMemory), and without an
    /// accelerator.
    pub fn new(bytes: usize) -> Result<Self> {
        Self::of(registry::in_use("pinned memory")?, bytes)
    }

    fn of(home: &'static Accelerator, bytes: usize) -> Result<Self> {
        let address = match bytes {
            0 => Address(0),
            _ => home.pinned().allocate(home.driver_for("the accelerator")?, bytes)?,
        };
        Ok(PinnedMemory(Arc::new(Pinned { home, address, bytes, uses: Mutex::default() })))
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
    /// been done. While the stream captures, nobody gets them any more at all, because a replay may use them at any
    /// time; [`prepare_use`](PinnedMemory::prepare_use) knows better.
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        let captures = stream.is_capturing().map_err(|error| error.during("PinnedMemory.record_stream"))?;
        self.0.record(stream, captures)
    }

    /// Records that work which is queued on `stream` next uses the bytes, and returns what that work has to own, if
    /// anything. While the stream captures that is the memory itself, because a replay uses it again.
    pub fn prepare_use(&self, stream: &Stream) -> Result<Option<KeepAlive>> {
        if stream.is_capturing().map_err(|error| error.during("a copy of pinned memory"))? {
            return Ok(Some(self.0.clone()));
        }
        self.0.record(stream, false)?;
        Ok(None)
    }

    /// Whether the byte at `pointer` is in pinned memory that this process has.
    pub fn is_pinned(pointer: *const u8) -> bool {
        registry::used_already().is_some_and(|home| home.pinned().lock().books.is_held(pointer as u64))
    }

    /// The bytes as one end of a copy, on `stream` or another.
    pub fn as_end(&self, stream: &Stream) -> Result<HostMemory> {
        stream.handle().map(|_| HostMemory::pinned(self))
    }
}

impl Pinned {
    fn record(&self, stream: &Stream, graph: bool) -> Result<()> {
        self.home.driver_for("pinned memory")?;
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        uses.graph |= graph;
        if !graph && !uses.streams.contains(stream) {
            uses.streams.push(stream.clone());
        }
        Ok(())
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let uses = std::mem::take(self.uses.get_mut().unwrap_or_else(PoisonError::into_inner));
        // A child can't reach the memory of its parent; it is left alone.
        if self.bytes != 0
            && !uses.graph
            && let Ok(driver) = self.home.driver_for("pinned memory")
        {
            self.home.pinned().free(driver, self.address, uses.streams);
        }
    }
}

/// What is counted of pinned memory; nothing before an accelerator is used.
pub fn host_memory_stats() -> HostStatistics {
    registry::used_already().map(|home| home.pinned().lock().books.statistics).unwrap_or_default()
}

/// Gives pinned memory back that nothing uses. Waits for nothing that is queued.
pub fn empty_host_cache() {
    if let Some(home) = registry::used_already()
        && let Ok(driver) = home.driver_for("pinned memory")
    {
        home.pinned().empty(driver);
    }
}

/// Peaks are what there is now, and no call of the driver was the longest or the shortest.
pub fn reset_peak_host_memory_stats() {
    if let Some(home) = registry::used_already() {
        home.pinned().lock().books.statistics.reset_peak();
    }
}

/// Counts anew how much was allocated and freed, and how long that took.
pub fn reset_accumulated_host_memory_stats() {
    if let Some(home) = registry::used_already() {
        home.pinned().lock().books.statistics.reset_accumulated();
    }
}
