//! Numbers with the precision of `f64` and a wider range, for products whose factors overflow or underflow on the way.

use std::ops::{Add, Mul};

use crate::Element;

/// A number `mantissa * 2 ** exponent`.
///
/// A product of an infinity and 0 is NaN, but no product of finite numbers is infinite: it is so only after it was
/// [converted](Scaled::to_element).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scaled {
    /// Has an absolute value from `2 ** -LIMIT` to `2 ** LIMIT`, or is 0, infinite or NaN.
    pub mantissa: f64,
    pub exponent: i64,
}

/// The largest exponent of a mantissa. Products of two mantissas are finite.
pub(super) const LIMIT: i64 = 256;

/// Returns 2 to a power at which it is a normal number.
#[inline(always)]
pub(super) const fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits((exponent.wrapping_add(1023) as u64) << 52)
}

impl Scaled {
    pub const ZERO: Scaled = Scaled { mantissa: 0.0, exponent: 0 };
    pub const ONE: Scaled = Scaled { mantissa: 1.0, exponent: 0 };

    /// Returns an element. The conversion is exact.
    #[inline(always)]
    pub fn new<T: Element>(element: T) -> Self {
        Scaled { mantissa: element.to_f64(), exponent: 0 }.within_limits()
    }

    /// Returns whether a number may be a mantissa. It has no branches.
    #[inline(always)]
    pub fn is_within(number: f64) -> bool {
        let size = number.abs();
        let is_large = (size > power_of_two(LIMIT)) & (size < f64::INFINITY);
        let is_small = (size < power_of_two(-LIMIT)) & (size > 0.0);
        !(is_large | is_small)
    }

    /// Brings any mantissa to the limits.
    #[inline(always)]
    pub fn within_limits(self) -> Self {
        // The smallest numbers need two steps.
        if Self::is_within(self.mantissa) { self } else { self.normalized().normalized() }
    }

    /// Returns the nearest element.
    #[inline(always)]
    pub fn to_element<T: Element>(self) -> T {
        if self.exponent == 0 {
            return T::from_f64(self.mantissa);
        }
        let [first, second] = self.powers();
        T::from_f64(self.mantissa * first * second)
    }

    /// Returns factors whose product is 2 to the power of the exponent: one factor may be outside the range of `f64`.
    #[inline(always)]
    pub fn powers(self) -> [f64; 2] {
        // Beyond these exponents the number is infinite or 0.
        let exponent = self.exponent.clamp(-2000, 2000);
        [exponent / 2, exponent - exponent / 2].map(power_of_two)
    }

    /// Brings a mantissa nearer to the limits by one step, which is enough after a product or a sum.
    #[inline(always)]
    fn normalized(self) -> Self {
        const STEP: i64 = 2 * LIMIT;
        let size = self.mantissa.abs();
        let is_large = size > power_of_two(LIMIT) && size < f64::INFINITY;
        let is_small = size < power_of_two(-LIMIT) && size > 0.0;
        // Without branches, so that the compiler vectorizes it.
        let factor = if is_large { power_of_two(-STEP) } else { 1.0 };
        let factor = if is_small { power_of_two(STEP) } else { factor };
        let shift = if is_large { STEP } else { 0 };
        let shift = if is_small { -STEP } else { shift };
        Scaled { mantissa: self.mantissa * factor, exponent: self.exponent.wrapping_add(shift) }
    }
}

impl Mul for Scaled {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let mantissa = self.mantissa * other.mantissa;
        let product = Scaled { mantissa, exponent: self.exponent.wrapping_add(other.exponent) };
        if Self::is_within(mantissa) { product } else { product.normalized() }
    }
}

impl Add for Scaled {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        if self.mantissa == 0.0 {
            return other;
        }
        if other.mantissa == 0.0 {
            return self;
        }
        let (large, small) = if self.exponent < other.exponent { (other, self) } else { (self, other) };
        // A smaller factor makes no difference: the larger number has no smaller mantissa than `2 ** -LIMIT`.
        let shift = small.exponent.saturating_sub(large.exponent).max(-1000);
        let mantissa = large.mantissa + small.mantissa * power_of_two(shift);
        Scaled { mantissa, exponent: large.exponent }.normalized()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(factors: &[f64]) -> f64 {
        factors.iter().fold(Scaled::ONE, |product, &factor| product * Scaled::new(factor)).to_element()
    }

    #[test]
    fn products_do_not_overflow_on_the_way() {
        assert_eq!(product(&[1e300, 1e300, 1e300, 0.0]), 0.0);
        assert!((product(&[1e300, 1e300, 1e-300, 1e-300]) - 1.0).abs() < 1e-14);
        assert!((product(&[5e-324, 5e-324, 1e300, 1e300]) / 2.441e-47 - 1.0).abs() < 1e-3);
        assert_eq!(product(&[f64::MAX, 2.0]), f64::INFINITY);
        assert_eq!(product(&[-f64::MAX, f64::MAX, f64::MAX]), f64::NEG_INFINITY);
        assert_eq!(product(&[f64::MIN_POSITIVE, f64::MIN_POSITIVE]), 0.0);
        assert_eq!(product(&[f64::MIN_POSITIVE, f64::EPSILON]), f64::from_bits(1));
        assert_eq!(product(&[f64::INFINITY, -1e-300]), f64::NEG_INFINITY);
        assert!(product(&[f64::INFINITY, 0.0]).is_nan() && product(&[f64::NAN, 0.0]).is_nan());
        assert!(product(&[-1.0, 0.0]).is_sign_negative());
        assert_eq!(product(&[2.0; 3000]), f64::INFINITY);
        assert_eq!(product(&[vec![1.5; 3000], vec![0.5; 3000]].concat()), product(&[0.75; 3000]));
    }

    #[test]
    fn sums_align_exponents() {
        let sum = |a: f64, b: f64| (Scaled::new(a) + Scaled::new(b)).to_element::<f64>();
        for (a, b) in [(1e300, 1.0), (1.0, -1e-300), (1e200, -1e200), (3e90, 1e75), (0.1, 0.2), (0.0, -0.0)] {
            assert_eq!((sum(a, b), sum(b, a)), (a + b, a + b), "{a} {b}");
        }
        assert_eq!(sum(f64::INFINITY, 1e300), f64::INFINITY);
        assert!(sum(f64::INFINITY, f64::NEG_INFINITY).is_nan());
        let large = Scaled::new(1e300) * Scaled::new(1e300);
        assert_eq!((large + Scaled::new(f64::NEG_INFINITY)).to_element::<f64>(), f64::NEG_INFINITY);
        let difference = large * Scaled::new(3.0) + large * Scaled::new(-1.0);
        assert!(
            ((difference * Scaled::new(1e-300) * Scaled::new(1e-300)).to_element::<f64>() - 2.0).abs()
                < 1e-14
        );
    }
}
