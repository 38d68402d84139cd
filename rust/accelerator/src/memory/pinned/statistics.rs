//! What is counted of pinned memory.

use std::time::Duration;

use super::super::statistics::Stat;

/// What is counted of pinned memory, with the names and meanings of PyTorch's `host_memory_stats`. Sizes are those of
/// blocks, after rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostStatistics {
    /// Blocks, in use or kept.
    pub allocations: Stat,
    /// Their bytes.
    pub allocated_bytes: Stat,
    /// Blocks in use, by the program or by what is queued.
    pub active_requests: Stat,
    /// Their bytes.
    pub active_bytes: Stat,
    /// How long the driver took to give memory.
    pub host_alloc_time: Times,
    /// How long it took to get some back.
    pub host_free_time: Times,
}

/// How long calls of a driver took, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// All together.
    pub total: u64,
    /// The longest one.
    pub max: u64,
    /// The shortest one that took any time; 0 where there was none.
    pub min: u64,
    /// How many there were.
    pub count: u64,
}

impl Times {
    pub(super) fn add(&mut self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.total = self.total.saturating_add(took);
        self.max = self.max.max(took);
        self.min = if self.min == 0 { took } else { self.min.min(took) };
        self.count += 1;
    }

    /// How long one took on average, rounded down.
    pub fn avg(&self) -> u64 {
        self.total.checked_div(self.count).unwrap_or(0)
    }

    /// The five numbers by name.
    pub fn named(&self) -> [(&'static str, u64); 5] {
        [
            ("total", self.total),
            ("max", self.max),
            ("min", self.min),
            ("count", self.count),
            ("avg", self.avg()),
        ]
    }
}

impl HostStatistics {
    fn stats(&mut self) -> [&mut Stat; 4] {
        [&mut self.allocations, &mut self.allocated_bytes, &mut self.active_requests, &mut self.active_bytes]
    }

    fn times(&mut self) -> [&mut Times; 2] {
        [&mut self.host_alloc_time, &mut self.host_free_time]
    }

    /// How many blocks were made.
    pub fn num_host_alloc(&self) -> u64 {
        self.allocations.allocated
    }

    /// How many blocks were given back.
    pub fn num_host_free(&self) -> u64 {
        self.allocations.freed
    }

    /// The cache has a block more.
    pub(super) fn made(&mut self, bytes: usize) {
        self.allocations.add(1);
        self.allocated_bytes.add(bytes as u64);
    }

    /// A block goes back to the driver.
    pub(super) fn given_back(&mut self, bytes: usize) {
        self.allocations.take(1);
        self.allocated_bytes.take(bytes as u64);
    }

    /// A block is in use.
    pub(super) fn handed_out(&mut self, bytes: usize) {
        self.active_requests.add(1);
        self.active_bytes.add(bytes as u64);
    }

    /// Nothing uses a block any more.
    pub(super) fn come_back(&mut self, bytes: usize) {
        self.active_requests.take(1);
        self.active_bytes.take(bytes as u64);
    }

    /// Peaks are what there is now, and no call was the longest or the shortest.
    pub(super) fn reset_peak(&mut self) {
        self.stats().into_iter().for_each(Stat::reset_peak);
        for times in self.times() {
            (times.max, times.min) = (0, 0);
        }
    }

    /// Counts anew what goes up and down, and the calls of the driver.
    pub(super) fn reset_accumulated(&mut self) {
        self.stats().into_iter().for_each(Stat::reset_accumulated);
        for times in self.times() {
            (times.total, times.count) = (0, 0);
        }
    }

    /// Every number under its name in PyTorch's `host_memory_stats`, in the order of the names.
    pub fn named(&self) -> Vec<(String, u64)> {
        let stats = [
            ("allocations", self.allocations),
            ("allocated_bytes", self.allocated_bytes),
            ("active_requests", self.active_requests),
            ("active_bytes", self.active_bytes),
        ];
        let stats = stats.into_iter().flat_map(|(name, stat)| stat.named().map(|part| (name, part)));
        let times = [("host_alloc_time", self.host_alloc_time), ("host_free_time", self.host_free_time)];
        let times = times.into_iter().flat_map(|(name, times)| times.named().map(|part| (name, part)));
        let parts = stats.chain(times).map(|(name, (part, number))| (format!("{name}.{part}"), number));
        let counts = [("num_host_alloc", self.num_host_alloc()), ("num_host_free", self.num_host_free())];
        let mut named: Vec<_> = parts.collect();
        named.extend(counts.map(|(name, number)| (name.to_owned(), number)));
        named.sort();
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_tell_how_long_calls_took() {
        let mut times = Times::default();
        [5, 3, 9].into_iter().map(Duration::from_micros).for_each(|took| times.add(took));
        assert_eq!(times, Times { total: 17, max: 9, min: 3, count: 3 });
        assert_eq!((times.avg(), Times::default().avg()), (5, 0));
    }

    #[test]
    fn resets_leave_what_is_there() {
        let mut counted = HostStatistics::default();
        counted.made(64);
        counted.handed_out(64);
        counted.made(32);
        counted.given_back(32);
        counted.host_alloc_time.add(Duration::from_micros(4));
        counted.reset_peak();
        let kept = Stat { current: 64, peak: 64, allocated: 96, freed: 32 };
        assert_eq!(
            (counted.allocated_bytes, counted.num_host_alloc(), counted.num_host_free()),
            (kept, 2, 1)
        );
        assert_eq!(counted.host_alloc_time, Times { total: 4, max: 0, min: 0, count: 1 });
        counted.reset_accumulated();
        assert_eq!(counted.allocated_bytes, Stat { allocated: 0, freed: 0, ..kept });
        assert_eq!((counted.host_alloc_time, counted.active_requests.current), (Times::default(), 1));
    }

    #[test]
    fn names_are_complete_and_in_order() {
        let named = HostStatistics::default().named();
        assert_eq!(named.len(), 4 * 4 + 2 * 5 + 2);
        assert!(named.is_sorted() && named.iter().all(|(_, number)| *number == 0));
        assert!(named.iter().any(|(name, _)| name == "host_free_time.avg"));
    }
}
