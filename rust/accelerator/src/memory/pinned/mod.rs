//! Pinned memory: page-locked memory of the host, which devices access directly (`cudaHostAlloc`).

mod pool;
mod recorder;
mod stats;
#[cfg(test)]
mod tests;

use std::ptr::NonNull;
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use pool::{BlockPool, PinnedOptions, Segment, ToFree};
pub use stats::{DurationStats, PinnedStats};

use interlock_core::base::mutex::Mutex;
use interlock_driver::{Address, Owners, races};

use super::config::{AllocatorConfig, ConfigWatch};
use super::event_queue::EventQueue;
use super::stats::Quantity;
use super::trace::{HistoryConfig, TraceEntry};
use super::{BlockState, DynDriver, HostMemory};
use crate::accelerator::Accelerator;
use crate::{Error, Result, Stream, current, registry};

/// Bytes of pinned memory. Clones share the memory, which is freed with the last of them; it is reused only after work
/// that was queued by then and that was [recorded](PinnedMemory::record_stream).
///
/// ```
/// use interlock_accelerator::current_stream;
/// use interlock_accelerator::memory::{CopyOperand, DeviceBuffer, PinnedMemory, copy};
///
/// interlock_accelerator::use_named("host")?;
/// let (device, pinned) = (DeviceBuffer::new(None, 64)?, PinnedMemory::new(64)?);
/// device.fill(5, None)?;
/// let target = CopyOperand::Host(pinned.as_operand(&current_stream(None)?)?);
/// copy(&target, &CopyOperand::Device(device), None, true)?.synchronize()?;
/// // SAFETY: the copy has written all bytes, and nothing else uses them.
/// assert_eq!(unsafe { pinned.pointer().read() }, 5);
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PinnedMemory(Arc<Pinned>);

#[derive(Debug)]
struct Pinned {
    accelerator: &'static Accelerator,
    /// The address of the first byte; 0 for no bytes.
    address: Address,
    bytes: usize,
    uses: Mutex<Uses>,
}

/// The recorded uses of the bytes by queued work.
#[derive(Debug, Default)]
struct Uses {
    streams: Vec<Stream>,
    /// Whether a graph that does not own the bytes uses them.
    graph: bool,
}

impl PinnedMemory {
    /// Allocates `bytes` uninitialized bytes.
    ///
    /// # Errors
    /// Returns [`Error::OutOfMemory`], and [`Error::NoAccelerator`].
    pub fn new(bytes: usize) -> Result<Self> {
        Self::of(registry::accelerator("pinned memory")?, bytes)
    }

    fn of(accelerator: &'static Accelerator, bytes: usize) -> Result<Self> {
        let address = match bytes {
            0 => Address(0),
            _ => accelerator.pinned().allocate(accelerator.driver_for("the accelerator")?, bytes)?,
        };
        races::allocate(address, bytes, None);
        Ok(PinnedMemory(Arc::new(Pinned { accelerator, address, bytes, uses: Mutex::default() })))
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Returns a pointer to the first byte; dangling if there are no bytes.
    pub fn pointer(&self) -> NonNull<u8> {
        let address = std::ptr::with_exposed_provenance_mut(self.0.address.0 as usize);
        NonNull::new(address).unwrap_or(NonNull::dangling())
    }

    /// Records that work on `stream` uses the bytes, like PyTorch's `record_stream`: when they are freed, they are
    /// reused only after the work that is queued there. If the stream is being captured, they are never reused, because
    /// a replay may use them at any time; [`prepare_use`](PinnedMemory::prepare_use) avoids that.
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        let captures = stream.is_capturing().map_err(|error| error.during("PinnedMemory.record_stream"))?;
        self.0.record(stream, captures)
    }

    /// Prepares the bytes for work that is queued on `stream` next, with the returned owners: they are reused only
    /// after the work, and a graph that records the work owns them, because a replay uses them again.
    pub fn prepare_use(&self, stream: &Stream) -> Result<Owners> {
        stream.driver()?.check_not_lost(stream.device_index(), "a copy of pinned memory")?;
        self.0.record(stream, false)?;
        Ok(Owners::in_graphs(self.0.clone(), None))
    }

    /// Returns whether the byte at `pointer` is in allocated pinned memory of this process.
    pub fn is_pinned(pointer: *const u8) -> bool {
        registry::try_accelerator()
            .is_some_and(|accelerator| accelerator.pinned().lock().pool.is_allocated(pointer as u64))
    }

    /// Returns the bytes as an operand of a copy.
    ///
    /// # Errors
    /// Returns [`Error::Forked`] if `stream` belongs to the parent of this process.
    pub fn as_operand(&self, stream: &Stream) -> Result<HostMemory> {
        stream.handle().map(|_| HostMemory::pinned(self))
    }
}

impl Pinned {
    fn record(&self, stream: &Stream, graph: bool) -> Result<()> {
        self.accelerator.driver_for("pinned memory")?;
        let mut uses = self.uses.lock();
        uses.graph |= graph;
        if !graph && !uses.streams.contains(stream) {
            uses.streams.push(stream.clone());
        }
        Ok(())
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let uses = std::mem::take(self.uses.get_mut());
        // A forked child can't use the memory of its parent and does not free it.
        if self.bytes != 0
            && !uses.graph
            && let Ok(driver) = self.accelerator.driver_for("pinned memory")
        {
            races::release(self.address, self.bytes);
            self.accelerator.pinned().free(driver, self.address, uses.streams);
        }
    }
}

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

    /// Begins or ends the recording of events, unless a later change was applied already. If the change `begins` a
    /// history, here or on devices, earlier entries are discarded.
    pub(super) fn set_history(&self, changes: u64, begins: bool, config: Option<HistoryConfig>) {
        // Many entries may be dropped, so this happens without the lock.
        let dropped = self.lock().pool.recorder.log.configure(changes, begins, config);
        drop(dropped);
    }

    /// Returns the blocks and the recorded entries; nothing if pinned memory was not recorded.
    pub(super) fn snapshot(&self) -> (Vec<BlockState>, Vec<TraceEntry>) {
        let inner = self.lock();
        let log = &inner.pool.recorder.log;
        let entries = log.entries();
        if entries.is_empty() && !log.is_recording() {
            return Default::default();
        }
        (inner.pool.block_states(), entries)
    }

    /// Allocates a block for `bytes` bytes. `bytes` must not be 0.
    fn allocate(&self, driver: &DynDriver, bytes: usize) -> Result<Address> {
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
        let address =
            driver.allocate_pinned(current::current_index_or_zero(driver.device_count() as usize), bytes)?;
        let duration = start.elapsed();
        self.lock().pool.stats.host_alloc_time.add(duration);
        Ok(address)
    }

    /// Frees a block of the program, after the queued work of these streams.
    fn free(&self, driver: &DynDriver, address: Address, streams: Vec<Stream>) {
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
    fn release_cached_blocks(&self, driver: &DynDriver) {
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

/// Calls `function` with the statistics, if an accelerator is in use.
fn with_stats<T: Default>(function: impl FnOnce(&mut PinnedStats) -> T) -> T {
    registry::try_accelerator()
        .map_or_else(T::default, |accelerator| function(&mut accelerator.pinned().lock().pool.stats))
}

/// Returns the statistics of pinned memory, all zero before its first use.
pub fn host_memory_stats() -> PinnedStats {
    with_stats(|stats| *stats)
}

/// Releases unused pinned memory to the driver. Does not wait for queued work.
pub fn empty_host_cache() {
    if let Some(accelerator) = registry::try_accelerator()
        && let Ok(driver) = accelerator.driver_for("pinned memory")
    {
        accelerator.pinned().release_cached_blocks(driver);
    }
}

/// Sets the peaks of the statistics to the current amounts, and the longest and the shortest duration to 0.
pub fn reset_peak_host_memory_stats() {
    with_stats(Quantity::reset_peak);
}

/// Sets the sums of the statistics to 0.
pub fn reset_accumulated_host_memory_stats() {
    with_stats(Quantity::reset_accumulated);
}
