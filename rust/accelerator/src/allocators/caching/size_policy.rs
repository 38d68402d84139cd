//! Sizes of blocks and segments, with PyTorch's constants, so that statistics are comparable.

use crate::allocators::config::{AllocatorConfig, RoundupDivisions};

/// The unit of block sizes.
const MIN_BLOCK_SIZE: usize = 512;

/// The largest block of small segments.
const SMALL_SIZE: usize = 1 << 20;

/// The size of small segments.
const SMALL_BUFFER: usize = 2 << 20;

/// The smallest block that gets a segment of its own size, rounded up to [`ROUND_LARGE`].
const MIN_LARGE_ALLOC: usize = 10 << 20;

/// The unit of the sizes of such segments.
const ROUND_LARGE: usize = 2 << 20;

/// The settings that determine sizes, splitting and caching.
#[derive(Clone, Debug)]
pub(super) struct SizePolicy {
    /// The size from which blocks are oversize: never split, and not used for smaller requests.
    max_split_size: usize,
    /// The bytes by which an oversize block may exceed its request.
    max_non_split_rounding: usize,
    /// The size of segments for blocks between small and exact ones.
    large_segment_size: usize,
    /// The memory of the device in whole blocks: no segment is larger, unless a block is.
    memory: usize,
    /// The fraction of the limit above which the least recently used blocks are released; 0 disables it.
    pub(super) garbage_collection_threshold: f64,
    /// The number of steps between two powers of two to which sizes are rounded up; `None` without such steps.
    roundup_divisions: Option<RoundupDivisions>,
    /// Whether segments are expandable. Without caching they are not, because each block is a segment of its own, nor on
    /// a device with less memory than a unit of expansion.
    pub(super) expandable_segments: bool,
    /// Whether free blocks are cached.
    pub(super) caching: bool,
    /// Whether requests that exceed the free memory of the driver fail without an allocation by the driver.
    pub(super) throw_on_oom: bool,
}

fn in_bytes(megabytes: usize) -> usize {
    megabytes.saturating_mul(1 << 20)
}

impl Default for SizePolicy {
    fn default() -> Self {
        SizePolicy::of(&AllocatorConfig::default(), 0)
    }
}

impl SizePolicy {
    /// Creates the policy of a configuration on a device with `total` bytes; 0 if its driver does not report them.
    pub(super) fn of(config: &AllocatorConfig, total: u64) -> Self {
        let memory = match usize::try_from(total) {
            Ok(0) | Err(_) => usize::MAX,
            Ok(bytes) => bytes / MIN_BLOCK_SIZE * MIN_BLOCK_SIZE,
        };
        SizePolicy {
            memory,
            max_split_size: config.max_split_size_mb.map_or(usize::MAX, in_bytes),
            max_non_split_rounding: in_bytes(config.max_non_split_rounding_mb),
            large_segment_size: in_bytes(config.large_segment_size_mb),
            garbage_collection_threshold: config.garbage_collection_threshold,
            roundup_divisions: Some(config.roundup_power2_divisions.clone())
                .filter(|divisions| !divisions.is_off()),
            expandable_segments: config.expandable_segments && config.caching && memory >= SMALL_BUFFER,
            caching: config.caching,
            throw_on_oom: config.throw_on_cudamalloc_oom,
        }
    }

    /// Returns the block size for a request; `None` if it exceeds the address space.
    #[inline]
    pub(super) fn round(&self, requested: usize) -> Option<usize> {
        let divisions = self.roundup_divisions.as_ref().map_or(0, |steps| steps.divisions_for(requested));
        if divisions > 1 && requested > MIN_BLOCK_SIZE * divisions {
            let below = 1usize << requested.ilog2();
            let step = (below / divisions).max(1);
            return requested.checked_next_multiple_of(step);
        }
        requested.max(1).checked_next_multiple_of(MIN_BLOCK_SIZE)
    }

    /// Returns whether a block of this size comes from a small segment.
    #[inline]
    pub(super) fn is_small(bytes: usize) -> bool {
        bytes <= SMALL_SIZE
    }

    /// Returns whether a block or a segment of this size is oversize.
    #[inline]
    pub(super) fn is_oversize(&self, bytes: usize) -> bool {
        bytes >= self.max_split_size
    }

    /// Returns the segment size for a block of this size; `None` if it exceeds the address space.
    pub(super) fn segment_size(&self, bytes: usize) -> Option<usize> {
        let segment = match bytes {
            _ if !self.caching => bytes,
            0..=SMALL_SIZE => SMALL_BUFFER,
            _ if bytes < MIN_LARGE_ALLOC => self.large_segment_size,
            _ => bytes.checked_next_multiple_of(ROUND_LARGE)?,
        };
        Some(segment.min(self.memory).max(bytes))
    }

    /// Returns the bytes by which an expandable segment grows, before rounding to the driver's granularity.
    pub(super) fn map_unit(&self, small: bool) -> usize {
        if small { SMALL_BUFFER } else { self.large_segment_size.min(self.memory) }
    }

    /// Returns whether a block with a `rest` beyond the request is split.
    #[inline]
    pub(super) fn should_split(&self, bytes: usize, rest: usize, expandable: bool) -> bool {
        if expandable || Self::is_small(bytes) {
            rest >= MIN_BLOCK_SIZE
        } else {
            bytes < self.max_split_size && rest > SMALL_SIZE
        }
    }

    /// Returns whether a free block may serve a request. Blocks of expandable segments always may, because they can be
    /// split.
    #[inline]
    pub(super) fn accepts(&self, block: usize, bytes: usize, expandable: bool) -> bool {
        if expandable {
            true
        } else if bytes < self.max_split_size {
            block < self.max_split_size
        } else {
            block < bytes.saturating_add(self.max_non_split_rounding)
        }
    }

    /// Returns the size from which blocks are oversize, -1 if there is none: `max_split_size` of PyTorch's
    /// `memory_stats`.
    pub(super) fn reported_max_split_size(&self) -> i64 {
        if self.max_split_size == usize::MAX {
            -1
        } else {
            i64::try_from(self.max_split_size).unwrap_or(i64::MAX)
        }
    }
}

#[cfg(test)]
impl SizePolicy {
    pub(super) fn with_max_split_size(bytes: usize) -> Self {
        SizePolicy { max_split_size: bytes, ..SizePolicy::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn round_returns_multiples_of_the_smallest_block() {
        let policy = SizePolicy::default();
        for (requested, rounded) in [(1, 512), (512, 512), (513, 1024), (MIB - 1, MIB), (MIB + 1, MIB + 512)]
        {
            assert_eq!(policy.round(requested), Some(rounded));
        }
        assert_eq!(policy.round(usize::MAX), None);
    }

    #[test]
    fn round_divides_powers_of_two_into_equal_steps() {
        let policy =
            SizePolicy { roundup_divisions: Some(RoundupDivisions::Same(4)), ..SizePolicy::default() };
        // Steps have at least 512 bytes.
        for (requested, rounded) in [(1200, 1536), (2048, 2048), (2049, 2560), (1025 << 10, 1280 << 10)] {
            assert_eq!(policy.round(requested), Some(rounded), "{requested}");
        }
        assert_eq!(policy.round(5 * MIB), Some(5 * MIB));
    }

    #[test]
    fn segment_size_depends_on_the_size_of_the_block() {
        let policy = SizePolicy::default();
        for (bytes, segment) in [
            (512, 2 * MIB),
            (MIB, 2 * MIB),
            (MIB + 512, 20 * MIB),
            (10 * MIB - 512, 20 * MIB),
            (10 * MIB, 10 * MIB),
            (11 * MIB, 12 * MIB),
        ] {
            assert_eq!(policy.segment_size(bytes), Some(segment), "{bytes}");
        }
        assert_eq!(policy.segment_size(usize::MAX), None);
    }

    #[test]
    fn should_split_keeps_small_rests_with_large_blocks() {
        let policy = SizePolicy { max_split_size: 64 * MIB, ..SizePolicy::default() };
        assert!(policy.should_split(512, 512, false) && !policy.should_split(512, 511, false));
        assert!(policy.should_split(2 * MIB, MIB + 1, false) && !policy.should_split(2 * MIB, MIB, false));
        assert!(!policy.should_split(64 * MIB, 100 * MIB, false) && policy.should_split(64 * MIB, 512, true));
    }

    #[test]
    fn policy_accepts_oversize_blocks_for_oversize_requests_only() {
        let policy = SizePolicy {
            max_split_size: 64 * MIB,
            max_non_split_rounding: 20 * MIB,
            ..SizePolicy::default()
        };
        assert!(!policy.accepts(64 * MIB, 2 * MIB, false) && policy.accepts(64 * MIB - 1, 2 * MIB, false));
        assert!(policy.accepts(83 * MIB, 64 * MIB, false) && !policy.accepts(84 * MIB, 64 * MIB, false));
        assert!(policy.accepts(84 * MIB, 64 * MIB, true));
    }
}
