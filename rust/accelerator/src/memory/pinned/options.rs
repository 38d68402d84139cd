//! How pinned memory is rounded and kept.

use super::super::config::AllocatorConfig;

/// How pinned memory is rounded and kept. In bytes; by default every size is rounded, and everything is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PinnedOptions {
    /// The largest size that is rounded up to a power of two.
    pub max_round_threshold: usize,
    /// The largest block that is kept when nothing uses it any more. Larger sizes are not rounded.
    pub max_cached_size: usize,
    /// How much is taken from the driver at once, when memory is first asked for; blocks come from there as long as
    /// there is room, and it is never given back. 0 takes each block by itself.
    pub reserve_segment_size: usize,
}

impl PinnedOptions {
    /// What a configuration says.
    pub(super) fn of(config: &AllocatorConfig) -> Self {
        let in_bytes = |megabytes: usize| megabytes.saturating_mul(1 << 20);
        PinnedOptions {
            max_round_threshold: config.pinned_max_round_threshold_mb.map_or(usize::MAX, in_bytes),
            max_cached_size: config.pinned_max_cached_size_mb.map_or(usize::MAX, in_bytes),
            reserve_segment_size: in_bytes(config.pinned_reserve_segment_size_mb),
        }
    }

    /// How large a block for so many bytes is.
    pub(super) fn rounded(&self, bytes: usize) -> usize {
        let rounds = bytes <= self.max_round_threshold && bytes <= self.max_cached_size;
        // What has no larger power of two is more than there is.
        if rounds { bytes.checked_next_power_of_two().unwrap_or(bytes) } else { bytes }
    }
}

impl Default for PinnedOptions {
    fn default() -> Self {
        PinnedOptions {
            max_round_threshold: usize::MAX,
            max_cached_size: usize::MAX,
            reserve_segment_size: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_to_powers_of_two_up_to_the_thresholds() {
        let all = PinnedOptions::default();
        assert_eq!(
            [1, 2, 3, 512, 513, usize::MAX].map(|bytes| all.rounded(bytes)),
            [1, 2, 4, 512, 1024, usize::MAX]
        );
        let few = PinnedOptions { max_round_threshold: 1000, ..all };
        assert_eq!([999, 1000, 1001].map(|bytes| few.rounded(bytes)), [1024, 1024, 1001]);
        let few = PinnedOptions { max_cached_size: 1000, ..all };
        assert_eq!([1000, 1001].map(|bytes| few.rounded(bytes)), [1024, 1001]);
    }
}
