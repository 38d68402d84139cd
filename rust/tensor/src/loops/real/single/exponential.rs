//! Powers of e and 2, and functions that are computed from them.
//!
//! A power is a product of two factors: a power of two, which is made of the bits of an integer exponent, and a polynomial of
//! the rest of the exponent.

use std::f32::consts::LOG2_E;

use super::polynomial::{fused, polynomial};

/// Adding it rounds a number of at most 22 bits to an integer, which is then in the lower bits.
pub(super) const ROUND: f32 = 12_582_912.0;

/// The logarithm of 2 in two parts: products of the first one with integers of up to 9 bits are exact.
pub(super) const LN_2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];

/// `(exp(x) - 1 - x) / x ** 2` for `abs(x) <= ln(2) / 2`, with an error of 2 ** -28 of the exponential.
const EXPONENTIAL: [f32; 5] = [0.499_999_9, 0.166_665_18, 0.041_668_583, 0.008_368_963, 0.001_381_779_7];

/// `(2 ** x - 1) / x` for `abs(x) <= 1/2`, with an error of 2 ** -27 of the power.
const POWER_OF_TWO: [f32; 6] =
    [std::f32::consts::LN_2, 0.240_226_5, 0.055_503_58, 0.009_618_076, 0.001_339_164_9, 0.000_154_571_96];

/// Limits a number to a range. NaN remains.
#[inline(always)]
fn limited(x: f32, least: f32, largest: f32) -> f32 {
    let x = if x > largest { largest } else { x };
    if x < least { least } else { x }
}

/// Returns 2 to the power of an integer from -126 to 127.
#[inline(always)]
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((exponent.wrapping_add(127) as u32) << 23)
}

/// Returns the product with a power of two. The power itself may be beyond the range of the type.
#[inline(always)]
fn scaled(x: f32, exponent: i32) -> f32 {
    let half = exponent >> 1;
    x * power_of_two(half) * power_of_two(exponent.wrapping_sub(half))
}

/// Returns the integer that was rounded by adding [`ROUND`].
#[inline(always)]
pub(super) fn integer_of(rounded: f32) -> i32 {
    (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32)
}

/// Returns `exp(r) - 1` and n for the number `x = n * ln(2) + r`, so that `exp(x)` is `exp(r) * 2 ** n`.
#[inline(always)]
fn reduced(x: f32) -> (f32, i32) {
    let rounded = fused(x, LOG2_E, ROUND);
    let n = rounded - ROUND;
    let [high, low] = LN_2;
    let r = fused(n, -low, fused(n, -high, x));
    (fused(r * r, polynomial(r, &EXPONENTIAL), r), integer_of(rounded))
}

/// Returns e to the power of a number from -80 to 80.
#[inline(always)]
pub(super) fn moderate_exp(x: f32) -> f32 {
    let (rest, n) = reduced(x);
    (rest + 1.0) * power_of_two(n)
}

/// Returns e to the power of a number.
#[inline(always)]
pub(in super::super) fn exp(x: f32) -> f32 {
    // Beyond these limits the result is 0 or infinity.
    let (rest, n) = reduced(limited(x, -104.0, 89.0));
    scaled(rest + 1.0, n)
}

/// Returns 2 to the power of a number.
#[inline(always)]
pub(in super::super) fn exp2(x: f32) -> f32 {
    let x = limited(x, -151.0, 129.0);
    let rounded = x + ROUND;
    let rest = x - (rounded - ROUND);
    scaled(fused(rest, polynomial(rest, &POWER_OF_TWO), 1.0), integer_of(rounded))
}

/// Returns e to the power of a number, minus 1.
#[inline(always)]
pub(in super::super) fn exp_m1(x: f32) -> f32 {
    // Below the limit the result is -1.
    let (rest, n) = reduced(limited(x, -30.0, 89.0));
    // Half of the power of two, which for 2 ** 128 is no number of this type.
    let half = power_of_two(n.wrapping_sub(1));
    let result = fused(half, rest, half - 0.5);
    // Keeps the sign of 0.
    if x == 0.0 { x } else { result + result }
}

/// Returns the hyperbolic tangent.
#[inline(always)]
pub(in super::super) fn tanh(x: f32) -> f32 {
    /// `(tanh(x) / x - 1) / x ** 2` in `x ** 2`, for `x < 0.6`, with an error of 2 ** -28 of the tangent.
    const NEAR_0: [f32; 5] = [-0.333_333, 0.133_319_36, -0.053_784_717, 0.020_798_625, -0.005_897_967];
    let size = x.abs();
    // Beyond the limit the result is 1.
    let size = if size > 10.0 { 10.0 } else { size };
    let far = 1.0 - 2.0 / (moderate_exp(size + size) + 1.0);
    let square = x * x;
    let near = fused(size * square, polynomial(square, &NEAR_0), size);
    (if size < 0.6 { near } else { far }).copysign(x)
}

/// Returns the logistic function.
#[inline(always)]
pub(in super::super) fn sigmoid(x: f32) -> f32 {
    // Of a power that is at most 1 the sum does not overflow.
    let power = exp(-x.abs());
    (if x >= 0.0 { 1.0 } else { power }) / (1.0 + power)
}
