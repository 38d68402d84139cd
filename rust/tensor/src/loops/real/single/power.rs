//! Powers of any base.

use super::super::double;

/// Returns the base to the power of the exponent, with the special cases of IEEE 754.
///
/// It is `exp(exponent * ln(base))` in double precision, so that the error of the logarithm, which the exponent multiplies, is
/// small.
#[inline(always)]
pub(in super::super) fn pow(base: f32, exponent: f32) -> f32 {
    let size = f64::from(base.abs());
    let power = double::exp(f64::from(exponent) * double::ln(size)) as f32;
    // Where the logarithm is 0 or infinite the product may be NaN.
    let power = if size == 1.0 || exponent == 0.0 { 1.0 } else { power };
    let (half, is_integer) = (0.5 * exponent, exponent.trunc() == exponent);
    let is_odd = is_integer && half.trunc() != half;
    let power = if is_odd { power.copysign(base) } else { power };
    let has_power = base >= 0.0 || base == f32::NEG_INFINITY || is_integer;
    // 1 is the power of 1 for each exponent, also NaN, and with exponent 0 also of NaN.
    if has_power || base.is_nan() { power } else { f32::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_standard_library() {
        let mut generator = fastrand::Rng::with_seed(11);
        let special = [
            0.0,
            1.0,
            2.0,
            3.0,
            0.5,
            2.5,
            1e-40,
            1e30,
            16_777_217.0,
            8_388_607.0,
            f32::MAX,
            f32::MIN_POSITIVE,
            f32::INFINITY,
            f32::NAN,
        ];
        let special: Vec<f32> = special.into_iter().flat_map(|number| [number, -number]).collect();
        let pairs = special.iter().flat_map(|&base| special.iter().map(move |&exponent| (base, exponent)));
        let count = if cfg!(debug_assertions) { 100_000 } else { 10_000_000 };
        let random = (0..count).map(|number| match number % 3 {
            0 => (f32::from_bits(generator.u32(..)), f32::from_bits(generator.u32(..))),
            1 => (f32::from_bits(generator.u32(..)), (generator.f32() - 0.5) * 20.0),
            _ => ((generator.f32() - 0.5) * 20.0, generator.i32(-40..40) as f32),
        });
        for (base, exponent) in pairs.chain(random) {
            let (found, exact) = (pow(base, exponent), f64::from(base).powf(exponent.into()) as f32);
            // The difference of their bits is the number of floats between them.
            let is_near = found.to_bits().abs_diff(exact.to_bits()) <= 1 || found.is_nan() && exact.is_nan();
            assert!(is_near, "{base:e} to the power of {exponent:e}: {found:e}, not {exact:e}");
        }
    }
}
