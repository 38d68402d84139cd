//! The error function and its complement.

use super::exponential::{exp, moderate_exp};
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

/// Returns the error function of a number of at most 0.93.
#[inline(always)]
fn near_0(x: f32) -> f32 {
    fused(x, polynomial(x * x, &NEAR_0), x)
}

/// Returns the error function.
#[inline(always)]
pub(in super::super) fn erf(x: f32) -> f32 {
    let size = x.abs();
    // Beyond the limit the result is 1.
    let size = if size > 4.0 { 4.0 } else { size };
    let far = 1.0 - moderate_exp(polynomial(size, &FAR));
    if size < 0.92 { near_0(x) } else { far.copysign(x) }
}

/// Returns 1 minus the error function.
///
/// Source: Shepherd and Laframboise, "Chebyshev Approximation of (1 + 2x) exp(x ** 2) erfc x in
/// 0 <= x < infinity" (1981).
#[inline(always)]
pub(in super::super) fn erfc(x: f32) -> f32 {
    /// `(1 + 2 * x) * exp(x ** 2) * erfc(x)` in `(x - 2) / (x + 2)`, for x to 11, with an error of 2 ** -25 of the function.
    const SCALED: [f32; 11] = [
        1.276_978_4,
        -0.092_763_88,
        -0.166_031_12,
        0.164_052_64,
        -0.054_205_436,
        -0.008_039_741,
        0.008_637_248,
        0.001_255_919_2,
        -0.001_256_619_4,
        -0.000_343_895_63,
        3.860_895e-5,
    ];
    let size = x.abs();
    // Beyond the limit the result is 0 or 2.
    let size = if size > 11.0 { 11.0 } else { size };
    let square = size * size;
    // The rounding error of the square.
    let lost = fused(size, size, -square);
    let scaled = polynomial((size - 2.0) / (size + 2.0), &SCALED) / fused(2.0, size, 1.0);
    let result = scaled * exp(-square);
    let result = fused(-lost, result, result);
    let far = if x < 0.0 { 2.0 - result } else { result };
    if size < 0.5 { 1.0 - near_0(x) } else { far }
}
