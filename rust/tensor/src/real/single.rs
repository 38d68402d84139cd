//! Functions of `f32`, computed in `f64`.
//!
//! They have no branches, tables or calls, so that the compiler vectorizes loops over them for each instruction set, and use
//! no fused operations, so that the results have the same bits in each. In `f64` the usual series are so accurate that a
//! result is the nearest `f32`, or, where that is within a thousandth of a tie, one of the two nearest: the tests compare
//! with the standard library's functions of `f64`. The methods are those of Cody and Waite, Software Manual for the
//! Elementary Functions, 1980.

use std::f64::consts::{LN_2, LN_10, LOG2_E};

/// Adding it rounds a number of at most 51 bits to an integer, which is then in the lower bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// The bits of the exponent 0.
const ONE: u64 = 1023 << 52;

/// The coefficients of the series of `2 ** x`: `ln(2) ** k / k!`.
const POWERS_OF_LN_2: [f64; 12] = taylor(LN_2);

/// The coefficients of the series of `e ** x`: `1 / k!`.
const INVERSE_FACTORIALS: [f64; 12] = taylor(1.0);

/// Returns `factor ** k / k!` for each k.
#[expect(clippy::indexing_slicing, reason = "a constant; an index beyond the array would not compile")]
const fn taylor(factor: f64) -> [f64; 12] {
    let mut coefficients = [1.0; 12];
    let mut index = 1;
    while index < 12 {
        coefficients[index] = coefficients[index - 1] * factor / index as f64;
        index += 1;
    }
    coefficients
}

/// Returns the value of a polynomial with these coefficients, the constant one first.
#[inline(always)]
fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |value, coefficient| value * x + coefficient)
}

/// Returns 2 to a power, by a series with these coefficients. Beyond the range of `f32` it is the power of 200 or -200.
#[inline(always)]
fn power_of_two(power: f64, coefficients: &[f64]) -> f64 {
    // Comparisons with NaN are false, so it remains.
    let power = if power > 200.0 { 200.0 } else { power };
    let power = if power < -200.0 { -200.0 } else { power };
    let shifted = power + ROUND;
    let fraction = power - (shifted - ROUND);
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(ONE));
    polynomial(fraction, coefficients) * scale
}

/// Returns e to the power of a number, with a relative error of about 1e-11.
#[inline(always)]
fn exponential(x: f64) -> f64 {
    let [coefficients @ .., _, _] = &POWERS_OF_LN_2;
    power_of_two(x * LOG2_E, coefficients)
}

/// Returns the natural logarithm of an `f32`, or of a number that is as far from 0 and infinity.
#[inline(always)]
fn logarithm(x: f64) -> f64 {
    /// The bits of the root of 1/2, below which a mantissa is doubled.
    const LEAST: u64 = 0x3fe6_a09e_667f_3bcd;
    /// The coefficients of the series of `ln((1 + s) / (1 - s)) / s` in `s ** 2`.
    const SERIES: [f64; 7] = [2.0, 2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0, 2.0 / 13.0];
    /// The bits of 2 ** 52: a smaller integer in the lower bits adds itself.
    const INTEGER: u64 = 0x4330_0000_0000_0000;
    let exponent = x.to_bits().wrapping_add(ONE - LEAST) >> 52;
    let mantissa = f64::from_bits(x.to_bits().wrapping_sub(exponent << 52).wrapping_add(ONE));
    let exponent = f64::from_bits(INTEGER | exponent) - (f64::from_bits(INTEGER) + 1023.0);
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let logarithm = exponent * LN_2 + s * polynomial(s * s, &SERIES);
    let logarithm = if x == f64::INFINITY { x } else { logarithm };
    let logarithm = if x == 0.0 { f64::NEG_INFINITY } else { logarithm };
    if x >= 0.0 { logarithm } else { f64::NAN }
}

/// Returns e to the power of a number.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    exponential(x.into()) as f32
}

/// Returns 2 to the power of a number.
#[inline(always)]
pub(super) fn exp2(x: f32) -> f32 {
    let [coefficients @ .., _, _] = &POWERS_OF_LN_2;
    power_of_two(x.into(), coefficients) as f32
}

/// Returns e to the power of a number, minus 1.
#[inline(always)]
pub(super) fn exp_m1(x: f32) -> f32 {
    let x = f64::from(x);
    let [_, coefficients @ ..] = &INVERSE_FACTORIALS;
    let near_0 = x * polynomial(x, coefficients);
    (if x.abs() < 0.5 { near_0 } else { exponential(x) - 1.0 }) as f32
}

/// Returns the natural logarithm.
#[inline(always)]
pub(super) fn ln(x: f32) -> f32 {
    logarithm(x.into()) as f32
}

/// Returns the binary logarithm.
#[inline(always)]
pub(super) fn log2(x: f32) -> f32 {
    (logarithm(x.into()) * LOG2_E) as f32
}

/// Returns the decimal logarithm.
#[inline(always)]
pub(super) fn log10(x: f32) -> f32 {
    (logarithm(x.into()) * (1.0 / LN_10)) as f32
}

/// Returns the natural logarithm of 1 plus a number.
#[inline(always)]
pub(super) fn ln_1p(x: f32) -> f32 {
    let x = f64::from(x);
    let sum = 1.0 + x;
    let logarithm = logarithm(sum);
    // What the sum has lost.
    let corrected = logarithm + (x - (sum - 1.0)) / sum;
    let logarithm = if logarithm.is_finite() { corrected } else { logarithm };
    // Keeps the sign of 0.
    (if x == 0.0 { x } else { logarithm }) as f32
}

/// Returns the hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let size = f64::from(x).abs();
    let tangent = 1.0 - 2.0 / (power_of_two(size * (2.0 * LOG2_E), &POWERS_OF_LN_2) + 1.0);
    let square = size * size;
    let near_0 = size * (1.0 - square * (1.0 / 3.0 - square * (2.0 / 15.0)));
    ((if size < 1e-3 { near_0 } else { tangent }) as f32).copysign(x)
}

/// Returns the logistic function.
#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    (1.0 / (1.0 + exponential(-f64::from(x)))) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `check` with numbers of every exponent and sign, and with those that are no usual numbers.
    fn for_each_number(mut check: impl FnMut(f32)) {
        // A prime, so that all mantissas occur with all exponents.
        (0..=u32::MAX).step_by(1_009).for_each(|bits| check(f32::from_bits(bits)));
        let special = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN];
        special.into_iter().for_each(&mut check);
        // The neighbours of 1, where logarithms are small.
        (0..2_000u32).for_each(|step| {
            check(f32::from_bits(1f32.to_bits() + step));
            check(f32::from_bits(1f32.to_bits() - step));
        });
    }

    /// Returns whether a number is the nearest one to a result in `f64`, or its neighbour if the result is near a tie.
    fn is_nearest(found: f32, exact: f64) -> bool {
        let nearest = exact as f32;
        if found.to_bits() == nearest.to_bits() || found.is_nan() && nearest.is_nan() {
            return true;
        }
        let distance = |number: f32| (f64::from(number) - exact).abs();
        (found.to_bits().abs_diff(nearest.to_bits()) == 1) && distance(found) < distance(nearest) * 1.002
    }

    #[test]
    fn results_are_the_nearest_numbers() {
        type Case = (&'static str, fn(f32) -> f32, fn(f64) -> f64);
        let cases: [Case; 9] = [
            ("exp", exp, f64::exp),
            ("exp2", exp2, f64::exp2),
            ("exp_m1", exp_m1, f64::exp_m1),
            ("ln", ln, f64::ln),
            ("log2", log2, f64::log2),
            ("log10", log10, f64::log10),
            ("ln_1p", ln_1p, f64::ln_1p),
            ("tanh", tanh, f64::tanh),
            ("sigmoid", sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
        ];
        for (name, function, exact) in cases {
            for_each_number(|x| {
                let (found, exact) = (function(x), exact(x.into()));
                assert!(is_nearest(found, exact), "{name}({x:e}): {found:e}, not {exact:e}");
            });
        }
    }
}
