//! Functions of real numbers, for kernels that are generic over `f32` and `f64`.

mod double;
mod single;

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use self::double::full_range;
use crate::Element;

/// A type in which floating-point arithmetic is done: `f32` or `f64`.
pub(crate) trait Real:
    Element
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
{
    /// Returns the absolute value.
    fn abs(self) -> Self;
    /// Returns the product with a number plus another number, rounded once.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// Returns e to the power of the number.
    fn exp(self) -> Self;
    /// Returns 2 to the power of the number.
    fn exp2(self) -> Self;
    /// Returns e to the power of the number, minus 1, which is also accurate near 0.
    fn exp_m1(self) -> Self;
    /// Returns the natural logarithm.
    fn ln(self) -> Self;
    /// Returns the binary logarithm.
    fn log2(self) -> Self;
    /// Returns the decimal logarithm.
    fn log10(self) -> Self;
    /// Returns the natural logarithm of 1 plus the number, which is also accurate near 0.
    fn ln_1p(self) -> Self;
    /// Returns the hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Returns the logistic function.
    fn sigmoid(self) -> Self;
    /// Returns the sine, if [`is_moderate`](Real::is_moderate).
    fn sin(self) -> Self;
    /// Returns the cosine, if [`is_moderate`](Real::is_moderate).
    fn cos(self) -> Self;
    /// Returns the tangent, if [`is_moderate`](Real::is_moderate).
    fn tan(self) -> Self;
    /// Returns whether the number is an angle whose sine, cosine and tangent are precise.
    fn is_moderate(self) -> bool;
    /// Returns the arc sine.
    fn asin(self) -> Self;
    /// Returns the arc cosine.
    fn acos(self) -> Self;
    /// Returns the arc tangent.
    fn atan(self) -> Self;
    /// Returns the angle of the point with this y-coordinate and the given x-coordinate.
    fn atan2(self, x: Self) -> Self;
    /// Returns the length of the hypotenuse of a right triangle with these legs.
    fn hypot(self, other: Self) -> Self;
    /// Returns the hyperbolic sine.
    fn sinh(self) -> Self;
    /// Returns the hyperbolic cosine.
    fn cosh(self) -> Self;
    /// Returns the inverse hyperbolic sine.
    fn asinh(self) -> Self;
    /// Returns the inverse hyperbolic cosine.
    fn acosh(self) -> Self;
    /// Returns the inverse hyperbolic tangent of a number of at least 0.
    fn atanh(self) -> Self;
    /// Returns the error function.
    fn erf(self) -> Self;
    /// Returns 1 minus the error function.
    fn erfc(self) -> Self;
    /// Returns the number to the power of an exponent.
    fn pow(self, exponent: Self) -> Self;
    /// Returns the remainder of a division with the sign of this number, or NaN if the quotient has too many digits.
    fn remainder_or_nan(self, divisor: Self) -> Self;
}

/// Implements the functions for a type. Most are those of the same name that a module has.
macro_rules! real {
    ($float:ident, $largest_angle:expr, $pow:path, $atan2:path, $hypot:path; $($module:ident: $($function:ident)+;)+) => {
        impl Real for $float {
            #[inline(always)]
            fn is_moderate(self) -> bool {
                self.is_nan() || $float::abs(self) <= $largest_angle
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $float::abs(self)
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                $float::mul_add(self, factor, term)
            }
            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                $pow(self, exponent)
            }
            #[inline(always)]
            fn remainder_or_nan(self, divisor: Self) -> Self {
                let quotient = (self / divisor).trunc();
                // It is exact: the quotient is an integer that is too large by at most 1, since it was rounded.
                let rest = (-quotient).mul_add(divisor, self);
                let is_beyond = (rest != 0.0) & ((rest < 0.0) != (self < 0.0));
                let rest = if is_beyond { rest + divisor.copysign(self) } else { rest };
                let is_exact = $float::abs(quotient) < (1u64 << ($float::MANTISSA_DIGITS - 1)) as $float;
                if is_exact { rest.copysign(self) } else { $float::NAN }
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                $atan2(self, x)
            }
            #[inline(always)]
            fn hypot(self, other: Self) -> Self {
                $hypot(self, other)
            }
            $($(#[inline(always)]
            fn $function(self) -> Self {
                $module::$function(self)
            })+)+
        }
    };
}

real! {
    f32, single::LARGEST_ANGLE, single::pow, single::atan2, single::hypot;
    single: exp exp2 exp_m1 ln log2 log10 ln_1p tanh sigmoid sin cos tan asin acos atan sinh cosh asinh acosh atanh erf erfc;
}

real! {
    f64, double::LARGEST_ANGLE, f64::powf, f64::atan2, double::hypot;
    double: exp exp_m1 ln tanh sigmoid sin cos tan asin acos atan erf;
    f64: exp2 log2 log10 ln_1p sinh cosh atanh;
    full_range: asinh acosh;
    libm: erfc;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Real>(x: T, y: T) -> bool {
        let (found, exact) = (x.remainder_or_nan(y), x % y);
        let is_equal =
            found == exact && found.to_f64().is_sign_negative() == exact.to_f64().is_sign_negative();
        assert!(found.is_nan() || is_equal, "{} % {}", x.to_f64(), y.to_f64());
        is_equal
    }

    #[test]
    fn remainders_are_exact_or_nan() {
        let mut generator = fastrand::Rng::with_seed(21);
        for _ in 0..if cfg!(debug_assertions) { 100_000 } else { 10_000_000 } {
            let (x, y) = (generator.u64(..), generator.u64(..));
            check(f64::from_bits(x), f64::from_bits(y));
            check(f32::from_bits(x as u32), f32::from_bits(y as u32));
            // Near multiples, where the quotient is rounded to an integer.
            let (y, factor) = (generator.f32() - 0.5, generator.i32(-5_000_000..5_000_000));
            let x = y * factor as f32;
            let near = generator.i32(-2..3);
            assert!(check(f32::from_bits(x.to_bits().wrapping_add_signed(near)), y) || y == 0.0);
            let (x, y) = (f64::from(y) * f64::from(factor) * 1.1, f64::from(y) * 1.1);
            assert!(check(f64::from_bits(x.to_bits().wrapping_add_signed(near.into())), y) || y == 0.0);
        }
    }
}
