//! The sine and the cosine, in quarters of a turn, and the arc tangent.

use std::f32::consts::{FRAC_2_PI, FRAC_PI_2};

use super::exponential::ROUND;
use super::polynomial::{fused, polynomial};

/// The largest size of an angle for which a quarter in three parts is precise enough.
pub(in super::super) const LARGEST_ANGLE: f32 = 1e5;

/// A quarter of a turn, in three parts.
const QUARTER: [f32; 3] = [
    FRAC_PI_2,
    (std::f64::consts::FRAC_PI_2 - FRAC_PI_2 as f64) as f32,
    // The rest of the quarter after both parts.
    -1.715_124_5e-15,
];

/// `(sin(x) / x - 1) / x ** 2` in `x ** 2`, for up to an eighth of a turn, with an error of 2 ** -27 of the sine.
const SINE: [f32; 3] = [-0.166_666_55, 0.008_332_188, -0.000_195_180_58];

/// `(cos(x) - 1 + x ** 2 / 2) / x ** 4` in `x ** 2`, for up to an eighth of a turn, with an error of 2 ** -32 of the cosine.
const COSINE: [f32; 3] = [0.041_666_646, -0.001_388_731, 2.443_233e-5];

/// Returns the sine of the sum of an angle and a number of quarter turns.
#[inline(always)]
fn sine_after(x: f32, quarters: u32) -> f32 {
    let rounded = fused(x, FRAC_2_PI, ROUND);
    let n = rounded - ROUND;
    let rest = QUARTER.iter().fold(x, |rest, part| fused(n, -part, rest));
    let square = rest * rest;
    let sine = fused(rest * square, polynomial(square, &SINE), rest);
    let cosine = fused(square * square, polynomial(square, &COSINE), fused(square, -0.5, 1.0));
    let quarter = rounded.to_bits().wrapping_add(quarters);
    let result = if quarter & 1 == 0 { sine } else { cosine };
    f32::from_bits(result.to_bits() ^ (quarter & 2) << 30)
}

/// Returns the sine of an angle of at most [`LARGEST_ANGLE`].
#[inline(always)]
pub(in super::super) fn sin(x: f32) -> f32 {
    let sine = sine_after(x, 0);
    // Keeps the sign of 0.
    if x == 0.0 { x } else { sine }
}

/// Returns the cosine of an angle of at most [`LARGEST_ANGLE`].
#[inline(always)]
pub(in super::super) fn cos(x: f32) -> f32 {
    sine_after(x, 1)
}

/// Returns the arc tangent.
#[inline(always)]
pub(in super::super) fn atan(x: f32) -> f32 {
    /// `(atan(x) / x - 1) / x ** 2` in `x ** 2`, for up to 1, with an error of 2 ** -28 of the arc tangent.
    const ARC_TANGENT: [f32; 9] = [
        -0.333_333,
        0.199_985_34,
        -0.142_641,
        0.109_514_72,
        -0.084_014_26,
        0.057_923_626,
        -0.031_144_435,
        0.010_896_8,
        -0.001_789_653_2,
    ];
    let size = x.abs();
    let is_steep = size > 1.0;
    // The angle between the other two sides.
    let slope = if is_steep { 1.0 / size } else { size };
    let square = slope * slope;
    let angle = fused(slope * square, polynomial(square, &ARC_TANGENT), slope);
    let [quarter, rest, _] = QUARTER;
    (if is_steep { quarter - (angle - rest) } else { angle }).copysign(x)
}
