//! The length of a hypotenuse.

use super::power_of_two;

/// Returns the square of a number and its rounding error.
#[inline(always)]
fn square(x: f64) -> [f64; 2] {
    let square = x * x;
    [square, x.mul_add(x, -square)]
}

/// Returns the length of the hypotenuse of a right triangle with these legs, which is infinite if one of them is, whatever the
/// other one. The error is less than 1 ulp (Borges, An Improved Algorithm for hypot(a, b), 2019).
#[inline(always)]
pub(in super::super) fn hypot(x: f64, y: f64) -> f64 {
    /// Squares of numbers between two to the power of this and its reciprocal are normal numbers, and so are their errors.
    const LIMIT: i64 = 450;
    let (x, y) = (x.abs(), y.abs());
    let (large, small) = if x < y { (y, x) } else { (x, y) };
    // Scaling by a power of two rounds nothing, but for a leg that makes no difference.
    let scale = if large > power_of_two(LIMIT) { power_of_two(-2 * LIMIT) } else { 1.0 };
    let scale = if large < power_of_two(-LIMIT) { power_of_two(2 * LIMIT) } else { scale };
    let ([a, rest_a], [b, rest_b]) = (square(large * scale), square(small * scale));
    let sum = a + b;
    let rest = (b - (sum - a)) + (rest_a + rest_b);
    let root = sum.sqrt();
    // One step of Newton's method with the error of the sum and of the root.
    let error = (-root).mul_add(root, sum) + rest;
    let divisor = if root == 0.0 { 1.0 } else { 2.0 * root };
    let length = (root + error / divisor) / scale;
    if (x == f64::INFINITY) | (y == f64::INFINITY) { f64::INFINITY } else { length }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_near_those_of_the_standard_library() {
        let mut generator = fastrand::Rng::with_seed(5);
        let special = [0.0, 1.0, 1e-320, 1e-170, 1e-140, 1e140, 1e170, f64::MAX, f64::INFINITY, f64::NAN];
        let random = (0..1000).map(|_| generator.f64() * 8.0 - 4.0);
        let numbers: Vec<f64> = special.into_iter().chain(random).collect();
        for &x in &numbers {
            for &y in &numbers {
                let (found, exact) = (hypot(x, -y), x.hypot(y));
                let is_near = found.to_bits().abs_diff(exact.to_bits()) <= 1;
                assert!(
                    is_near || found.is_nan() && exact.is_nan(),
                    "{x:e}, {y:e}: {found:e}, not {exact:e}"
                );
            }
        }
    }
}
