//! Inverse hyperbolic functions of numbers with the range of `f64`.

use std::f64::consts::LN_2;

/// A size above which both functions are the logarithm of twice the size, which may overflow in those of std.
const LARGE: f64 = 1e300;

/// Returns the inverse hyperbolic sine.
pub(in super::super) fn asinh(x: f64) -> f64 {
    if x.abs() > LARGE { (x.abs().ln() + LN_2).copysign(x) } else { x.asinh() }
}

/// Returns the inverse hyperbolic cosine.
pub(in super::super) fn acosh(x: f64) -> f64 {
    if x > LARGE { x.ln() + LN_2 } else { x.acosh() }
}
