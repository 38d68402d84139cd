//! Selected bits of a word.

use std::ops::{BitAnd, BitOr, Not};

/// The bits of `mask` have the values in `value`; other bits are undecided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masked<W> {
    pub(crate) mask: W,
    /// Zero outside `mask`.
    pub(crate) value: W,
}

impl<W> Masked<W>
where
    W: Copy + BitAnd<Output = W> + BitOr<Output = W> + Not<Output = W>,
{
    pub(crate) fn new(mask: W, value: W) -> Self {
        Masked { mask, value: value & mask }
    }

    /// Returns the word with these bits replaced.
    #[inline]
    pub(crate) fn applied_to(self, word: W) -> W {
        (word & !self.mask) | self.value
    }

    /// Returns the bits of both; where both set a bit, `self` takes precedence.
    pub(crate) fn over(self, below: Self) -> Self {
        Masked { mask: self.mask | below.mask, value: self.applied_to(below.value) }
    }

    /// Returns the bits that are in `mask`.
    pub(crate) fn within(self, mask: W) -> Self {
        Masked { mask: self.mask & mask, value: self.value & mask }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_and_within_select_bits_by_mask() {
        let below = Masked::<u8>::new(0b0111, 0b0101);
        let above = Masked::new(0b0110, 0b0010);
        assert_eq!(above.over(below), Masked::new(0b0111, 0b0011));
        assert_eq!(above.applied_to(0b1111), 0b1011);
        assert_eq!(below.within(0b0001), Masked::new(0b0001, 0b0001));
    }
}
