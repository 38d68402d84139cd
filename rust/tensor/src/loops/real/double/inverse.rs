//! The arc sine, the arc cosine and the arc tangent.

use std::f64::consts::{FRAC_PI_4, PI};

use super::circular::QUARTER;
use super::polynomial;

/// `(asin(x) / x - 1) / x ** 2` in `x ** 2`, for up to 1/2, with an error of 2 ** -58 of the arc sine.
const ARC_SINE: [f64; 13] = [
    0.166_666_666_666_667_02,
    0.074_999_999_999_845_11,
    0.044_642_857_163_635_94,
    0.030_381_943_144_576_987,
    0.022_372_204_933_033_622,
    0.017_351_756_627_662_213,
    0.013_979_471_035_153_58,
    0.011_407_153_963_809_83,
    0.010_748_063_085_275_792,
    0.003_780_689_950_298_393_6,
    0.021_629_907_438_306_728,
    -0.021_020_611_104_596_57,
    0.032_716_104_830_982_834,
];

/// `(atan(x) / x - 1) / x ** 2` in `x ** 2`, for up to the tangent of a sixteenth of a turn, with an error of 2 ** -58 of the
/// arc tangent.
const ARC_TANGENT: [f64; 11] = [
    -0.333_333_333_333_332_7,
    0.199_999_999_999_693_1,
    -0.142_857_142_813_836_63,
    0.111_111_108_265_586,
    -0.090_908_986_123_793_38,
    0.076_920_697_580_776_3,
    -0.066_631_590_472_943_65,
    0.058_479_643_715_669_35,
    -0.050_384_133_942_848_74,
    0.038_015_585_933_516_63,
    -0.017_829_184_144_146_384,
];

/// Returns the arc sine of a number of at most 1/2, and false. Of a larger number it returns half of the angle between the arc
/// sine and a quarter turn, and true.
#[inline(always)]
fn half_arc(size: f64) -> (f64, bool) {
    let is_large = size > 0.5;
    let square = if is_large { (1.0 - size) * 0.5 } else { size * size };
    let sine = if is_large { square.sqrt() } else { size };
    ((sine * square).mul_add(polynomial(square, &ARC_SINE), sine), is_large)
}

/// Returns the difference between a quarter turn and an angle.
#[inline(always)]
fn complement(angle: f64) -> f64 {
    let [quarter, rest, _] = QUARTER;
    quarter - (angle - rest)
}

/// Returns the arc sine.
#[inline(always)]
pub(in super::super) fn asin(x: f64) -> f64 {
    let (angle, is_large) = half_arc(x.abs());
    (if is_large { complement(angle + angle) } else { angle }).copysign(x)
}

/// Returns the arc cosine.
#[inline(always)]
pub(in super::super) fn acos(x: f64) -> f64 {
    let (angle, is_large) = half_arc(x.abs());
    let twice = angle + angle;
    let far = if x < 0.0 { PI - (twice - 2.0 * QUARTER[1]) } else { twice };
    if is_large { far } else { complement(angle.copysign(x)) }
}

/// Returns the angle of a point with coordinates of at least 0, whose sum is finite.
#[inline(always)]
fn angle(y: f64, x: f64) -> f64 {
    /// The tangent of a sixteenth of a turn.
    const SIXTEENTH: f64 = std::f64::consts::SQRT_2 - 1.0;
    let [quarter, rest, _] = QUARTER;
    let (is_steep, is_flat) = (x < y * SIXTEENTH, y <= x * SIXTEENTH);
    // The angle from the nearest eighth of a turn.
    let sine = if is_steep {
        -x
    } else if is_flat {
        y
    } else {
        y - x
    };
    let cosine = if is_steep {
        y
    } else if is_flat {
        x
    } else {
        x + y
    };
    let slope = sine / if cosine == 0.0 { 1.0 } else { cosine };
    let square = slope * slope;
    let (from, rest) = if is_steep {
        (quarter, rest)
    } else if is_flat {
        (0.0, 0.0)
    } else {
        (FRAC_PI_4, 0.5 * rest)
    };
    from + ((slope * square).mul_add(polynomial(square, &ARC_TANGENT), slope) + rest)
}

/// Returns the arc tangent.
#[inline(always)]
pub(in super::super) fn atan(x: f64) -> f64 {
    angle(x.abs(), 1.0).copysign(x)
}

/// Returns the angle of a point whose coordinates have the range of `f32`.
#[inline(always)]
pub(in super::super) fn atan2(y: f64, x: f64) -> f64 {
    /// Represents infinity, since two infinities have an angle.
    const LARGEST: f64 = 1e300;
    let limited = |size: f64| if size > LARGEST { LARGEST } else { size };
    let angle = angle(limited(y.abs()), limited(x.abs()));
    (if x.is_sign_negative() { PI - angle } else { angle }).copysign(y)
}
