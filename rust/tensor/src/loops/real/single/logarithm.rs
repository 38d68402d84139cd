//! Logarithms: sums of a multiple of the exponent and a polynomial of the mantissa.

use std::f32::consts::{LOG2_E, LOG10_E};

use super::exponential::LN_2;
use super::polynomial::{fused, polynomial};

/// `(ln(1 + x) - x) / x ** 2` for numbers between the roots of 1/2 and 2, less 1, with an error of 2 ** -27 of the logarithm.
const LOGARITHM: [f32; 9] = [
    -0.499_999_88,
    0.333_333_25,
    -0.250_016,
    0.200_02,
    -0.166_087_58,
    0.141_812_22,
    -0.132_447_73,
    0.129_084_75,
    -0.076_224_63,
];

/// The bits of the root of 1/2, below which a mantissa is doubled.
const LEAST: u32 = 0x3f35_04f3;

/// The bits that are the exponent.
const EXPONENT: u32 = 0xff80_0000;

/// Returns the exponent that these bits encode.
#[inline(always)]
fn exponent_of(bits: u32) -> f32 {
    (bits as i32 >> 23) as f32
}

/// Returns e and x for a positive number `(1 + x) * 2 ** e`.
#[inline(always)]
fn split(number: f32) -> (f32, f32) {
    /// 2 ** 23, with which a number without a leading 1 gets one.
    const NORMAL: f32 = 8_388_608.0;
    let is_small = number < f32::MIN_POSITIVE;
    let bits = (if is_small { number * NORMAL } else { number }).to_bits();
    let exponent = bits.wrapping_sub(LEAST) & EXPONENT;
    let e = exponent_of(exponent) - if is_small { 23.0 } else { 0.0 };
    (e, f32::from_bits(bits.wrapping_sub(exponent)) - 1.0)
}

/// Returns the logarithm of a number, which was computed as if the number was positive and finite.
#[inline(always)]
fn of_every(number: f32, logarithm: f32) -> f32 {
    let logarithm = if number == f32::INFINITY { number } else { logarithm };
    let logarithm = if number == 0.0 { f32::NEG_INFINITY } else { logarithm };
    if number >= 0.0 { logarithm } else { f32::NAN }
}

/// Returns `e * ln(2) + ln(1 + x)`.
#[inline(always)]
fn natural(e: f32, x: f32) -> f32 {
    let [high, low] = LN_2;
    let rest = fused(x * x, polynomial(x, &LOGARITHM), e * low);
    fused(e, high, x + rest)
}

/// Returns the natural logarithm.
#[inline(always)]
pub(in super::super) fn ln(number: f32) -> f32 {
    let (e, x) = split(number);
    of_every(number, natural(e, x))
}

/// Returns the binary logarithm.
#[inline(always)]
pub(in super::super) fn log2(number: f32) -> f32 {
    /// The rounding error of `LOG2_E`.
    const LOW: f32 = (std::f64::consts::LOG2_E - LOG2_E as f64) as f32;
    let (e, x) = split(number);
    let rest = x * x * polynomial(x, &LOGARITHM);
    of_every(number, e + fused(x, LOG2_E, fused(x, LOW, rest * LOG2_E)))
}

/// Returns the decimal logarithm.
#[inline(always)]
pub(in super::super) fn log10(number: f32) -> f32 {
    /// The rounding error of `LOG10_E`.
    const LOW: f32 = (std::f64::consts::LOG10_E - LOG10_E as f64) as f32;
    /// The decimal logarithm of 2 in two parts, as [`LN_2`].
    const LOG10_2: [f32; 2] = [0.301_025_4, (std::f64::consts::LOG10_2 - 0.301_025_4_f32 as f64) as f32];
    let (e, x) = split(number);
    let rest = x * x * polynomial(x, &LOGARITHM);
    let [high, low] = LOG10_2;
    of_every(number, fused(e, high, fused(x, LOG10_E, fused(x, LOW, fused(rest, LOG10_E, e * low)))))
}

/// Returns the natural logarithm of 1 plus a number.
#[inline(always)]
pub(in super::super) fn ln_1p(number: f32) -> f32 {
    let exponent = (1.0 + number).to_bits().wrapping_sub(LEAST) & EXPONENT;
    // The sum of both parts, which 2 ** e divides, is rounded once. Four times the reciprocal of the power is a number of
    // this type also where the reciprocal is none.
    let divided = f32::from_bits(number.to_bits().wrapping_sub(exponent));
    let four_parts = f32::from_bits(4.0f32.to_bits().wrapping_sub(exponent));
    let x = divided + fused(0.25, four_parts, -1.0);
    let logarithm = natural(exponent_of(exponent), x);
    let logarithm = if number == -1.0 { f32::NEG_INFINITY } else { logarithm };
    let logarithm = if number >= -1.0 { logarithm } else { f32::NAN };
    // Keeps the sign of 0.
    if number == 0.0 || number == f32::INFINITY { number } else { logarithm }
}
