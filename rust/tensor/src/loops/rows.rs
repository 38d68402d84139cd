//! Functions of rows of elements.

use super::lanes::fold_in_lanes;
use super::vectorized::vectorized;
use crate::Element;
use crate::element::{larger, smaller};
use crate::real::Real;

/// Returns the largest element that is not NaN; minus infinity if there is none.
#[inline(always)]
fn largest<T: Real>(row: &[T]) -> T {
    let choose = |best: T, next: T| if next > best { next } else { best };
    fold_in_lanes(row, T::from_f64(f64::NEG_INFINITY), choose, choose)
}

/// Returns the index of the largest or smallest element of a row: the first of equal ones, or of NaN. 0 for an empty row.
pub(crate) fn index_of_extreme<T: Element>(row: &[T], is_largest: bool) -> usize {
    /// Elements that are compared at once, before the first one of them is looked for.
    const BLOCK: usize = 256;
    let Some(&first) = row.first() else { return 0 };
    let mut index = 0;
    vectorized(
        #[inline(always)]
        || {
            let best = if is_largest {
                fold_in_lanes(row, first, larger::<T>, larger::<T>)
            } else {
                fold_in_lanes(row, first, smaller::<T>, smaller::<T>)
            };
            let is_it = |element: &T| *element == best || (element.is_nan() && best.is_nan());
            let has_it = |block: &&[T]| block.iter().fold(false, |found, element| found | is_it(element));
            let number = row.chunks(BLOCK).position(|block| has_it(&block)).unwrap_or(0);
            let begin = number * BLOCK;
            index = begin + row.iter().skip(begin).position(is_it).unwrap_or(0);
        },
    );
    index
}

/// Returns the sum of elements in `f64`.
#[inline(always)]
fn sum<T: Real>(elements: &[T]) -> f64 {
    fold_in_lanes(elements, 0.0, |sum: f64, element: T| sum + element.to_f64(), |a, b| a + b)
}

/// Writes the exponentials of a row, normalized to a sum of 1. Where all elements are minus infinity they are NaN, as in
/// PyTorch, or 0 if `is_safe`.
pub(crate) fn softmax<T: Real>(row: &[T], out: &mut [T], is_safe: bool) {
    vectorized(
        #[inline(always)]
        move || {
            let largest = largest(row);
            if is_safe && largest == T::from_f64(f64::NEG_INFINITY) && !row.iter().any(|value| value.is_nan())
            {
                return out.fill(T::default());
            }
            out.iter_mut().zip(row).for_each(|(out, value)| *out = (*value - largest).exp());
            let sum = T::from_f64(sum(out));
            let reciprocal = T::from_f64(1.0) / sum;
            // A division takes longer than a product with the reciprocal whose error is corrected.
            out.iter_mut().for_each(|out| {
                let quotient = *out * reciprocal;
                *out = (-quotient).mul_add(sum, *out).mul_add(reciprocal, quotient);
            });
        },
    );
}

/// Writes the logarithms of the [`softmax`] of a row.
pub(crate) fn log_softmax<T: Real>(row: &[T], out: &mut [T]) {
    vectorized(
        #[inline(always)]
        move || {
            let largest = largest(row);
            // If all elements are minus infinity the differences are NaN, as in PyTorch.
            out.iter_mut().zip(row).for_each(|(out, value)| *out = (*value - largest).exp());
            // The difference is computed first: added to a large maximum the logarithm would be lost in rounding.
            let logarithm = T::from_f64(sum(out).ln());
            out.iter_mut().zip(row).for_each(|(out, value)| *out = (*value - largest) - logarithm);
        },
    );
}

/// Writes the gradient of the input of [`softmax`], `(g - sum(g * y)) * y` for the gradient g of the result y.
pub(crate) fn softmax_backward<T: Real>(gradient: &[T], result: &[T], out: &mut [T]) {
    vectorized(
        #[inline(always)]
        move || {
            out.iter_mut().zip(gradient.iter().zip(result)).for_each(|(out, (&g, &y))| *out = g * y);
            let total = T::from_f64(sum(out));
            out.iter_mut()
                .zip(gradient.iter().zip(result))
                .for_each(|(out, (&g, &y))| *out = (g - total) * y);
        },
    );
}

/// Writes the gradient of the input of [`log_softmax`], `g - exp(y) * sum(g)` for the gradient g of the result y.
pub(crate) fn log_softmax_backward<T: Real>(gradient: &[T], result: &[T], out: &mut [T]) {
    vectorized(
        #[inline(always)]
        move || {
            let total = T::from_f64(sum(gradient));
            out.iter_mut()
                .zip(gradient.iter().zip(result))
                .for_each(|(out, (&g, &y))| *out = g - y.exp() * total);
        },
    );
}

/// Returns the largest element that is not NaN; minus infinity if there is none.
pub(crate) fn largest_in<T: Real>(row: &[T]) -> T {
    let mut found = T::from_f64(f64::NEG_INFINITY);
    vectorized(
        #[inline(always)]
        || found = largest(row),
    );
    found
}

/// Replaces the elements by the exponentials of their differences from a number, and returns their sum.
pub(crate) fn exponentials<T: Real>(row: &mut [T], from: T) -> f64 {
    let mut total = 0.0;
    vectorized(
        #[inline(always)]
        || {
            row.iter_mut().for_each(|value| *value = (*value - from).exp());
            total = sum(row);
        },
    );
    total
}
