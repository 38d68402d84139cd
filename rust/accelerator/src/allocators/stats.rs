//! Memory statistics, under PyTorch's names.

use interlock_core::base::short_sort::sort_short_by;

use super::super::PoolId;

/// A field of statistics: one or more numbers.
pub(crate) trait Quantity {
    /// Sets peaks to the current amounts.
    fn reset_peak(&mut self) {}

    /// Sets sums and counts to 0.
    fn reset_accumulated(&mut self) {}

    /// Appends every number with its name, which begins with `name`.
    fn append(&self, name: &str, numbers: &mut Vec<(String, i64)>);

    /// Returns all numbers with their names, sorted by name.
    fn sorted(&self) -> Vec<(String, i64)> {
        let mut numbers = Vec::new();
        self.append("", &mut numbers);
        sort_short_by(&mut numbers, |(one, _), (next, _)| one <= next);
        numbers
    }
}

/// Declares a struct of quantities, which implements [`Quantity`] by applying each operation to its fields.
macro_rules! quantities {
    ($(#[$attribute:meta])* pub struct $name:ident {$(
        $(#[$doc:meta])* pub $field:ident: $type:ty,
    )+}) => {
        $(#[$attribute])*
        pub struct $name {$($(#[$doc])* pub $field: $type,)+}

        impl Quantity for $name {
            fn reset_peak(&mut self) {
                $(self.$field.reset_peak();)+
            }

            fn reset_accumulated(&mut self) {
                $(self.$field.reset_accumulated();)+
            }

            fn append(&self, name: &str, numbers: &mut Vec<(String, i64)>) {
                let dot = if name.is_empty() { "" } else { "." };
                $(self.$field.append(&format!("{name}{dot}{}", stringify!($field)), numbers);)+
            }
        }
    };
}
pub(super) use quantities;

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
#[non_exhaustive]
pub struct Stat {
    /// The current amount.
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
    pub(crate) fn increase(&mut self, amount: u64) {
        self.current += amount;
        self.peak = self.peak.max(self.current);
        self.allocated += amount;
    }

    #[inline]
    pub(crate) fn decrease(&mut self, amount: u64) {
        self.current = self.current.saturating_sub(amount);
        self.freed += amount;
    }

    /// Adds the difference between two amounts.
    pub(crate) fn change(&mut self, before: u64, after: u64) {
        if after >= before {
            self.increase(after - before);
        } else {
            self.decrease(before - after);
        }
    }
}

impl Quantity for Stat {
    fn reset_peak(&mut self) {
        self.peak = self.current;
    }

    fn reset_accumulated(&mut self) {
        (self.allocated, self.freed) = (0, 0);
    }

    fn append(&self, name: &str, numbers: &mut Vec<(String, i64)>) {
        let Stat { current, peak, allocated, freed } = *self;
        append_parts(
            name,
            [(".current", current), (".peak", peak), (".allocated", allocated), (".freed", freed)],
            numbers,
        );
    }
}

/// Appends the numbers of one quantity.
pub(crate) fn append_parts<const N: usize>(
    name: &str,
    parts: [(&str, u64); N],
    numbers: &mut Vec<(String, i64)>,
) {
    let signed = |number| i64::try_from(number).unwrap_or(i64::MAX);
    numbers.extend(parts.map(|(part, number)| (format!("{name}{part}"), signed(number))));
}

/// A count of events.
impl Quantity for u64 {
    fn reset_accumulated(&mut self) {
        *self = 0;
    }

    fn append(&self, name: &str, numbers: &mut Vec<(String, i64)>) {
        append_parts(name, [("", *self)], numbers);
    }
}

/// A setting, which no reset changes.
impl Quantity for i64 {
    fn append(&self, name: &str, numbers: &mut Vec<(String, i64)>) {
        numbers.push((name.to_owned(), *self));
    }
}

impl Quantity for Vec<(PoolId, StatArray)> {
    fn reset_peak(&mut self) {
        self.iter_mut().for_each(|(_, stats)| stats.reset_peak());
    }

    fn reset_accumulated(&mut self) {
        self.iter_mut().for_each(|(_, stats)| stats.reset_accumulated());
    }

    fn append(&self, name: &str, numbers: &mut Vec<(String, i64)>) {
        self.iter().for_each(|((a, b), stats)| stats.append(&format!("{name}.{a}_{b}"), numbers));
    }
}

quantities! {
    /// A quantity of all blocks, of blocks from small segments, and of blocks from large segments.
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
}

impl StatArray {
    /// Increases `all`, and `small_pool` or `large_pool`.
    #[inline]
    pub(crate) fn increase(&mut self, small: bool, amount: u64) {
        self.both(small, |stat| stat.increase(amount));
    }

    /// Decreases `all`, and `small_pool` or `large_pool`.
    #[inline]
    pub(crate) fn decrease(&mut self, small: bool, amount: u64) {
        self.both(small, |stat| stat.decrease(amount));
    }

    /// Adds the difference between two amounts to `all`, and to `small_pool` or `large_pool`.
    pub(crate) fn change(&mut self, small: bool, before: u64, after: u64) {
        self.both(small, |stat| stat.change(before, after));
    }

    #[inline]
    fn both(&mut self, small: bool, count: impl Fn(&mut Stat)) {
        count(&mut self.all);
        count(if small { &mut self.small_pool } else { &mut self.large_pool });
    }
}

quantities! {
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
        /// Requests that were repeated after all unused memory was released.
        pub num_alloc_retries: u64,
        /// Requests that failed.
        pub num_ooms: u64,
        /// Waits for all streams.
        pub num_sync_all_streams: u64,
        /// Successful allocations by the driver.
        pub num_device_alloc: u64,
        /// Releases of memory to the driver.
        pub num_device_free: u64,
        /// Requests that failed without a call of the driver, because it had too little free memory.
        pub num_oom_rejections: u64,
        /// The size from which blocks are oversize, in bytes; -1 if there is none.
        pub max_split_size: i64,
        /// Bytes of segments by private pool.
        pub reserved_bytes_by_private_pools: Vec<(PoolId, StatArray)>,
    }
}

impl Statistics {
    /// Returns the statistics before the first allocation.
    pub(crate) fn new() -> Self {
        Statistics { max_split_size: -1, ..Statistics::default() }
    }

    /// Returns all numbers under their names in PyTorch's `memory_stats`, sorted by name.
    pub fn named(&self) -> Vec<(String, i64)> {
        self.sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_peak_is_the_maximum_since_the_last_reset() {
        let mut stat = Stat::default();
        stat.increase(5);
        stat.decrease(3);
        assert_eq!(stat, Stat { current: 2, peak: 5, allocated: 5, freed: 3 });
        stat.reset_peak();
        stat.reset_accumulated();
        assert_eq!(stat, Stat { current: 2, peak: 2, allocated: 0, freed: 0 });
    }

    #[test]
    fn stat_change_counts_only_the_difference() {
        let mut stat = Stat::default();
        stat.change(2, 7);
        stat.change(4, 3);
        assert_eq!(stat, Stat { current: 4, peak: 5, allocated: 5, freed: 1 });
    }

    #[test]
    fn statistics_named_is_complete_and_sorted() {
        let named = Statistics::new().named();
        assert_eq!(named.len(), 9 * 3 * 4 + 2 * 4 + 7);
        assert!(
            named.is_sorted() && named.iter().all(|(name, number)| *number == 0 || name == "max_split_size")
        );
        assert!(named.iter().any(|(name, _)| name == "inactive_split_bytes.large_pool.freed"));
    }
}
