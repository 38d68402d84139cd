//! Statistics of pinned memory.

use std::time::Duration;

use crate::memory::stats::{Quantity, Stat, append_parts, quantities};

quantities! {
    /// Statistics of pinned memory, with the names and meanings of PyTorch's `host_memory_stats`. Sizes are those of
    /// blocks, after rounding.
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
        /// Their bytes.
        pub allocated_bytes: Stat,
        /// Blocks in use, by the program or by queued work.
        pub active_requests: Stat,
        /// Their bytes.
        pub active_bytes: Stat,
        /// Durations of the driver's allocations.
        pub host_alloc_time: DurationStats,
        /// Durations of the driver's releases.
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
    /// The sum.
    pub total: u64,
    /// The longest.
    pub max: u64,
    /// The shortest above 0; 0 if there is none.
    pub min: u64,
    /// The number of calls.
    pub count: u64,
}

impl DurationStats {
    pub(super) fn add(&mut self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.total = self.total.saturating_add(took);
        self.max = self.max.max(took);
        self.min = if self.min == 0 { took } else { self.min.min(took) };
        self.count += 1;
    }

    /// The average, rounded down.
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
    /// The number of blocks that were added.
    pub fn num_host_alloc(&self) -> u64 {
        self.allocations.allocated
    }

    /// The number of blocks that were released.
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

    /// Counts a block that is in use from now on.
    pub(super) fn on_alloc(&mut self, bytes: usize) {
        self.active_requests.increase(1);
        self.active_bytes.increase(bytes as u64);
    }

    /// Counts a block that nothing uses any more.
    pub(super) fn on_free(&mut self, bytes: usize) {
        self.active_requests.decrease(1);
        self.active_bytes.decrease(bytes as u64);
    }

    /// Every number under its name in PyTorch's `host_memory_stats`, in the order of the names.
    pub fn named(&self) -> Vec<(String, i64)> {
        let mut named = self.sorted();
        let counts = [("num_host_alloc", self.num_host_alloc()), ("num_host_free", self.num_host_free())];
        append_parts("", counts, &mut named);
        named.sort();
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_tell_how_long_calls_took() {
        let mut times = DurationStats::default();
        [5, 3, 9].into_iter().map(Duration::from_micros).for_each(|took| times.add(took));
        assert_eq!(times, DurationStats { total: 17, max: 9, min: 3, count: 3 });
        assert_eq!((times.avg(), DurationStats::default().avg()), (5, 0));
    }

    #[test]
    fn resets_leave_what_is_there() {
        let mut counted = PinnedStats::default();
        counted.on_segment_alloc(64);
        counted.on_alloc(64);
        counted.on_segment_alloc(32);
        counted.on_segment_free(32);
        counted.host_alloc_time.add(Duration::from_micros(4));
        counted.reset_peak();
        let kept = Stat { current: 64, peak: 64, allocated: 96, freed: 32 };
        assert_eq!(
            (counted.allocated_bytes, counted.num_host_alloc(), counted.num_host_free()),
            (kept, 2, 1)
        );
        assert_eq!(counted.host_alloc_time, DurationStats { total: 4, max: 0, min: 0, count: 1 });
        counted.reset_accumulated();
        assert_eq!(counted.allocated_bytes, Stat { allocated: 0, freed: 0, ..kept });
        assert_eq!((counted.host_alloc_time, counted.active_requests.current), (DurationStats::default(), 1));
    }

    #[test]
    fn names_are_complete_and_in_order() {
        let named = PinnedStats::default().named();
        assert_eq!(named.len(), 4 * 4 + 2 * 5 + 2);
        assert!(named.is_sorted() && named.iter().all(|(_, number)| *number == 0));
        assert!(named.iter().any(|(name, _)| name == "host_free_time.avg"));
    }
}
