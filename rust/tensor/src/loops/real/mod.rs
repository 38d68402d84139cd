//! Functions of real numbers, for kernels that are generic over `f32` and `f64`.

mod double;
mod single;

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::Element;

/// A type in which floating-point arithmetic is done: `f32` or `f64`.
pub(crate) trait Real:
    Element
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
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
}

/// Implements the functions that one module has for the type, and those that others have.
macro_rules! real {
    ($float:ident, $largest_angle:expr, $pow:path, $atan2:path, [$($function:ident = $path:expr),+ $(,)?]) => {
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
            fn atan2(self, x: Self) -> Self {
                $atan2(self, x)
            }
            $(#[inline(always)]
            fn $function(self) -> Self {
                $path(self)
            })+
        }
    };
}

real!(
    f32,
    single::LARGEST_ANGLE,
    single::pow,
    single::atan2,
    [
        exp = single::exp,
        exp2 = single::exp2,
        exp_m1 = single::exp_m1,
        ln = single::ln,
        log2 = single::log2,
        log10 = single::log10,
        ln_1p = single::ln_1p,
        tanh = single::tanh,
        sigmoid = single::sigmoid,
        sin = single::sin,
        cos = single::cos,
        tan = single::tan,
        asin = single::asin,
        acos = single::acos,
        atan = single::atan,
        sinh = single::sinh,
        cosh = single::cosh,
        asinh = single::asinh,
        acosh = single::acosh,
        atanh = single::atanh,
        erf = single::erf,
        erfc = single::erfc,
    ]
);

real!(
    f64,
    double::LARGEST_ANGLE,
    f64::powf,
    f64::atan2,
    [
        exp = double::exp,
        exp2 = f64::exp2,
        exp_m1 = double::exp_m1,
        ln = double::ln,
        log2 = f64::log2,
        log10 = f64::log10,
        ln_1p = f64::ln_1p,
        tanh = double::tanh,
        sigmoid = double::sigmoid,
        sin = double::sin,
        cos = double::cos,
        tan = double::tan,
        asin = double::asin,
        acos = double::acos,
        atan = double::atan,
        sinh = f64::sinh,
        cosh = f64::cosh,
        asinh = f64::asinh,
        acosh = f64::acosh,
        atanh = f64::atanh,
        erf = double::erf,
        erfc = libm::erfc,
    ]
);
