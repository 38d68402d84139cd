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

/// Writes the exponentials of a row, normalized to a sum of 1. Where all elements are minus infinity they are NaN, as in
/// PyTorch, or 0 if the result is to be `safe`.
pub(crate) fn softmax<T: Real>(row: &[T], out: &mut [T], is_safe: bool) {
    vectorized(
        #[inline(always)]
        move || {
            let largest = largest(row);
            if is_safe && row.iter().all(|value| *value == T::from_f64(f64::NEG_INFINITY)) {
                return out.fill(T::default());
            }
            out.iter_mut().zip(row).for_each(|(out, value)| *out = (*value - largest).exp());
            let sum = fold_in_lanes(out, 0.0, |sum: f64, value: T| sum + value.to_f64(), |a, b| a + b);
            out.iter_mut().for_each(|out| *out = T::from_f64(out.to_f64() / sum));
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
            let add = |sum: f64, value: T| sum + (value - largest).exp().to_f64();
            let sum = fold_in_lanes(row, 0.0, add, |a, b| a + b);
            // The difference is computed first: added to a large maximum the logarithm would be lost in rounding.
            let logarithm = T::from_f64(sum.ln());
            out.iter_mut().zip(row).for_each(|(out, value)| *out = (*value - largest) - logarithm);
        },
    );
}
