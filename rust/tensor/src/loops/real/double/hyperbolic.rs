//! Hyperbolic functions of numbers with the range of `f32`, and their inverses.

use super::{exp, exp_m1, ln};

/// Returns the hyperbolic sine.
#[inline(always)]
pub(in super::super) fn sinh(x: f64) -> f64 {
    // Beyond the limit the result is infinite in `f32`.
    let size = x.abs();
    let growth = exp_m1(if size > 100.0 { 100.0 } else { size });
    (0.5 * (growth + growth / (growth + 1.0))).copysign(x)
}

/// Returns the hyperbolic cosine.
#[inline(always)]
pub(in super::super) fn cosh(x: f64) -> f64 {
    let power = exp(x.abs());
    0.5 * (power + 1.0 / power)
}

/// Returns the natural logarithm of 1 plus a number.
#[inline(always)]
fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    // The second term is what rounding the sum lost.
    let logarithm = ln(sum) + (x - (sum - 1.0)) / sum;
    if x == f64::INFINITY { x } else { logarithm }
}

/// Returns the inverse hyperbolic sine.
#[inline(always)]
pub(in super::super) fn asinh(x: f64) -> f64 {
    let (size, square) = (x.abs(), x * x);
    let result = ln_1p(size + square / (1.0 + (square + 1.0).sqrt())).copysign(x);
    if size == f64::INFINITY { x } else { result }
}

/// Returns the inverse hyperbolic cosine.
#[inline(always)]
pub(in super::super) fn acosh(x: f64) -> f64 {
    let above = x - 1.0;
    let result = ln_1p(above + (above * (above + 2.0)).sqrt());
    if x < 1.0 { f64::NAN } else { result }
}

/// Returns the inverse hyperbolic tangent of a number of at least 0.
#[inline(always)]
pub(in super::super) fn atanh(x: f64) -> f64 {
    0.5 * ln_1p((x + x) / (1.0 - x))
}
