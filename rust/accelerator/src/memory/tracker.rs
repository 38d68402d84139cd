//! Memory trackers: counters of the allocations on a device while a part of a program runs.

use super::stats_api::resolve_if_initialized;
use crate::allocators::TrackerStats;
use crate::device::DeviceState;
use crate::{Device, Error, Result, current};

const WHAT: &str = "accelerator.memory.MemoryTracker";

/// Counts the allocations of all threads on a device until it is closed or dropped, like RMM's
/// `statistics_resource_adaptor`.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, MemoryTracker};
///
/// interlock_accelerator::use_named("host")?;
/// let tracker = MemoryTracker::open(None)?;
/// let buffer = DeviceBuffer::new(None, 4096)?;
/// drop(buffer);
/// let counted = tracker.close()?;
/// assert_eq!((counted.peak, counted.current), (4096, 0));
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[must_use = "the tracker ends when it is dropped"]
#[derive(Debug)]
pub struct MemoryTracker {
    /// The device and the id of the tracker; `None` without an accelerator, when nothing is allocated.
    counting: Option<(&'static DeviceState, u64)>,
}

impl MemoryTracker {
    /// Begins to count. `None` means the current device.
    ///
    /// # Errors
    /// Returns [`Error::DeviceUnavailable`].
    pub fn open(device: Option<Device>) -> Result<Self> {
        let (accelerator, index) = match current::resolve(device, WHAT) {
            Err(Error::NoAccelerator { .. }) => {
                return resolve_if_initialized(device).map(|_| MemoryTracker { counting: None });
            }
            resolved => resolved?,
        };
        let device = accelerator.device(index)?;
        let id = device.allocator(WHAT)?.open_tracker();
        Ok(MemoryTracker { counting: Some((device, id)) })
    }

    /// Returns the counts so far.
    ///
    /// # Errors
    /// Returns [`Error::Forked`] in a forked child.
    pub fn statistics(&self) -> Result<TrackerStats> {
        let Some((device, id)) = self.counting else { return Ok(TrackerStats::default()) };
        let stats = device.allocator(WHAT)?.tracker_stats(id);
        debug_assert!(stats.is_some(), "the tracker {id} is closed");
        Ok(stats.unwrap_or_default())
    }

    /// Stops counting; returns the counts.
    ///
    /// # Errors
    /// Returns [`Error::Forked`] in a forked child.
    pub fn close(self) -> Result<TrackerStats> {
        self.statistics()
    }
}

impl Drop for MemoryTracker {
    fn drop(&mut self) {
        if let Some((device, id)) = self.counting
            && let Ok(allocator) = device.allocator(WHAT)
        {
            allocator.close_tracker(id);
        }
    }
}
