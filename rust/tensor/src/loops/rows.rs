//! Functions of rows of elements.

use std::mem::MaybeUninit;

use super::extremes::{largest_of, smallest_of};
use super::lanes::{fold_in_lanes, fold_indexed};
use super::real::Real;
use super::reduction::ReduceLoop;
use super::vectorized::vectorized;
use crate::Element;

/// Returns the largest element that is not NaN; minus infinity if there is none.
#[inline(always)]
fn largest<T: Real>(row: &[T]) -> T {
    let choose = |best: T, next: T| if next > best { next } else { best };
    fold_in_lanes(row, T::from_f64(f64::NEG_INFINITY), choose, choose)
}

/// The elements that `index_of_extreme` compares before it branches: one branch for each is cheap beside the comparisons.
const BLOCK: usize = 256;

/// The elements that it compares before it branches in the block with the extreme: an AVX-512 register of `f32`.
const GROUP: usize = 16;

/// Returns the index of the largest or smallest element of a row: the first of equal ones, or of NaN. 0 for an empty row.
pub(crate) fn index_of_extreme<T: Element>(row: &[T], is_largest: bool) -> usize {
    let Some(&first) = row.first() else { return 0 };
    // To choose the instructions takes longer than a few elements.
    if row.len() < GROUP {
        let is_better = |next: T, best: T| {
            let is_beyond = if is_largest { next > best } else { next < best };
            !best.is_nan() && (is_beyond || next.is_nan())
        };
        let choose = |best: (usize, T), next: (usize, T)| if is_better(next.1, best.1) { next } else { best };
        return row.iter().copied().enumerate().fold((0, first), choose).0;
    }
    let mut best = first;
    let (largest, smallest) = (largest_of::<T>(), smallest_of::<T>());
    let extreme: &dyn ReduceLoop = if is_largest { &largest } else { &smallest };
    let (state, elements) = ((&raw mut best).cast(), row.as_ptr().cast());
    // SAFETY: the state is an element, as the loop requires, and the elements are those of a slice.
    unsafe { extreme.accumulate((state, 0), (elements, size_of::<T>()), row.len()) };
    vectorized(
        #[inline(always)]
        move || {
            let is_it = |element: &T| *element == best || (element.is_nan() && best.is_nan());
            let has_it = |block: &&[T]| block.iter().fold(false, |found, element| found | is_it(element));
            let is_long = row.len() > BLOCK;
            let block = is_long.then(|| row.chunks(BLOCK).position(|block| has_it(&block)));
            let mut begin = BLOCK * block.flatten().unwrap_or(0);
            let (groups, _) = row.get(begin..).unwrap_or_default().as_chunks::<GROUP>();
            begin += GROUP * groups.iter().position(|group| has_it(&&group[..])).unwrap_or(groups.len());
            begin + row.iter().skip(begin).position(is_it).unwrap_or(0)
        },
    )
}

/// Returns the sum of elements in `f64`.
#[inline(always)]
fn sum<T: Real>(elements: &[T]) -> f64 {
    fold_in_lanes(elements, 0.0, |sum: f64, element: T| sum + element.to_f64(), |a, b| a + b)
}

/// Writes values to the first elements of a row and 0 to the others, and returns the row.
#[inline(always)]
fn written<T: Element>(out: &mut [MaybeUninit<T>], values: impl ExactSizeIterator<Item = T>) -> &mut [T] {
    debug_assert_eq!(out.len(), values.len(), "values of a row");
    let rest = out.get_mut(values.len()..).unwrap_or_default();
    rest.fill(MaybeUninit::new(T::default()));
    out.iter_mut().zip(values).for_each(|(out, value)| *out = MaybeUninit::new(value));
    // SAFETY: all elements were written.
    unsafe { &mut *(std::ptr::from_mut(out) as *mut [T]) }
}

/// What [`softmax`] writes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Softmax {
    /// The exponentials of elements, normalized to a sum of 1. Where all elements are minus infinity they are NaN, as in PyTorch.
    Plain,
    /// 0 in place of NaN where all elements are minus infinity.
    Safe,
    /// The logarithms.
    Logarithm,
}

/// Writes the softmax of a row.
pub(crate) fn softmax<'a, T: Real>(row: &[T], out: &'a mut [MaybeUninit<T>], kind: Softmax) -> &'a mut [T] {
    vectorized(
        #[inline(always)]
        move || {
            let (largest, least) = (largest(row), T::from_f64(f64::NEG_INFINITY));
            if kind == Softmax::Safe && largest == least && !row.iter().any(|value| value.is_nan()) {
                return written(out, row.iter().map(|_| T::default()));
            }
            let out = written(out, row.iter().map(|value| (*value - largest).exp()));
            let sum = sum(out);
            if kind == Softmax::Logarithm {
                // The difference is computed first: added to a large maximum the logarithm would be lost in rounding.
                let logarithm = T::from_f64(sum.ln());
                out.iter_mut().zip(row).for_each(|(out, value)| *out = (*value - largest) - logarithm);
                return out;
            }
            let sum = T::from_f64(sum);
            let reciprocal = T::from_f64(1.0) / sum;
            out.iter_mut().for_each(|out| *out = divided(*out, sum, reciprocal));
            out
        },
    )
}

/// Returns a quotient: a division takes longer than a product with the reciprocal whose error is corrected.
#[inline(always)]
pub(super) fn divided<T: Real>(number: T, divisor: T, reciprocal: T) -> T {
    let quotient = number * reciprocal;
    (-quotient).mul_add(divisor, number).mul_add(reciprocal, quotient)
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

/// Writes the gradient of the input of [`softmax`] if the result is a logarithm: `g - exp(y) * sum(g)` for the gradient g of the
/// result y.
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
    vectorized(
        #[inline(always)]
        move || largest(row),
    )
}

/// Replaces the elements by the exponentials of their differences from a number, and returns their sum.
pub(crate) fn exponentials<T: Real>(row: &mut [T], from: T) -> f64 {
    vectorized(
        #[inline(always)]
        move || {
            row.iter_mut().for_each(|value| *value = (*value - from).exp());
            sum(row)
        },
    )
}

/// Writes `(x - mean) * rstd * weight + bias` for the elements x of a row, and returns them, their mean, and the reciprocal of
/// their standard deviation, to whose square `eps` is added.
pub(crate) fn normalize<'a, T: Real>(
    row: &[T],
    [weight, bias]: [Option<&[T]>; 2],
    eps: f64,
    out: &'a mut [MaybeUninit<T>],
) -> (&'a mut [T], [f64; 2]) {
    vectorized(
        #[inline(always)]
        move || {
            let count = row.len() as f64;
            let mean = sum(row) / count;
            let add = |sum: f64, element: T| sum + (element.to_f64() - mean) * (element.to_f64() - mean);
            let rstd = 1.0 / (fold_in_lanes(row, 0.0, add, |a, b| a + b) / count + eps).sqrt();
            let normalized = row.iter().map(|x| (x.to_f64() - mean) * rstd);
            let out = match (weight, bias) {
                (Some(weight), Some(bias)) => {
                    let terms = normalized.zip(weight.iter().zip(bias));
                    written(out, terms.map(|(x, (w, b))| T::from_f64(x * w.to_f64() + b.to_f64())))
                }
                (Some(weight), None) => {
                    written(out, normalized.zip(weight).map(|(x, w)| T::from_f64(x * w.to_f64())))
                }
                (None, Some(bias)) => {
                    written(out, normalized.zip(bias).map(|(x, b)| T::from_f64(x + b.to_f64())))
                }
                (None, None) => written(out, normalized.map(T::from_f64)),
            };
            (out, [mean, rstd])
        },
    )
}

/// Writes the gradient of a row that was [normalized](normalize) with these statistics, and adds those of the weight and the
/// bias to sums, if there are some.
pub(crate) fn normalize_backward<T: Real>(
    (row, gradient, weight): (&[T], &[T], &[T]),
    [mean, rstd]: [f64; 2],
    out: &mut [T],
    [of_weight, of_bias]: [&mut [T]; 2],
) {
    debug_assert!(gradient.len() == row.len() && weight.len() == row.len(), "rows of one length");
    let count = row.len().min(gradient.len()).min(weight.len());
    vectorized(
        #[inline(always)]
        move || {
            for (sum, (x, g)) in of_weight.iter_mut().zip(row.iter().zip(gradient)) {
                *sum = sum.plus(T::from_f64(g.to_f64() * ((x.to_f64() - mean) * rstd)));
            }
            of_bias.iter_mut().zip(gradient).for_each(|(sum, g)| *sum = sum.plus(*g));
            // SAFETY: indices are below the lengths of all, here and in the next function.
            let normalized = |at: usize| unsafe { (row.get_unchecked(at).to_f64() - mean) * rstd };
            let scaled = |at: usize| {
                // SAFETY: as above.
                unsafe { gradient.get_unchecked(at).to_f64() * weight.get_unchecked(at).to_f64() }
            };
            let add = |sum: f64, next: f64| sum + next;
            let total = fold_indexed(count, scaled, 0.0, add, add) / count as f64;
            let product = |at: usize| scaled(at) * normalized(at);
            let projection = fold_indexed(count, product, 0.0, add, add) / count as f64;
            for (at, out) in out.iter_mut().enumerate().take(count) {
                *out = T::from_f64(rstd * (scaled(at) - total - normalized(at) * projection));
            }
        },
    );
}
