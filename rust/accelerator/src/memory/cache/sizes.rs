//! How large pieces of memory are: PyTorch's numbers, so that figures can be compared.

use crate::memory::config::{AllocatorConfig, Divisions};

/// What the sizes of pieces are multiples of.
pub(super) const UNIT: usize = 512;

/// Pieces up to this size come from small segments.
pub(super) const SMALL_PIECE: usize = 1 << 20;

/// What is asked of the driver for small pieces.
pub(super) const SMALL_SEGMENT: usize = 2 << 20;

/// Pieces of this size and more get a segment of their own size, rounded up to [`SEGMENT_UNIT`].
pub(super) const EXACT_PIECE: usize = 10 << 20;

/// What the sizes of large segments are multiples of.
pub(super) const SEGMENT_UNIT: usize = 2 << 20;

/// What may be configured of the arithmetic.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// Pieces of this size and more are oversize: never split, and not used for smaller requests.
    pub(super) oversize: usize,
    /// How much larger than what was asked for an oversize piece may be.
    pub(super) slack: usize,
    /// What is asked of the driver for pieces between small and exact ones.
    pub(super) large_segment: usize,
    /// The share of the limit above which what has long been unused is given back; 0 is never.
    pub(super) collection: f64,
    /// Into how many steps the sizes between two powers of two are divided.
    pub(super) divisions: Divisions,
    /// Segments grow where they are.
    pub(super) expandable: bool,
    /// Pieces are kept when nobody uses them.
    pub(super) keeps: bool,
    /// What the driver has no room for is refused without asking it.
    pub(super) refuses_early: bool,
}

fn in_bytes(megabytes: usize) -> usize {
    megabytes.saturating_mul(1 << 20)
}

impl Default for Rules {
    fn default() -> Self {
        Rules::of(&AllocatorConfig::default())
    }
}

impl Rules {
    /// What a configuration says.
    pub(super) fn of(config: &AllocatorConfig) -> Self {
        Rules {
            oversize: config.max_split_size_mb.map_or(usize::MAX, in_bytes),
            slack: in_bytes(config.max_non_split_rounding_mb),
            large_segment: in_bytes(config.large_segment_size_mb),
            collection: config.garbage_collection_threshold,
            divisions: config.roundup_power2_divisions.clone(),
            expandable: config.expandable_segments,
            keeps: config.caching,
            refuses_early: config.throw_on_cudamalloc_oom,
        }
    }

    /// The size of a piece for so many bytes; `None` beyond what can be counted.
    pub(super) fn rounded(&self, requested: usize) -> Option<usize> {
        let divisions = self.divisions.divisions_for(requested);
        if divisions > 1 && requested > UNIT * divisions {
            let below = 1usize << requested.ilog2();
            let step = (below / divisions).max(1);
            return requested.checked_next_multiple_of(step);
        }
        requested.max(1).checked_next_multiple_of(UNIT)
    }

    /// Whether a piece of this size comes from a small segment.
    pub(super) fn is_small(bytes: usize) -> bool {
        bytes <= SMALL_PIECE
    }

    /// What is asked of the driver for a piece of this size; `None` beyond what can be counted.
    pub(super) fn segment(&self, bytes: usize) -> Option<usize> {
        match bytes {
            _ if !self.keeps => Some(bytes),
            0..=SMALL_PIECE => Some(SMALL_SEGMENT),
            _ if bytes < EXACT_PIECE => Some(self.large_segment),
            _ => bytes.checked_next_multiple_of(SEGMENT_UNIT),
        }
    }

    /// By how much an expandable segment grows.
    pub(super) fn page(&self, small: bool, granularity: usize) -> usize {
        let page = if small { SMALL_SEGMENT } else { self.large_segment };
        page.checked_next_multiple_of(granularity).unwrap_or(page)
    }

    /// Whether what is left of a piece is kept as a piece of its own.
    pub(super) fn splits(&self, bytes: usize, left: usize, expandable: bool) -> bool {
        if expandable || Self::is_small(bytes) {
            left >= UNIT
        } else {
            bytes < self.oversize && left > SMALL_PIECE
        }
    }

    /// Whether a free piece may be used for a request. Pieces of expandable segments always may: they can be split.
    pub(super) fn suits(&self, piece: usize, bytes: usize, expandable: bool) -> bool {
        if expandable {
            true
        } else if bytes < self.oversize {
            piece < self.oversize
        } else {
            piece < bytes.saturating_add(self.slack)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn requests_are_rounded_to_units() {
        let rules = Rules::default();
        for (requested, rounded) in [(1, 512), (512, 512), (513, 1024), (MIB - 1, MIB), (MIB + 1, MIB + 512)]
        {
            assert_eq!(rules.rounded(requested), Some(rounded));
        }
        assert_eq!(rules.rounded(usize::MAX), None);
    }

    #[test]
    fn powers_of_two_are_divided_into_equal_steps() {
        let rules = Rules { divisions: Divisions::Same(4), ..Rules::default() };
        // Below 512 bytes for each step nothing is divided.
        for (requested, rounded) in [(1200, 1536), (2048, 2048), (2049, 2560), (1025 << 10, 1280 << 10)] {
            assert_eq!(rules.rounded(requested), Some(rounded), "{requested}");
        }
        assert_eq!(rules.rounded(5 * MIB), Some(5 * MIB));
    }

    #[test]
    fn the_driver_is_asked_for_segments() {
        let rules = Rules::default();
        for (bytes, segment) in [
            (512, 2 * MIB),
            (MIB, 2 * MIB),
            (MIB + 512, 20 * MIB),
            (10 * MIB - 512, 20 * MIB),
            (10 * MIB, 10 * MIB),
            (11 * MIB, 12 * MIB),
        ] {
            assert_eq!(rules.segment(bytes), Some(segment), "{bytes}");
        }
        assert_eq!(rules.segment(usize::MAX), None);
    }

    #[test]
    fn small_rests_stay_with_large_pieces() {
        let rules = Rules { oversize: 64 * MIB, ..Rules::default() };
        assert!(rules.splits(512, 512, false) && !rules.splits(512, 511, false));
        assert!(rules.splits(2 * MIB, MIB + 1, false) && !rules.splits(2 * MIB, MIB, false));
        assert!(!rules.splits(64 * MIB, 100 * MIB, false) && rules.splits(64 * MIB, 512, true));
    }

    #[test]
    fn oversize_pieces_are_for_oversize_requests() {
        let rules = Rules { oversize: 64 * MIB, slack: 20 * MIB, ..Rules::default() };
        assert!(!rules.suits(64 * MIB, 2 * MIB, false) && rules.suits(64 * MIB - 1, 2 * MIB, false));
        assert!(rules.suits(83 * MIB, 64 * MIB, false) && !rules.suits(84 * MIB, 64 * MIB, false));
        assert!(rules.suits(84 * MIB, 64 * MIB, true));
    }
}
