//! The error function.

use super::exponential::moderate_exp;
use super::polynomial::{fused, polynomial};

/// `erf(x) / x - 1` in `x ** 2`, for `x < 0.93`, with an error of 2 ** -27 of the function.
const NEAR_0: [f32; 7] =
    [0.128_379_17, -0.376_126_3, 0.112_836_15, -0.026_854_444, 0.005_187_682, -0.000_798_271, 7.670_973e-5];

/// The logarithm of `1 - erf(x)` for x from 0.92 to 4, with an error of 2 ** -26.
const FAR: [f32; 9] = [
    0.000_294_490_16,
    -1.130_132_3,
    -0.631_994,
    -0.109_926_35,
    0.026_336_163,
    -0.004_730_488_6,
    0.000_590_756_9,
    -4.535_926e-5,
    1.602_714_6e-6,
];

/// Returns the error function.
#[inline(always)]
pub(in super::super) fn erf(x: f32) -> f32 {
    let size = x.abs();
    // Beyond the limit the result is 1.
    let size = if size > 4.0 { 4.0 } else { size };
    let square = x * x;
    let near = fused(size, polynomial(square, &NEAR_0), size);
    let far = 1.0 - moderate_exp(polynomial(size, &FAR));
    (if size < 0.92 { near } else { far }).copysign(x)
}
