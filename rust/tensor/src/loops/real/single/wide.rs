//! Functions that are computed in double precision and rounded once.

use super::super::double;

/// Defines functions of these names.
macro_rules! wide {
    ($($name:ident($($argument:ident),+)),+ $(,)?) => {
        $(#[doc = concat!("Computes `", stringify!($name), "`.")]
        #[inline(always)]
        pub(in super::super) fn $name($($argument: f32),+) -> f32 {
            double::$name($($argument.into()),+) as f32
        })+
    };
}

wide!(tan(x), asin(x), acos(x), atan2(y, x), sinh(x), cosh(x), asinh(x), acosh(x), atanh(x));

/// Returns the length of the hypotenuse of a right triangle with these legs, which is infinite if one of them is, whatever the
/// other one.
#[inline(always)]
pub(in super::super) fn hypot(x: f32, y: f32) -> f32 {
    let (wide_x, wide_y) = (f64::from(x), f64::from(y));
    // The squares are exact.
    let length = (wide_x * wide_x + wide_y * wide_y).sqrt() as f32;
    if (x.abs() == f32::INFINITY) | (y.abs() == f32::INFINITY) { f32::INFINITY } else { length }
}
