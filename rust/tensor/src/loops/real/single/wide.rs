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
