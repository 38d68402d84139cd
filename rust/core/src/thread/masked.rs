//! Some bits of a word.

use std::ops::{BitAnd, BitOr, Not};

/// The bits of `mask` hold `value`; about the others nothing is said.
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

    /// The word with these bits put in.
    #[inline]
    pub(crate) fn applied_to(self, word: W) -> W {
        (word & !self.mask) | self.value
    }

    /// Both together; where both speak, `self` does.
    pub(crate) fn over(self, below: Self) -> Self {
        Masked { mask: self.mask | below.mask, value: self.applied_to(below.value) }
    }

    /// Only what is said about `mask`.
    pub(crate) fn within(self, mask: W) -> Self {
        Masked { mask: self.mask & mask, value: self.value & mask }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_one_decides_its_own_bits_only() {
        let below = Masked::<u8>::new(0b0111, 0b0101);
        let above = Masked::new(0b0110, 0b0010);
        assert_eq!(above.over(below), Masked::new(0b0111, 0b0011));
        assert_eq!(above.applied_to(0b1111), 0b1011);
        assert_eq!(below.within(0b0001), Masked::new(0b0001, 0b0001));
    }
}
