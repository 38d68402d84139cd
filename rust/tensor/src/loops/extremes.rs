//! The loops of the largest and of the smallest element.

use super::lanes::{LANES, MANY_LANES, in_lanes};
use super::reduction::{ReduceLoop, fold_runs};
use crate::dtype::{larger, smaller};
use crate::{DType, Element};

/// The number of elements of a block, which fit the L1 cache.
const BLOCK: usize = 512;

/// The number of lanes for many elements.
const MANY: usize = MANY_LANES[0];

/// Returns the loop that finds the largest elements, or NaN.
pub(crate) fn largest_of<T: Element>() -> impl ReduceLoop {
    let least = if T::DTYPE == DType::Bool { T::default() } else { T::from_f64(f64::NEG_INFINITY) };
    extreme(
        least,
        larger::<T>,
        #[inline(always)]
        |next, best| next > best,
    )
}

/// Returns the loop that finds the smallest elements, or NaN.
pub(crate) fn smallest_of<T: Element>() -> impl ReduceLoop {
    extreme(
        T::from_f64(f64::INFINITY),
        smaller::<T>,
        #[inline(always)]
        |next, best| next < best,
    )
}

/// Returns the loop of an extreme: `choose` returns one of two elements, or NaN.
fn extreme<T: Element>(
    start: T,
    choose: impl Fn(T, T) -> T + Copy + Send + Sync + 'static,
    is_better: impl Fn(T, T) -> bool + Copy + Send + Sync + 'static,
) -> impl ReduceLoop {
    fold_runs(
        (start, choose),
        choose,
        #[inline(always)]
        move |run: &[T]| {
            if T::DTYPE == DType::Bool {
                // Any nonzero byte is true. Each element that differs from the start decides.
                let differ = run.iter().fold(false, |differ, element| differ | (*element != start));
                return if differ { T::from_i64(i64::from(start == T::default())) } else { start };
            }
            if !T::DTYPE.is_floating_point() {
                return run.iter().copied().fold(start, choose);
            }
            let (mut best, mut first) = (start, 0);
            // With many lanes one loop that also checks for NaN is as fast, but the lanes take long to merge.
            if run.len() >= 4 * MANY {
                // SAFETY: the index is below the length.
                let element = |index| unsafe { *run.get_unchecked(index) };
                best = in_lanes::<MANY, _, _>(run.len(), &mut first, &element, start, &choose, &choose);
            }
            for block in run.get(first..).unwrap_or_default().chunks(BLOCK) {
                best = choose(best, of_floats(block, start, is_better));
            }
            best
        },
        |best| best,
    )
}

/// Returns the extreme of floats. A second loop looks for NaN, so that the first one takes one vector instruction for as many
/// elements as a register holds.
#[inline(always)]
fn of_floats<T: Element>(block: &[T], start: T, is_better: impl Fn(T, T) -> bool) -> T {
    let choose = |best: T, next: T| if is_better(next, best) { next } else { best };
    let mut first = 0;
    // SAFETY: the index is below the length.
    let element = |index| unsafe { *block.get_unchecked(index) };
    let best = in_lanes::<LANES, _, _>(block.len(), &mut first, &element, start, &choose, &choose);
    let best = (first..block.len()).fold(best, |best, index| choose(best, element(index)));
    let has_nan = block.iter().fold(false, |found, element| found | element.is_nan());
    if has_nan { T::from_f64(f64::NAN) } else { best }
}
