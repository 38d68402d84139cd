//! The sine, the cosine and the tangent, in quarters of a turn.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::{ROUND, polynomial};

/// The largest size of an angle for which a quarter in three parts is precise enough.
pub(in super::super) const LARGEST_ANGLE: f64 = 1e8;

/// A quarter of a turn, in three parts.
pub(super) const QUARTER: [f64; 3] = [FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];

/// `(sin(x) / x - 1) / x ** 2` in `x ** 2`, for up to an eighth of a turn, with an error of 2 ** -57 of the sine.
const SINE: [f64; 6] = [
    -0.166_666_666_666_666_3,
    0.008_333_333_333_321_88,
    -0.000_198_412_698_294_095_78,
    2.755_731_356_082_872e-6,
    -2.505_073_843_021_076_3e-8,
    1.589_569_301_961_915_4e-10,
];

/// `(cos(x) - 1 + x ** 2 / 2) / x ** 4` in `x ** 2`, for up to an eighth of a turn, with an error of 2 ** -63 of the cosine.
const COSINE: [f64; 6] = [
    0.041_666_666_666_666_595,
    -0.001_388_888_888_887_330_7,
    2.480_158_728_896_390_2e-5,
    -2.755_731_420_218_974e-7,
    2.087_570_294_628_351_3e-9,
    -1.135_860_333_027_939_4e-11,
];

/// Returns the sine and the cosine of the difference between an angle and the nearest number of quarter turns, and bits whose
/// lowest ones are that number.
#[inline(always)]
fn reduced(x: f64) -> (f64, f64, u64) {
    let rounded = x.mul_add(FRAC_2_PI, ROUND);
    let n = rounded - ROUND;
    let rest = QUARTER.iter().fold(x, |rest, part| n.mul_add(-part, rest));
    let square = rest * rest;
    let sine = (rest * square).mul_add(polynomial(square, &SINE), rest);
    let cosine = (square * square).mul_add(polynomial(square, &COSINE), square.mul_add(-0.5, 1.0));
    (sine, cosine, rounded.to_bits())
}

/// Returns the sine of the sum of an angle and a number of quarter turns.
#[inline(always)]
fn sine_after(x: f64, quarters: u64) -> f64 {
    let (sine, cosine, quarter) = reduced(x);
    let quarter = quarter.wrapping_add(quarters);
    let result = if quarter & 1 == 0 { sine } else { cosine };
    f64::from_bits(result.to_bits() ^ (quarter & 2) << 62)
}

/// Returns the sine of an angle of at most [`LARGEST_ANGLE`].
#[inline(always)]
pub(in super::super) fn sin(x: f64) -> f64 {
    let sine = sine_after(x, 0);
    // Keeps the sign of 0.
    if x == 0.0 { x } else { sine }
}

/// Returns the cosine of an angle of at most [`LARGEST_ANGLE`].
#[inline(always)]
pub(in super::super) fn cos(x: f64) -> f64 {
    sine_after(x, 1)
}

/// Returns the tangent of an angle of at most [`LARGEST_ANGLE`].
#[inline(always)]
pub(in super::super) fn tan(x: f64) -> f64 {
    let (sine, cosine, quarter) = reduced(x);
    let is_even = quarter & 1 == 0;
    let tangent = if is_even { sine } else { -cosine } / if is_even { cosine } else { sine };
    // Keeps the sign of 0.
    if x == 0.0 { x } else { tangent }
}
