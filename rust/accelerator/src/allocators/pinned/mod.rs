//! The cache of pinned memory: page-locked memory of the host, which devices access directly (`cudaHostAlloc`).

mod pool;
mod recorder;
mod stats;
#[cfg(test)]
mod tests;

use std::sync::MutexGuard;
use std::time::Instant;

use pool::{BlockPool, PinnedOptions, Segment, ToFree};
pub use stats::{DurationStats, PinnedStats};

use interlock_core::base::mutex::Mutex;
use interlock_driver::Address;

use super::DynDriver;
use super::config::{AllocatorConfig, ConfigWatch};
use super::event_queue::EventQueue;
use super::snapshot::BlockState;
use super::trace::{Recording, TraceEntry};
use crate::started::current_index_or_zero;
use crate::stream::Stream;
use crate::{Error, Result};

/// The cache of pinned memory of an accelerator.
///
/// Its lock is never held while the driver allocates or releases memory, nor while a stream is dropped. It is not taken
/// in a forked child: callers check that this process started the driver.
#[derive(Debug, Default)]
pub(crate) struct PinnedCache {
    config: ConfigWatch,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    pool: BlockPool,
    /// Freed blocks that streams still use.
    events: EventQueue<Address>,
    /// The number of the configuration that was applied last.
    config_number: u64,
}

impl PinnedCache {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Begins or ends the recording of events, unless a later change was applied already. If the change begins a
    /// history, here or on devices, earlier entries are discarded.
    pub(crate) fn set_history(&self, recording: &Recording) {
        // Many entries may be dropped, so this happens without the lock.
        let dropped = self.lock().pool.recorder.log.configure(recording, recording.of_pinned());
        drop(dropped);
    }

    /// Reads or resets the statistics.
    pub(crate) fn with_stats<T>(&self, function: impl FnOnce(&mut PinnedStats) -> T) -> T {
        function(&mut self.lock().pool.stats)
    }

    /// Returns whether an address is in an allocated block.
    pub(crate) fn is_allocated(&self, address: u64) -> bool {
        self.lock().pool.is_allocated(address)
    }

    /// Returns the blocks and the recorded entries; nothing if pinned memory was not recorded.
    pub(crate) fn snapshot(&self) -> (Vec<BlockState>, Vec<TraceEntry>) {
        let inner = self.lock();
        let log = &inner.pool.recorder.log;
        let entries = log.entries();
        if entries.is_empty() && !log.is_recording() {
            return Default::default();
        }
        (inner.pool.block_states(), entries)
    }

    /// Allocates a block for `bytes` bytes. `bytes` must not be 0.
    pub(crate) fn allocate(&self, driver: &DynDriver, bytes: usize) -> Result<Address> {
        self.config.refresh(|number, config| {
            self.lock().configure(number, config);
            Ok(())
        })?;
        self.process_events(driver);
        let rounded = self.lock().pool.options.round(bytes);
        match self.allocate_block(driver, rounded) {
            Err(Error::OutOfMemory(_)) => {}
            done => return done,
        }
        // Blocks that were freed in the meantime may serve the request, or the memory of cached ones.
        self.release_cached_blocks(driver);
        match self.allocate_block(driver, rounded) {
            Err(Error::OutOfMemory(mut error)) => {
                error.requested = bytes;
                error.cache = Some(self.lock().pool.oom_state(rounded));
                Err(Error::OutOfMemory(error))
            }
            done => done,
        }
    }

    fn allocate_block(&self, driver: &DynDriver, rounded: usize) -> Result<Address> {
        let missing_segment = {
            let mut inner = self.lock();
            if let Some(address) = inner.pool.allocate(rounded) {
                return Ok(address);
            }
            inner.pool.missing_segment()
        };
        if let Some(bytes) = missing_segment {
            self.allocate_segment(driver, bytes);
        }
        if let Some(address) = self.lock().pool.allocate_in_segment(rounded) {
            return Ok(address);
        }
        let address = self.timed_allocation(driver, rounded)?;
        self.lock().pool.add_block(address, rounded);
        Ok(address)
    }

    /// Allocates the segment. If the driver has too little memory for it, blocks are allocated one by one.
    fn allocate_segment(&self, driver: &DynDriver, bytes: usize) {
        let allocated = self.timed_allocation(driver, bytes);
        let segment = allocated
            .map_or_else(|_| Segment::default(), |address| Segment { address: address.0, bytes, used: 0 });
        let to_free = self.lock().pool.set_segment(segment);
        self.release(driver, to_free);
    }

    fn timed_allocation(&self, driver: &DynDriver, bytes: usize) -> Result<Address> {
        let start = Instant::now();
        let address = driver.allocate_pinned(current_index_or_zero(driver.device_count() as usize), bytes)?;
        let duration = start.elapsed();
        self.lock().pool.stats.host_alloc_time.add(duration);
        Ok(address)
    }

    /// Frees a block of the program, after the queued work of these streams.
    pub(crate) fn free(&self, driver: &DynDriver, address: Address, streams: Vec<Stream>) {
        let to_free = {
            let mut inner = self.lock();
            streams.iter().for_each(|stream| inner.events.push(driver, stream, address));
            inner.pool.free(address, streams.len())
        };
        self.release(driver, to_free);
        // Without the lock, because dropping the last handle of a stream calls the driver.
        drop(streams);
    }

    /// Frees blocks whose events have completed.
    fn process_events(&self, driver: &DynDriver) {
        let (to_free, unneeded) = {
            let Inner { pool, events, .. } = &mut *self.lock();
            let unneeded = events.retry_deferred(driver);
            let completed = events.drain_completed(driver, None).into_iter();
            (completed.filter_map(|address| pool.complete_event(address)).collect::<Vec<_>>(), unneeded)
        };
        self.release(driver, to_free);
        // Without the lock, because dropping the last handle of a stream calls the driver.
        drop(unneeded);
    }

    /// Returns the number of events and the bytes that the cache owns and the program does not use.
    #[cfg(feature = "host")]
    pub(crate) fn cached(&self) -> (usize, u64) {
        let inner = self.lock();
        (inner.events.owned_events(), inner.pool.cached_bytes())
    }

    /// Releases unused blocks to the driver.
    pub(crate) fn release_cached_blocks(&self, driver: &DynDriver) {
        self.process_events(driver);
        let to_free = self.lock().pool.release_cached_blocks();
        self.release(driver, to_free);
    }

    fn release(&self, driver: &DynDriver, to_free: impl IntoIterator<Item = ToFree>) {
        for ToFree { address, bytes } in to_free {
            let start = Instant::now();
            // SAFETY: the driver allocated it with this size, nothing uses it, and it was removed from the pool.
            // Errors are ignored: a driver that fails has no memory to release.
            let _ = unsafe { driver.free_pinned(address, bytes) };
            let duration = start.elapsed();
            self.lock().pool.stats.host_free_time.add(duration);
        }
    }
}

impl Inner {
    /// Applies a configuration, unless a later one was applied.
    fn configure(&mut self, number: u64, config: &AllocatorConfig) {
        if number > self.config_number {
            self.config_number = number;
            self.pool.options = PinnedOptions::of(config);
        }
    }
}
