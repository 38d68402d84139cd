//! Memory statistics, under PyTorch's names.

use super::super::PoolId;

/// A quantity with its peak and its sums.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, Stat, statistics};
///
/// interlock_accelerator::use_named("host")?;
/// drop(DeviceBuffer::new(None, 512)?);
/// let bytes: Stat = statistics(None)?.allocated_bytes.all;
/// assert_eq!((bytes.current, bytes.peak), (0, 512));
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// The amount now.
    pub current: u64,
    /// The largest amount since the last reset.
    pub peak: u64,
    /// The sum of all increases since the last reset.
    pub allocated: u64,
    /// The sum of all decreases since the last reset.
    pub freed: u64,
}

impl Stat {
    #[inline]
    pub(super) fn increase(&mut self, amount: u64) {
        self.current += amount;
        self.peak = self.peak.max(self.current);
        self.allocated += amount;
    }

    #[inline]
    pub(super) fn decrease(&mut self, amount: u64) {
        self.current = self.current.saturating_sub(amount);
        self.freed += amount;
    }

    /// Counts the difference between two amounts.
    pub(super) fn change(&mut self, before: u64, after: u64) {
        if after >= before {
            self.increase(after - before);
        } else {
            self.decrease(before - after);
        }
    }

    /// Sets the peak to the amount now.
    pub(super) fn reset_peak(&mut self) {
        self.peak = self.current;
    }

    /// Sets the sums to 0.
    pub(super) fn reset_accumulated(&mut self) {
        (self.allocated, self.freed) = (0, 0);
    }

    /// The four numbers by name.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        [("current", self.current), ("peak", self.peak), ("allocated", self.allocated), ("freed", self.freed)]
    }
}

/// A quantity of all blocks, and of those from small and from large segments.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, StatArray, statistics};
///
/// interlock_accelerator::use_named("host")?;
/// let _buffers = [DeviceBuffer::new(None, 512)?, DeviceBuffer::new(None, 4 << 20)?];
/// let allocations: StatArray = statistics(None)?.allocation;
/// assert_eq!((allocations.small_pool.current, allocations.large_pool.current), (1, 1));
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatArray {
    /// All blocks.
    pub all: Stat,
    /// Blocks of up to 1 MiB, from small segments.
    pub small_pool: Stat,
    /// Blocks from large segments.
    pub large_pool: Stat,
}

impl StatArray {
    /// Increases the quantity of all blocks and that of small or of large ones.
    #[inline]
    pub(super) fn increase(&mut self, small: bool, amount: u64) {
        self.both(small, |stat| stat.increase(amount));
    }

    /// Decreases both.
    #[inline]
    pub(super) fn decrease(&mut self, small: bool, amount: u64) {
        self.both(small, |stat| stat.decrease(amount));
    }

    /// Counts the difference between two amounts in both.
    pub(super) fn change(&mut self, small: bool, before: u64, after: u64) {
        self.both(small, |stat| stat.change(before, after));
    }

    #[inline]
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

/// Statistics of a device's memory, with the names and meanings of PyTorch's `memory_stats`.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, statistics};
///
/// interlock_accelerator::use_named("host")?;
/// let _buffer = DeviceBuffer::new(None, 512)?;
/// let statistics = statistics(None)?;
/// assert_eq!((statistics.allocation.all.current, statistics.num_ooms), (1, 0));
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Allocated blocks.
    pub allocation: StatArray,
    /// Segments.
    pub segment: StatArray,
    /// Blocks that are allocated, or freed and still used by queued work of other streams.
    pub active: StatArray,
    /// Free blocks that share their segment with others.
    pub inactive_split: StatArray,
    /// Bytes of allocated blocks.
    pub allocated_bytes: StatArray,
    /// Bytes of segments.
    pub reserved_bytes: StatArray,
    /// Bytes of active blocks.
    pub active_bytes: StatArray,
    /// Bytes of free blocks that share their segment with others.
    pub inactive_split_bytes: StatArray,
    /// Requested bytes of active blocks, before rounding.
    pub requested_bytes: StatArray,
    /// Allocated oversize blocks.
    pub oversize_allocations: Stat,
    /// Oversize segments.
    pub oversize_segments: Stat,
    /// Requests that were repeated after everything unused was released.
    pub num_alloc_retries: u64,
    /// Requests that failed.
    pub num_ooms: u64,
    /// Waits for all streams.
    pub num_sync_all_streams: u64,
    /// Successful calls of the driver for memory.
    pub num_device_alloc: u64,
    /// Calls of the driver that released memory.
    pub num_device_free: u64,
    /// Requests that were refused without asking the driver, which had too little memory.
    pub num_oom_rejections: u64,
    /// The size from which blocks are oversize, in bytes; -1 if there is none.
    pub max_split_size: i64,
    /// Bytes of segments by pools of graphs.
    pub reserved_bytes_by_private_pools: Vec<(PoolId, StatArray)>,
}

impl Statistics {
    /// Statistics before the first allocation.
    pub(super) fn new() -> Self {
        Statistics { max_split_size: -1, ..Statistics::default() }
    }

    fn pools(&mut self) -> impl Iterator<Item = &mut StatArray> {
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

    /// Sets all peaks to the amounts now.
    pub(super) fn reset_peak(&mut self) {
        self.pools().flat_map(StatArray::each).for_each(Stat::reset_peak);
        self.oversize_allocations.reset_peak();
        self.oversize_segments.reset_peak();
    }

    /// Sets all sums and counts to 0.
    pub(super) fn reset_accumulated(&mut self) {
        self.pools().flat_map(StatArray::each).for_each(Stat::reset_accumulated);
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
        stat.increase(5);
        stat.decrease(3);
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
