//! Fused multiplications and additions, and polynomials.

/// Returns `a * b + c`, rounded once.
#[inline(always)]
pub(super) fn fused(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

/// Returns the value of a polynomial with these coefficients, the constant one first.
#[inline(always)]
pub(super) fn polynomial<const N: usize>(x: f32, coefficients: &[f32; N]) -> f32 {
    const { assert!(N > 0, "a polynomial has a coefficient") };
    let mut coefficients = coefficients.iter().rev();
    let highest = coefficients.next().copied().unwrap_or_default();
    coefficients.fold(highest, |value, coefficient| fused(value, x, *coefficient))
}
