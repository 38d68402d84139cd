//! Statistics of pinned memory.

use std::time::Duration;

use interlock_core::base::short_sort::sort_short_by;

use crate::allocators::stats::{Quantity, Stat, append_parts, quantities};

quantities! {
    /// Statistics of pinned memory, with the names and meanings of PyTorch's `host_memory_stats`. Sizes are block
    /// sizes, after rounding.
    ///
    /// ```
    /// use interlock_accelerator::memory::{PinnedMemory, host_memory_stats};
    ///
    /// interlock_accelerator::use_named("host")?;
    /// let _pinned = PinnedMemory::new(4096)?;
    /// let statistics = host_memory_stats();
    /// assert_eq!((statistics.active_requests.current, statistics.num_host_alloc()), (1, 1));
    /// # Ok::<(), interlock_accelerator::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct PinnedStats {
        /// Blocks, in use or cached.
        pub allocations: Stat,
        /// Bytes of blocks, in use or cached.
        pub allocated_bytes: Stat,
        /// Blocks in use, by the program or by queued work.
        pub active_requests: Stat,
        /// Bytes of blocks in use.
        pub active_bytes: Stat,
        /// Durations of allocations by the driver.
        pub host_alloc_time: DurationStats,
        /// Durations of releases to the driver.
        pub host_free_time: DurationStats,
    }
}

/// Durations of calls of the driver, in microseconds.
///
/// ```
/// use interlock_accelerator::memory::{DurationStats, PinnedMemory, host_memory_stats};
///
/// interlock_accelerator::use_named("host")?;
/// let _pinned = PinnedMemory::new(4096)?;
/// let calls: DurationStats = host_memory_stats().host_alloc_time;
/// println!("{} calls of {} microseconds on average", calls.count, calls.avg());
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationStats {
    /// The sum of all durations.
    pub total: u64,
    /// The longest duration.
    pub max: u64,
    /// The shortest duration above 0; 0 if there is none.
    pub min: u64,
    /// The number of calls.
    pub count: u64,
}

impl DurationStats {
    pub(super) fn add(&mut self, duration: Duration) {
        let duration = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.total = self.total.saturating_add(duration);
        self.max = self.max.max(duration);
        self.min = if self.min == 0 { duration } else { self.min.min(duration) };
        self.count += 1;
    }

    /// Returns the average duration, rounded down.
    pub fn avg(&self) -> u64 {
        self.total.checked_div(self.count).unwrap_or(0)
    }
}

impl Quantity for DurationStats {
    fn reset_peak(&mut self) {
        (self.max, self.min) = (0, 0);
    }

    fn reset_accumulated(&mut self) {
        (self.total, self.count) = (0, 0);
    }

    fn append(&self, name: &str, numbers: &mut Vec<(String, i64)>) {
        let DurationStats { total, max, min, count } = *self;
        let parts =
            [(".total", total), (".max", max), (".min", min), (".count", count), (".avg", self.avg())];
        append_parts(name, parts, numbers);
    }
}

impl PinnedStats {
    /// Returns the number of blocks that were allocated by the driver.
    pub fn num_host_alloc(&self) -> u64 {
        self.allocations.allocated
    }

    /// Returns the number of blocks that were released to the driver.
    pub fn num_host_free(&self) -> u64 {
        self.allocations.freed
    }

    /// Counts a block that is added.
    pub(super) fn on_segment_alloc(&mut self, bytes: usize) {
        self.allocations.increase(1);
        self.allocated_bytes.increase(bytes as u64);
    }

    /// Counts a block that is released to the driver.
    pub(super) fn on_segment_free(&mut self, bytes: usize) {
        self.allocations.decrease(1);
        self.allocated_bytes.decrease(bytes as u64);
    }

    /// Counts a block that is allocated.
    pub(super) fn on_alloc(&mut self, bytes: usize) {
        self.active_requests.increase(1);
        self.active_bytes.increase(bytes as u64);
    }

    /// Counts a block that is free.
    pub(super) fn on_free(&mut self, bytes: usize) {
        self.active_requests.decrease(1);
        self.active_bytes.decrease(bytes as u64);
    }

    /// Returns all numbers under their names in PyTorch's `host_memory_stats`, sorted by name.
    pub fn named(&self) -> Vec<(String, i64)> {
        let mut named = self.sorted();
        let counts = [("num_host_alloc", self.num_host_alloc()), ("num_host_free", self.num_host_free())];
        append_parts("", counts, &mut named);
        sort_short_by(&mut named, |(one, _), (next, _)| one <= next);
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_stats_count_durations_of_calls() {
        let mut times = DurationStats::default();
        [5, 3, 9].into_iter().map(Duration::from_micros).for_each(|took| times.add(took));
        assert_eq!(times, DurationStats { total: 17, max: 9, min: 3, count: 3 });
        assert_eq!((times.avg(), DurationStats::default().avg()), (5, 0));
    }

    #[test]
    fn pinned_stats_resets_keep_current_amounts() {
        let mut counted = PinnedStats::default();
        counted.on_segment_alloc(64);
        counted.on_alloc(64);
        counted.on_segment_alloc(32);
        counted.on_segment_free(32);
        counted.host_alloc_time.add(Duration::from_micros(4));
        counted.reset_peak();
        let expected = Stat { current: 64, peak: 64, allocated: 96, freed: 32 };
        assert_eq!(
            (counted.allocated_bytes, counted.num_host_alloc(), counted.num_host_free()),
            (expected, 2, 1)
        );
        assert_eq!(counted.host_alloc_time, DurationStats { total: 4, max: 0, min: 0, count: 1 });
        counted.reset_accumulated();
        assert_eq!(counted.allocated_bytes, Stat { allocated: 0, freed: 0, ..expected });
        assert_eq!((counted.host_alloc_time, counted.active_requests.current), (DurationStats::default(), 1));
    }

    #[test]
    fn pinned_stats_named_is_complete_and_sorted() {
        let named = PinnedStats::default().named();
        assert_eq!(named.len(), 4 * 4 + 2 * 5 + 2);
        assert!(named.is_sorted() && named.iter().all(|(_, number)| *number == 0));
        assert!(named.iter().any(|(name, _)| name == "host_free_time.avg"));
    }
}
