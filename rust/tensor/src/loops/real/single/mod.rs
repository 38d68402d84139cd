//! Functions of `f32`.
//!
//! They have no branches, tables or calls, so that the compiler vectorizes loops over them for each instruction set. The only
//! operations are those of IEEE 754, with which results have the same bits in each; a CPU without fused operations computes
//! them slowly. The methods are those of Cody and Waite, Software Manual for the Elementary Functions, 1980, with fused
//! operations in place of split products. The coefficients of polynomials are minimax for the stated ranges, rounded to `f32`
//! (computed with Sollya). The tests state how far a result may be from the exact one.

mod circular;
mod error_function;
mod exponential;
mod logarithm;
mod polynomial;
mod power;
mod wide;

pub(super) use circular::{LARGEST_ANGLE, atan, cos, sin};
pub(super) use error_function::{erf, erfc};
pub(super) use exponential::{exp, exp_m1, exp2, sigmoid, tanh};
pub(super) use logarithm::{ln, ln_1p, log2, log10};
pub(super) use power::pow;
pub(super) use wide::{acos, acosh, asin, asinh, atan2, atanh, cosh, hypot, sinh, tan};

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `check` with numbers of every exponent and sign, and with those that are no usual numbers.
    fn for_each_number(mut check: impl FnMut(f32)) {
        // A prime, so that all mantissas occur with all exponents.
        let step = if cfg!(debug_assertions) { 20_011 } else { 1_009 };
        (0..=u32::MAX).step_by(step).for_each(|bits| check(f32::from_bits(bits)));
        let special = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN];
        special.into_iter().for_each(&mut check);
        // The neighbours of 1, where logarithms are small.
        (0..2_000u32).for_each(|step| {
            check(f32::from_bits(1f32.to_bits() + step));
            check(f32::from_bits(1f32.to_bits() - step));
        });
    }

    /// Returns the distance of a number from an exact result, in the distance between the numbers around that (ulp).
    fn distance(found: f32, exact: f64) -> f64 {
        let nearest = exact as f32;
        if found.to_bits() == nearest.to_bits() || found.is_nan() && nearest.is_nan() {
            return 0.0;
        }
        assert_eq!(found.is_sign_negative(), exact.is_sign_negative(), "{found:e}, not {exact:e}");
        // The next number after the largest one counts as infinity.
        let finite = |number: f64| if number.is_infinite() { 2f64.powi(128) } else { number.abs() };
        let exponent = exact.abs().max(f32::MIN_POSITIVE.into()).log2().floor().min(127.0);
        (finite(found.into()) - finite(exact)).abs() / (exponent - 23.0).exp2()
    }

    #[test]
    fn results_are_near_the_exact_ones() {
        type Case = (&'static str, fn(f32) -> f32, fn(f64) -> f64, f64);
        let cases: [Case; 19] = [
            ("exp", exp, f64::exp, 1.1),
            ("exp2", exp2, f64::exp2, 0.9),
            ("exp_m1", exp_m1, f64::exp_m1, 1.5),
            ("ln", ln, f64::ln, 0.9),
            ("log2", log2, f64::log2, 1.1),
            ("log10", log10, f64::log10, 1.1),
            ("ln_1p", ln_1p, f64::ln_1p, 1.5),
            ("tanh", tanh, f64::tanh, 1.4),
            ("sigmoid", sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 2.4),
            ("erf", erf, libm::erf, 1.2),
            ("erfc", erfc, libm::erfc, 4.2),
            ("atan", atan, f64::atan, 1.4),
            ("asin", asin, f64::asin, 0.51),
            ("acos", acos, f64::acos, 0.51),
            ("sinh", sinh, f64::sinh, 0.51),
            ("cosh", cosh, f64::cosh, 0.51),
            ("asinh", asinh, |x| x.abs().asinh().copysign(x), 0.51),
            ("acosh", acosh, f64::acosh, 0.51),
            ("atanh", |x| atanh(x.abs()), |x| x.abs().atanh(), 0.51),
        ];
        for (name, function, exact, allowed) in cases {
            for_each_number(|x| {
                let (found, exact) = (function(x), exact(x.into()));
                assert!(distance(found, exact) <= allowed, "{name}({x:e}): {found:e}, not {exact:e}");
            });
        }
    }

    #[test]
    fn sines_cosines_and_tangents_are_near_the_exact_ones() {
        for_each_number(|x| {
            if x.abs() <= LARGEST_ANGLE {
                let wide = f64::from(x);
                for (found, exact, allowed) in
                    [(sin(x), wide.sin(), 1.7), (cos(x), wide.cos(), 1.7), (tan(x), wide.tan(), 0.51)]
                {
                    assert!(distance(found, exact) <= allowed, "of {x:e}: {found:e}, not {exact:e}");
                }
            }
        });
    }

    #[test]
    fn angles_of_points_are_near_the_exact_ones() {
        let special =
            [0.0, 1.0, 3.0, 1e-45, 1e-30, 1e30, f32::MAX, f32::MIN_POSITIVE, f32::INFINITY, f32::NAN];
        let special = special.into_iter().flat_map(|number: f32| [number, -number]);
        let mut generator = fastrand::Rng::with_seed(13);
        let random: Vec<f32> = (0..300).map(|_| (generator.f32() - 0.5) * 8.0).collect();
        let numbers: Vec<f32> = special.chain(random).collect();
        for &y in &numbers {
            for &x in &numbers {
                let (found, exact) = (atan2(y, x), f64::from(y).atan2(x.into()));
                assert!(distance(found, exact) <= 0.51, "{y:e}, {x:e}: {found:e}, not {exact:e}");
            }
        }
    }
}
