//! Functions of `f64` that loops need often. Their methods are those of [`single`](super::single): they have no branches, so
//! that the compiler vectorizes loops over them, and results have the same bits with each instruction set.

mod circular;
mod error_function;
pub(super) mod full_range;
mod hyperbolic;
mod hypotenuse;
mod inverse;

use std::f64::consts::LOG2_E;

pub(super) use circular::{LARGEST_ANGLE, cos, sin, tan};
pub(super) use error_function::erf;
pub(super) use hyperbolic::{acosh, asinh, atanh, cosh, sinh};
pub(super) use hypotenuse::hypot;
pub(super) use inverse::{acos, asin, atan, atan2};

/// Adding it rounds a number of at most 51 bits to an integer, which is then in the lower bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// The logarithm of 2 in two parts: products of the first one with integers of up to 20 bits are exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// `(exp(x) - 1 - x - x ** 2 / 2) / x ** 3` for `abs(x) <= ln(2) / 2`, with an error of 2 ** -56 of the exponential.
const EXPONENTIAL: [f64; 9] = [
    1.666_666_666_666_679e-1,
    0.041_666_666_666_602_58,
    8.333_333_333_251_33e-3,
    1.388_888_892_736_879e-3,
    1.984_127_003_402_533e-4,
    2.480_150_795_266_281_7e-5,
    2.755_711_511_675_975e-6,
    2.762_548_069_240_836e-7,
    2.514_912_481_217_394_5e-8,
];

/// `(ln((1 + s) / (1 - s)) / s - 2) / s ** 2` in `s ** 2`, for numbers between the roots of 1/2 and 2, with an error of 2 ** -57
/// of the logarithm.
const LOGARITHM: [f64; 7] = [
    6.666_666_666_666_67e-1,
    3.999_999_999_989_756e-1,
    2.857_142_862_716_750_5e-1,
    2.222_221_092_000_192_5e-1,
    1.818_290_552_481_580_3e-1,
    1.533_116_212_707_777e-1,
    1.462_347_445_427_386e-1,
];

/// Returns the value of a polynomial with these coefficients, the constant one first.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    const { assert!(N > 0, "a polynomial has a coefficient") };
    let mut coefficients = coefficients.iter().rev();
    let highest = coefficients.next().copied().unwrap_or_default();
    coefficients.fold(highest, |value, coefficient| value.mul_add(x, *coefficient))
}

/// Returns 2 to the power of an integer from -1022 to 1023.
#[inline(always)]
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits((exponent.wrapping_add(1023) as u64) << 52)
}

/// Returns `exp(r) - 1` and n for the number `x = n * ln(2) + r`, limited to a range, so that `exp(x)` is `exp(r) * 2 ** n`.
#[inline(always)]
fn reduced(x: f64, [least, largest]: [f64; 2]) -> (f64, i64) {
    // Comparisons with NaN are false, so it remains.
    let x = if x > largest { largest } else { x };
    let x = if x < least { least } else { x };
    let rounded = x.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let [high, low] = LN_2;
    let r = n.mul_add(-low, n.mul_add(-high, x));
    let square = r * r;
    let rest = (square * r).mul_add(polynomial(r, &EXPONENTIAL), square.mul_add(0.5, r));
    (rest, (rounded.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64))
}

/// Returns e to the power of a number.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    // Beyond these limits the result is 0 or infinity. The power of two may be beyond the range of the type.
    let (rest, n) = reduced(x, [-746.0, 710.0]);
    let half = n >> 1;
    (rest + 1.0) * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// Returns e to the power of a number, minus 1.
#[inline(always)]
pub(super) fn exp_m1(x: f64) -> f64 {
    // Below the limit the result is -1.
    let (rest, n) = reduced(x, [-50.0, 710.0]);
    // Half of the power of two, which for 2 ** 1024 is no number of this type.
    let half = power_of_two(n.wrapping_sub(1));
    let result = half.mul_add(rest, half - 0.5);
    // Keeps the sign of 0.
    if x == 0.0 { x } else { result + result }
}

/// Returns the hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    // Beyond the limit the result is 1.
    let size = x.abs();
    let size = if size > 20.0 { 20.0 } else { size };
    let growth = exp_m1(size + size);
    (growth / (growth + 2.0)).copysign(x)
}

/// Returns the logistic function.
#[inline(always)]
pub(super) fn sigmoid(x: f64) -> f64 {
    // Of a power that is at most 1 the sum does not overflow.
    let power = exp(-x.abs());
    (if x >= 0.0 { 1.0 } else { power }) / (1.0 + power)
}

/// Returns the natural logarithm.
#[inline(always)]
pub(super) fn ln(number: f64) -> f64 {
    /// The bits of the root of 1/2, below which a mantissa is doubled.
    const LEAST: u64 = 0x3fe6_a09e_667f_3bcd;
    /// The bits that are the exponent.
    const EXPONENT: u64 = 0xfff0_0000_0000_0000;
    /// 2 ** 52, with which a number without a leading 1 gets one.
    const NORMAL: f64 = 4_503_599_627_370_496.0;
    let is_small = number < f64::MIN_POSITIVE;
    let bits = (if is_small { number * NORMAL } else { number }).to_bits();
    let exponent = bits.wrapping_sub(LEAST) & EXPONENT;
    // Through 32 bits, which every instruction set converts to a float.
    let e = f64::from((exponent as i64 >> 52) as i32) - if is_small { 52.0 } else { 0.0 };
    let x = f64::from_bits(bits.wrapping_sub(exponent)) - 1.0;
    let s = x / (x + 2.0);
    let square = s * s;
    let half = 0.5 * x * x;
    let [high, low] = LN_2;
    // `ln(1 + x)` is `x - half + s * (half + rest)`.
    let rest = square * polynomial(square, &LOGARITHM);
    let logarithm = e.mul_add(high, x - (half - s.mul_add(half + rest, e * low)));
    let logarithm = if number == f64::INFINITY { number } else { logarithm };
    let logarithm = if number == 0.0 { f64::NEG_INFINITY } else { logarithm };
    if number >= 0.0 { logarithm } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_near_those_of_the_standard_library() {
        type Case = (&'static str, fn(f64) -> f64, fn(f64) -> f64, u64);
        let cases: [Case; 12] = [
            ("exp", exp, f64::exp, 2),
            ("exp_m1", exp_m1, f64::exp_m1, 3),
            ("tanh", tanh, f64::tanh, 4),
            ("sigmoid", sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 5),
            ("ln", ln, f64::ln, 1),
            ("erf", erf, libm::erf, 2),
            ("sin", sin, f64::sin, 2),
            ("cos", cos, f64::cos, 2),
            ("tan", tan, f64::tan, 4),
            ("asin", asin, f64::asin, 2),
            ("acos", acos, f64::acos, 2),
            ("atan", atan, f64::atan, 2),
        ];
        let mut generator = fastrand::Rng::with_seed(3);
        let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, f64::MIN];
        let count = if cfg!(debug_assertions) { 30_000 } else { 3_000_000 };
        let random = (0..count).map(|number| match number % 4 {
            // Near zeros of the sine and the cosine.
            3 => generator.i32(-60_000_000..60_000_000) as f64 * std::f64::consts::FRAC_PI_2,
            0 => f64::from_bits(generator.u64(..)),
            1 => (generator.f64() - 0.5) * 1_500.0,
            _ => (generator.f64() - 0.5) * 8.0,
        });
        let numbers: Vec<f64> = special.into_iter().chain(random).collect();
        for (name, function, exact, allowed) in cases {
            let is_angle = matches!(name, "sin" | "cos" | "tan");
            for &x in numbers.iter().filter(|x| !is_angle || x.abs() <= LARGEST_ANGLE) {
                let (found, exact) = (function(x), exact(x));
                // The difference of their bits is the number of floats between them.
                let is_near = found.to_bits().abs_diff(exact.to_bits()) <= allowed
                    || found.is_nan() && exact.is_nan()
                    // 1 / (1 + exp(-x)) of the standard library overflows.
                    || name == "sigmoid" && exact == 0.0 && found < 1e-307;
                assert!(is_near, "{name}({x:e}): {found:e}, not {exact:e}");
            }
        }
    }
}
