//! Functions of real numbers, for kernels that are generic over `f32` and `f64`.

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
    /// Returns e to the power of the number.
    fn exp(self) -> Self;
    /// Returns the natural logarithm.
    fn ln(self) -> Self;
    /// Returns the natural logarithm of 1 plus the number, which is also accurate near 0.
    fn ln_1p(self) -> Self;
    /// Returns the hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Returns the complementary error function.
    fn erfc(self) -> Self;
}

macro_rules! real {
    ($($float:ident, $erfc:ident;)+) => {
        $(impl Real for $float {
            fn abs(self) -> Self {
                $float::abs(self)
            }
            fn exp(self) -> Self {
                $float::exp(self)
            }
            fn ln(self) -> Self {
                $float::ln(self)
            }
            fn ln_1p(self) -> Self {
                $float::ln_1p(self)
            }
            fn tanh(self) -> Self {
                $float::tanh(self)
            }
            fn erfc(self) -> Self {
                libm::$erfc(self)
            }
        })+
    };
}

real! {
    f32, erfcf;
    f64, erfc;
}
