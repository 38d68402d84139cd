//! Reductions that compute a state from a block of elements at once.

use std::marker::PhantomData;

use super::elementwise::load;
use super::reduction::{ROWS, ReduceLoop, begin_states, finish_states, merge_states};
use super::vectorized::{for_each_index, vectorized};
use crate::{DType, Element};

/// The number of elements of a block, which fit the L1 cache.
const BLOCK: usize = 512;

/// A reduction by three functions: the state of a block of at least one element, of two states, and the result of a state.
#[derive(Clone)]
struct Blocks<A, Of, Merge, Finish, T> {
    start: A,
    of: Of,
    merge: Merge,
    finish: Finish,
    types: PhantomData<fn() -> T>,
}

/// Returns the loop that reduces blocks of elements with these functions. `of` and `merge` should be `#[inline(always)]`, so that
/// they are compiled for each instruction set.
pub(crate) fn fold_blocks<T: Element, A: Copy + Send + Sync + 'static>(
    start: A,
    of: impl Fn(&[T]) -> A + Copy + Send + Sync + 'static,
    merge: impl Fn(A, A) -> A + Copy + Send + Sync + 'static,
    finish: impl Fn(A) -> T + Copy + Send + Sync + 'static,
) -> impl ReduceLoop {
    const { assert!(align_of::<A>() <= 8, "states are aligned to 8 bytes") };
    Blocks { start, of, merge, finish, types: PhantomData::<fn() -> T> }
}

impl<T, A, Of, Merge, Finish> ReduceLoop for Blocks<A, Of, Merge, Finish, T>
where
    T: Element,
    A: Copy + Send + Sync + 'static,
    Of: Fn(&[T]) -> A + Copy + Send + Sync + 'static,
    Merge: Fn(A, A) -> A + Copy + Send + Sync + 'static,
    Finish: Fn(A) -> T + Copy + Send + Sync + 'static,
{
    fn source(&self) -> DType {
        T::DTYPE
    }

    fn result(&self) -> DType {
        T::DTYPE
    }

    fn state_size(&self) -> usize {
        size_of::<A>()
    }

    unsafe fn begin(&self, states: *mut u8, count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { begin_states(states, count, self.start) };
    }

    unsafe fn accumulate(
        &self,
        (states, state_step): (*mut u8, usize),
        (source, step): (*const u8, usize),
        count: usize,
    ) {
        // SAFETY: guaranteed by the caller, for elements of the run.
        let element = |index: usize| unsafe { load::<T>(source.wrapping_add(index * step), 0) };
        let (of, merge) = (self.of, self.merge);
        if state_step > 0 {
            for index in 0..count {
                let state = states.wrapping_add(index * state_step).cast::<A>();
                // SAFETY: guaranteed by the caller.
                unsafe { state.write(merge(state.read(), of(&[element(index)]))) };
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
                    let state = states.cast::<A>();
                    // SAFETY: guaranteed by the caller.
                    unsafe { state.write(merge(state.read(), of(block))) };
                },
            );
        }
    }

    unsafe fn accumulate_rows(&self, states: *mut u8, sources: [*const u8; ROWS], count: usize) {
        let (of, merge) = (self.of, self.merge);
        for_each_index(
            count,
            #[inline(always)]
            // SAFETY: guaranteed by the caller.
            move |index| unsafe {
                let state = states.cast::<A>().add(index);
                let elements = sources.map(
                    #[inline(always)]
                    |source| load::<T>(source, index),
                );
                state.write(merge(state.read(), of(&elements)));
            },
        );
    }

    unsafe fn merge(&self, states: *mut u8, others: *const u8, count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { merge_states(states, others, count, self.merge) };
    }

    unsafe fn finish(&self, results: *mut u8, states: *const u8, count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { finish_states(results, states, count, self.finish) };
    }
}
