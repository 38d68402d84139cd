//! What is counted of memory, by PyTorch's names.

use super::super::PoolId;

/// A number that goes up and down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// How much there is now.
    pub current: u64,
    /// How much there was at most, since it was last reset.
    pub peak: u64,
    /// By how much it went up, since it was last reset.
    pub allocated: u64,
    /// By how much it went down, since it was last reset.
    pub freed: u64,
}

impl Stat {
    /// Goes up.
    pub(super) fn add(&mut self, amount: u64) {
        self.current += amount;
        self.peak = self.peak.max(self.current);
        self.allocated += amount;
    }

    /// Goes down.
    pub(super) fn take(&mut self, amount: u64) {
        self.current = self.current.saturating_sub(amount);
        self.freed += amount;
    }

    /// Goes from one amount to another, of which it counts the difference alone.
    pub(super) fn change(&mut self, before: u64, after: u64) {
        if after >= before {
            self.add(after - before);
        } else {
            self.take(before - after);
        }
    }

    /// The peak is what there is now.
    pub(super) fn reset_peak(&mut self) {
        self.peak = self.current;
    }

    /// Counts anew what goes up and down.
    pub(super) fn reset_accumulated(&mut self) {
        (self.allocated, self.freed) = (0, 0);
    }

    /// The four numbers by name.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        [("current", self.current), ("peak", self.peak), ("allocated", self.allocated), ("freed", self.freed)]
    }
}

/// A number for all pieces, and for those from small and from large segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByPool {
    /// All.
    pub all: Stat,
    /// From small segments: up to 1 MiB each.
    pub small_pool: Stat,
    /// From large segments.
    pub large_pool: Stat,
}

impl ByPool {
    /// The number for all goes up, and the one for the pieces meant.
    pub(super) fn add(&mut self, small: bool, amount: u64) {
        self.both(small, |stat| stat.add(amount));
    }

    /// Both go down.
    pub(super) fn take(&mut self, small: bool, amount: u64) {
        self.both(small, |stat| stat.take(amount));
    }

    /// Both go from one amount to another.
    pub(super) fn change(&mut self, small: bool, before: u64, after: u64) {
        self.both(small, |stat| stat.change(before, after));
    }

    fn both(&mut self, small: bool, count: impl Fn(&mut Stat)) {
        count(&mut self.all);
        count(if small { &mut self.small_pool } else { &mut self.large_pool });
    }

    fn each(&mut self) -> [&mut Stat; 3] {
        [&mut self.all, &mut self.small_pool, &mut self.large_pool]
    }

    /// The three numbers by name.
    pub fn named(&self) -> [(&'static str, Stat); 3] {
        [("all", self.all), ("small_pool", self.small_pool), ("large_pool", self.large_pool)]
    }
}

/// What is counted of a device's memory. Names and meanings are those of PyTorch's `memory_stats`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Pieces in use.
    pub allocation: ByPool,
    /// Segments taken from the driver.
    pub segment: ByPool,
    /// Pieces in use, or freed and still used by what other streams have queued.
    pub active: ByPool,
    /// Free pieces that share their segment with others.
    pub inactive_split: ByPool,
    /// Bytes of the pieces in use.
    pub allocated_bytes: ByPool,
    /// Bytes taken from the driver.
    pub reserved_bytes: ByPool,
    /// Bytes of active pieces.
    pub active_bytes: ByPool,
    /// Bytes of free pieces that share their segment with others.
    pub inactive_split_bytes: ByPool,
    /// Bytes that were asked for, of active pieces, before rounding.
    pub requested_bytes: ByPool,
    /// Oversize pieces in use.
    pub oversize_allocations: Stat,
    /// Oversize segments.
    pub oversize_segments: Stat,
    /// How often a request was served only after everything unused had been given back.
    pub num_alloc_retries: u64,
    /// How many requests could not be served.
    pub num_ooms: u64,
    /// How often everything that streams still used was awaited.
    pub num_sync_all_streams: u64,
    /// How often the driver gave memory.
    pub num_device_alloc: u64,
    /// How often it got some back.
    pub num_device_free: u64,
    /// How many requests were refused without asking the driver, which had too little.
    pub num_oom_rejections: u64,
    /// The size from which pieces are oversize, in bytes; -1 where there is none.
    pub max_split_size: i64,
    /// Bytes taken from the driver for pools of graphs.
    pub reserved_bytes_by_private_pools: Vec<(PoolId, ByPool)>,
}

impl Statistics {
    /// Nothing counted yet.
    pub(super) fn new() -> Self {
        Statistics { max_split_size: -1, ..Statistics::default() }
    }

    fn pools(&mut self) -> impl Iterator<Item = &mut ByPool> {
        let all = [
            &mut self.allocation,
            &mut self.segment,
            &mut self.active,
            &mut self.inactive_split,
            &mut self.allocated_bytes,
            &mut self.reserved_bytes,
            &mut self.active_bytes,
            &mut self.inactive_split_bytes,
            &mut self.requested_bytes,
        ];
        all.into_iter().chain(self.reserved_bytes_by_private_pools.iter_mut().map(|(_, pool)| pool))
    }

    /// Peaks are what there is now.
    pub(super) fn reset_peak(&mut self) {
        self.pools().flat_map(ByPool::each).for_each(Stat::reset_peak);
        self.oversize_allocations.reset_peak();
        self.oversize_segments.reset_peak();
    }

    /// Counts anew what goes up and down, and how often something happened.
    pub(super) fn reset_accumulated(&mut self) {
        self.pools().flat_map(ByPool::each).for_each(Stat::reset_accumulated);
        self.oversize_allocations.reset_accumulated();
        self.oversize_segments.reset_accumulated();
        self.num_alloc_retries = 0;
        self.num_ooms = 0;
        self.num_sync_all_streams = 0;
        self.num_device_alloc = 0;
        self.num_device_free = 0;
        self.num_oom_rejections = 0;
    }

    /// Every number under its name in PyTorch's `memory_stats`, in the order of the names.
    pub fn named(&self) -> Vec<(String, i64)> {
        let mut named = Vec::new();
        let by_pool = [
            ("allocation", self.allocation),
            ("segment", self.segment),
            ("active", self.active),
            ("inactive_split", self.inactive_split),
            ("allocated_bytes", self.allocated_bytes),
            ("reserved_bytes", self.reserved_bytes),
            ("active_bytes", self.active_bytes),
            ("inactive_split_bytes", self.inactive_split_bytes),
            ("requested_bytes", self.requested_bytes),
        ];
        let private = self.reserved_bytes_by_private_pools.iter();
        let private =
            private.map(|((a, b), pool)| (format!("reserved_bytes_by_private_pools.{a}_{b}"), *pool));
        for (name, pools) in by_pool.map(|(name, pools)| (name.to_owned(), pools)).into_iter().chain(private)
        {
            for (pool, stat) in pools.named() {
                add_stat(&mut named, &format!("{name}.{pool}"), stat);
            }
        }
        add_stat(&mut named, "oversize_allocations", self.oversize_allocations);
        add_stat(&mut named, "oversize_segments", self.oversize_segments);
        let counters = [
            ("num_alloc_retries", self.num_alloc_retries),
            ("num_ooms", self.num_ooms),
            ("num_sync_all_streams", self.num_sync_all_streams),
            ("num_device_alloc", self.num_device_alloc),
            ("num_device_free", self.num_device_free),
            ("num_oom_rejections", self.num_oom_rejections),
        ];
        named.extend(counters.map(|(name, count)| (name.to_owned(), signed(count))));
        named.push(("max_split_size".to_owned(), self.max_split_size));
        named.sort();
        named
    }
}

fn add_stat(named: &mut Vec<(String, i64)>, name: &str, stat: Stat) {
    named.extend(stat.named().map(|(part, number)| (format!("{name}.{part}"), signed(number))));
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_stays_until_it_is_reset() {
        let mut stat = Stat::default();
        stat.add(5);
        stat.take(3);
        assert_eq!(stat, Stat { current: 2, peak: 5, allocated: 5, freed: 3 });
        stat.reset_peak();
        stat.reset_accumulated();
        assert_eq!(stat, Stat { current: 2, peak: 2, allocated: 0, freed: 0 });
    }

    #[test]
    fn a_change_counts_the_difference_alone() {
        let mut stat = Stat::default();
        stat.change(2, 7);
        stat.change(4, 3);
        assert_eq!(stat, Stat { current: 4, peak: 5, allocated: 5, freed: 1 });
    }

    #[test]
    fn names_are_complete_and_in_order() {
        let named = Statistics::new().named();
        assert_eq!(named.len(), 9 * 3 * 4 + 2 * 4 + 7);
        assert!(
            named.is_sorted() && named.iter().all(|(name, number)| *number == 0 || name == "max_split_size")
        );
        assert!(named.iter().any(|(name, _)| name == "inactive_split_bytes.large_pool.freed"));
    }
}
