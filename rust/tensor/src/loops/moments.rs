//! The loop of the variance: means and sums of squared deviations.
//!
//! Blocks of elements get their mean first, and then the squares of the deviations from it; blocks are joined by the formula of
//! Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances" (1979). No
//! precision is lost if the mean is far from 0.

use std::marker::PhantomData;

use super::elementwise::load;
use super::lanes::fold_in_lanes;
use super::reduction::{ROWS, ReduceLoop, begin_states, finish_states, merge_states};
use super::vectorized::{for_each_index, vectorized};
use crate::{DType, Element};

/// The number of elements of a block, which fit the L1 cache.
const BLOCK: usize = 512;

/// The moments of some elements.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    /// The sum of the squared deviations from the mean.
    squares: f64,
}

impl Moments {
    /// Returns the moments of the elements of a block, of which there is at least one.
    #[inline(always)]
    fn of<T: Element>(elements: &[T]) -> Self {
        let count = elements.len() as f64;
        let sum = fold_in_lanes(elements, 0.0, |sum: f64, value: T| sum + value.to_f64(), |a, b| a + b);
        let mean = sum / count;
        let add = |sum: f64, value: T| {
            let deviation = value.to_f64() - mean;
            sum + deviation * deviation
        };
        Moments { count, mean, squares: fold_in_lanes(elements, 0.0, add, |a, b| a + b) }
    }

    /// Returns the moments of the elements of both.
    #[inline(always)]
    fn joined(self, other: Self) -> Self {
        let count = self.count + other.count;
        // The mean of no elements has no weight.
        let share = if count == 0.0 { 0.0 } else { other.count / count };
        let difference = other.mean - self.mean;
        let mean = self.mean + difference * share;
        // The deviation of an infinite element from its mean is NaN, and so are the squares. Products with the weight come
        // first: it may be 0, and the square may overflow.
        let squares =
            if mean.is_infinite() { f64::NAN } else { difference * (difference * self.count * share) };
        Moments { count, mean, squares: self.squares + other.squares + squares }
    }
}

/// Computes results from the sums of the squared deviations from the mean.
#[derive(Clone)]
struct SquaredDeviations<T, Finish> {
    finish: Finish,
    types: PhantomData<fn() -> T>,
}

/// Returns the loop that computes results from the sums of the squared deviations from the mean.
pub(crate) fn squared_deviations<T: Element>(
    finish: impl Fn(f64) -> T + Copy + Send + Sync + 'static,
) -> impl ReduceLoop {
    SquaredDeviations { finish, types: PhantomData::<fn() -> T> }
}

impl<T, Finish> ReduceLoop for SquaredDeviations<T, Finish>
where
    T: Element,
    Finish: Fn(f64) -> T + Copy + Send + Sync + 'static,
{
    fn source(&self) -> DType {
        T::DTYPE
    }

    fn result(&self) -> DType {
        T::DTYPE
    }

    fn state_size(&self) -> usize {
        size_of::<Moments>()
    }

    unsafe fn begin(&self, states: *mut u8, count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { begin_states(states, count, Moments::default()) };
    }

    unsafe fn accumulate(
        &self,
        (states, state_step): (*mut u8, usize),
        (source, step): (*const u8, usize),
        count: usize,
    ) {
        // SAFETY: guaranteed by the caller, for elements of the run.
        let element = |index: usize| unsafe { load::<T>(source.wrapping_add(index * step), 0) };
        if state_step > 0 {
            for index in 0..count {
                let state = states.wrapping_add(index * state_step).cast::<Moments>();
                // SAFETY: guaranteed by the caller.
                unsafe { state.write(state.read().joined(Moments::of(&[element(index)]))) };
            }
            return;
        }
        let mut copies = [T::default(); BLOCK];
        for first in (0..count).step_by(BLOCK) {
            let length = BLOCK.min(count - first);
            let block = if step == size_of::<T>() {
                // SAFETY: guaranteed by the caller; the elements have no gaps.
                unsafe { std::slice::from_raw_parts(source.cast::<T>().add(first), length) }
            } else {
                let (block, _) = copies.split_at_mut(length);
                block.iter_mut().zip(first..).for_each(|(copy, index)| *copy = element(index));
                &*block
            };
            vectorized(
                #[inline(always)]
                move || {
                    let state = states.cast::<Moments>();
                    // SAFETY: guaranteed by the caller.
                    unsafe { state.write(state.read().joined(Moments::of(block))) };
                },
            );
        }
    }

    unsafe fn accumulate_rows(&self, states: *mut u8, sources: [*const u8; ROWS], count: usize) {
        for_each_index(
            count,
            #[inline(always)]
            // SAFETY: guaranteed by the caller.
            move |index| unsafe {
                let state = states.cast::<Moments>().add(index);
                let elements = sources.map(
                    #[inline(always)]
                    |source| load::<T>(source, index),
                );
                state.write(state.read().joined(Moments::of(&elements)));
            },
        );
    }

    unsafe fn merge(&self, states: *mut u8, others: *const u8, count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { merge_states(states, others, count, Moments::joined) };
    }

    unsafe fn finish(&self, results: *mut u8, states: *const u8, count: usize) {
        let finish = self.finish;
        // SAFETY: guaranteed by the caller.
        unsafe { finish_states(results, states, count, move |moments: Moments| finish(moments.squares)) };
    }
}
