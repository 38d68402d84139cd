//! Pinned memory: page-locked memory of the host, which devices access directly (`cudaHostAlloc`).

use std::ptr::NonNull;
use std::sync::Arc;

use interlock_core::base::mutex::Mutex;
use interlock_driver::{Address, Owners, races};

use super::HostMemory;
use crate::accelerator::Accelerator;
use crate::allocators::pinned::PinnedStats;
use crate::allocators::stats::Quantity;
use crate::stream::Stream;
use crate::{Result, registry};

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
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory), and [`Error::NoAccelerator`](crate::Error::NoAccelerator).
    pub fn new(bytes: usize) -> Result<Self> {
        Self::of(registry::accelerator("pinned memory")?, bytes)
    }

    pub(crate) fn of(accelerator: &'static Accelerator, bytes: usize) -> Result<Self> {
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
            .is_some_and(|accelerator| accelerator.pinned().is_allocated(pointer as u64))
    }

    /// Returns the bytes as an operand of a copy.
    ///
    /// # Errors
    /// Returns [`Error::Forked`](crate::Error::Forked) if `stream` belongs to the parent of this process.
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

/// Calls `function` with the statistics, if an accelerator is in use.
fn with_stats<T: Default>(function: impl FnOnce(&mut PinnedStats) -> T) -> T {
    registry::try_accelerator()
        .map_or_else(T::default, |accelerator| accelerator.pinned().with_stats(function))
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
