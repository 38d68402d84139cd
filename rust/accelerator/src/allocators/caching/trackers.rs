//! The counters of open memory trackers.

/// Allocations on a device while a [`MemoryTracker`](crate::memory::MemoryTracker) was open, in bytes.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, MemoryTracker};
///
/// interlock_accelerator::use_named("host")?;
/// let tracker = MemoryTracker::open(None)?;
/// let _buffers = [DeviceBuffer::new(None, 512)?, DeviceBuffer::new(None, 512)?];
/// let counted = tracker.statistics()?;
/// assert_eq!((counted.allocations, counted.total), (2, 1024));
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrackerStats {
    /// Bytes that were allocated since the tracker was opened and are still in use.
    pub current: u64,
    /// The maximum of [`current`](TrackerStats::current).
    pub peak: u64,
    /// All bytes that were allocated since the tracker was opened.
    pub total: u64,
    /// The number of allocations.
    pub allocations: u64,
}

/// The open trackers of a device.
#[derive(Debug, Default)]
pub(super) struct Trackers {
    open: Vec<Tracker>,
    opened: u64,
}

#[derive(Debug)]
struct Tracker {
    id: u64,
    /// The tick of the last allocation before the tracker was opened.
    opened_tick: u64,
    stats: TrackerStats,
}

impl Trackers {
    /// Opens a tracker after the allocation with this tick; returns its id.
    pub(super) fn open(&mut self, tick: u64) -> u64 {
        self.opened += 1;
        let tracker = Tracker { id: self.opened, opened_tick: tick, stats: TrackerStats::default() };
        self.open.push(tracker);
        self.opened
    }

    /// Returns whether a tracker is open.
    pub(super) fn is_any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns the counts of an open tracker.
    pub(super) fn stats(&self, id: u64) -> Option<TrackerStats> {
        self.open.iter().find(|tracker| tracker.id == id).map(|tracker| tracker.stats)
    }

    /// Closes a tracker.
    pub(super) fn close(&mut self, id: u64) {
        self.open.retain(|tracker| tracker.id != id);
    }

    /// Counts an allocation.
    #[inline]
    pub(super) fn on_alloc(&mut self, bytes: u64) {
        for Tracker { stats, .. } in &mut self.open {
            stats.current += bytes;
            stats.peak = stats.peak.max(stats.current);
            stats.total += bytes;
            stats.allocations += 1;
        }
    }

    /// Counts the free of a block that was allocated at a tick.
    #[inline]
    pub(super) fn on_free(&mut self, allocated_tick: u64, bytes: u64) {
        for tracker in self.open.iter_mut().filter(|tracker| tracker.opened_tick < allocated_tick) {
            tracker.stats.current = tracker.stats.current.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracker_counts_only_allocations_while_it_is_open() {
        let mut trackers = Trackers::default();
        let outer = trackers.open(0);
        trackers.on_alloc(10);
        let inner = trackers.open(1);
        trackers.on_alloc(5);
        trackers.on_free(1, 10);
        trackers.on_free(2, 5);
        trackers.on_alloc(2);
        let counted =
            |current, peak, total, allocations| Some(TrackerStats { current, peak, total, allocations });
        assert_eq!(trackers.stats(inner), counted(2, 5, 7, 2));
        trackers.close(inner);
        assert_eq!((trackers.stats(inner), trackers.stats(outer)), (None, counted(2, 15, 17, 3)));
    }
}
