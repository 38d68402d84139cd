//! Loops that reduce elements to states, from which results are computed at the end.

use std::marker::PhantomData;
use std::sync::Arc;

use pulp::{Simd, WithSimd};

use super::elementwise::{load, store};
use super::lanes::{fold_in_lanes, fold_indexed};
use super::vectorized::{for_each_index, try_vectorized, try_vectorized_with};
use crate::{DType, Element};

/// The number of rows that are added to states at once, so that a state is read and written less often.
pub(crate) const ROWS: usize = 8;

/// A loop that reduces elements. Its clones are the same loop.
pub(crate) trait ReduceLoop: SharedReduceLoop + Send + Sync + 'static {
    /// The type of the elements.
    fn source(&self) -> DType;

    /// The type of the results.
    fn result(&self) -> DType;

    /// The size of a state in bytes. States are aligned to 8 bytes.
    fn state_size(&self) -> usize;

    /// Writes states of no elements.
    ///
    /// # Safety
    /// There is memory for as many states.
    unsafe fn begin(&self, states: *mut u8, count: usize);

    /// Adds one element each to states that lie the given number of bytes apart, 0 for one state.
    ///
    /// # Safety
    /// The states were begun, and the elements are initialized, aligned and at least as many.
    unsafe fn accumulate(&self, states: (*mut u8, usize), source: (*const u8, usize), count: usize);

    /// Adds `count` elements without gaps to each of `runs` states. The states begin `state_step` bytes apart, and their
    /// elements `run_step` bytes apart.
    ///
    /// # Safety
    /// As for [`accumulate`](ReduceLoop::accumulate) of each run.
    unsafe fn accumulate_runs(
        &self,
        (states, state_step): (*mut u8, usize),
        (source, run_step): (*const u8, usize),
        count: usize,
        runs: usize,
    ) {
        let step = self.source().size();
        for run in 0..runs {
            let state = states.wrapping_add(run * state_step);
            // SAFETY: guaranteed by the caller.
            unsafe { self.accumulate((state, 0), (source.wrapping_add(run * run_step), step), count) };
        }
    }

    /// Adds one element of each source to each state, in the order of the sources. Neither states nor elements have gaps.
    ///
    /// # Safety
    /// As for [`accumulate`](ReduceLoop::accumulate).
    unsafe fn accumulate_rows(&self, states: *mut u8, sources: [*const u8; ROWS], count: usize);

    /// Adds other states to as many states.
    ///
    /// # Safety
    /// All of them were begun.
    unsafe fn merge(&self, states: *mut u8, others: *const u8, count: usize);

    /// Computes a result from each state.
    ///
    /// # Safety
    /// The states were begun, and there is aligned memory for the results.
    unsafe fn finish(&self, results: *mut u8, states: *const u8, count: usize);
}

/// Clones of loops whose type is erased.
pub(crate) trait SharedReduceLoop {
    /// Returns a clone.
    fn shared(&self) -> Arc<dyn ReduceLoop>;
}

impl<L: ReduceLoop + Clone> SharedReduceLoop for L {
    fn shared(&self) -> Arc<dyn ReduceLoop> {
        Arc::new(self.clone())
    }
}

/// Implements [`ReduceLoop::begin`] for states of one type.
///
/// # Safety
/// As for it.
pub(super) unsafe fn begin_states<A: Copy>(states: *mut u8, count: usize, start: A) {
    for index in 0..count {
        // SAFETY: guaranteed by the caller.
        unsafe { states.cast::<A>().add(index).write(start) };
    }
}

/// Implements [`ReduceLoop::merge`] for states of one type.
///
/// # Safety
/// As for it.
pub(super) unsafe fn merge_states<A: Copy>(
    states: *mut u8,
    others: *const u8,
    count: usize,
    merge: impl Fn(A, A) -> A,
) {
    for index in 0..count {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let (state, other) = (states.cast::<A>().add(index), others.cast::<A>().add(index));
            state.write(merge(state.read(), other.read()));
        }
    }
}

/// Implements [`ReduceLoop::finish`] for states and results of one type each.
///
/// # Safety
/// As for it.
pub(super) unsafe fn finish_states<A: Copy, U: Element>(
    results: *mut u8,
    states: *const u8,
    count: usize,
    finish: impl Fn(A) -> U,
) {
    for index in 0..count {
        // SAFETY: guaranteed by the caller.
        unsafe { store(results, index, finish(states.cast::<A>().add(index).read())) };
    }
}

/// How the state of a run of elements without gaps is computed.
pub(super) trait OfRun<T, A>: Copy + Send + Sync + 'static {
    /// Returns the state. The method should be `#[inline(always)]`, so that it is compiled for each instruction set.
    fn of_run<S: Simd>(self, simd: S, run: &[T]) -> A;
}

impl<T, A, F: Fn(&[T]) -> A + Copy + Send + Sync + 'static> OfRun<T, A> for F {
    #[inline(always)]
    fn of_run<S: Simd>(self, _simd: S, run: &[T]) -> A {
        self(run)
    }
}

/// A reduction by a state of no elements and functions: for the addition of an element to a state and of two states, the
/// state of a run of elements, and the result of a state.
#[derive(Clone)]
struct Fold<A, Add, Merge, Run, Finish, D> {
    start: A,
    add: Add,
    merge: Merge,
    of_run: Run,
    finish: Finish,
    types: PhantomData<fn() -> D>,
}

/// Returns the loop that folds elements with these functions.
pub(crate) fn fold<T: Element, A: Copy + Send + Sync + 'static, U: Element>(
    start: A,
    add: impl Fn(A, T) -> A + Copy + Send + Sync + 'static,
    merge: impl Fn(A, A) -> A + Copy + Send + Sync + 'static,
    finish: impl Fn(A) -> U + Copy + Send + Sync + 'static,
) -> impl ReduceLoop {
    fold_runs(
        (start, add),
        merge,
        #[inline(always)]
        move |elements: &[T]| {
            if has_lanes::<T, A>() {
                fold_in_lanes(elements, start, add, merge)
            } else {
                elements.iter().fold(start, |total, element| add(total, *element))
            }
        },
        finish,
    )
}

/// Returns the loop that folds elements as [`fold`] does, with a function of its own for elements without gaps. It should be
/// `#[inline(always)]`, so that it is compiled for each instruction set.
pub(crate) fn fold_runs<T: Element, A: Copy + Send + Sync + 'static, U: Element>(
    (start, add): (A, impl Fn(A, T) -> A + Copy + Send + Sync + 'static),
    merge: impl Fn(A, A) -> A + Copy + Send + Sync + 'static,
    of_run: impl OfRun<T, A>,
    finish: impl Fn(A) -> U + Copy + Send + Sync + 'static,
) -> impl ReduceLoop {
    const { assert!(align_of::<A>() <= 8, "states are aligned to 8 bytes") };
    Fold { start, add, merge, of_run, finish, types: PhantomData::<fn() -> (T, U)> }
}

/// Returns whether elements are folded in lanes. For integers, whose sums have no order, the compiler chooses the lanes.
const fn has_lanes<T: Element, A>() -> bool {
    T::DTYPE.is_floating_point() && size_of::<A>() <= size_of::<f64>()
}

/// Returns the state of elements, which a function returns for their index.
#[inline(always)]
fn reduced<T: Element, A: Copy>(
    count: usize,
    element: impl Fn(usize) -> T,
    start: A,
    add: impl Fn(A, T) -> A,
    merge: impl Fn(A, A) -> A,
) -> A {
    if has_lanes::<T, A>() {
        fold_indexed(count, element, start, add, merge)
    } else {
        (0..count).fold(start, |total, index| add(total, element(index)))
    }
}

/// Adds elements to one state.
///
/// # Safety
/// As for [`ReduceLoop::accumulate`].
unsafe fn add_run<T: Element, A: Copy>(
    state: *mut A,
    (source, step): (*const u8, usize),
    count: usize,
    (start, add, merge): (A, impl Fn(A, T) -> A, impl Fn(A, A) -> A + Copy),
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let element = |index: usize| load(source.add(index * step), 0);
        let total = reduced(count, element, start, add, merge);
        state.write(merge(state.read(), total));
    }
}

/// [`ReduceLoop::accumulate_runs`] for one instruction set.
struct AccumulateRuns<T, A, Merge, Run> {
    states: (*mut u8, usize),
    sources: (*const u8, usize),
    count: usize,
    runs: usize,
    merge: Merge,
    of_run: Run,
    types: PhantomData<(T, A)>,
}

impl<T: Element, A: Copy, Merge: Fn(A, A) -> A, Run: OfRun<T, A>> WithSimd
    for AccumulateRuns<T, A, Merge, Run>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let ((states, state_step), (source, run_step)) = (self.states, self.sources);
        for run in 0..self.runs {
            let state = states.wrapping_add(run * state_step).cast::<A>();
            // SAFETY: guaranteed by the caller of `accumulate_runs`.
            unsafe {
                let source = source.add(run * run_step).cast::<T>();
                let elements = std::slice::from_raw_parts(source, self.count);
                state.write((self.merge)(state.read(), self.of_run.of_run(simd, elements)));
            }
        }
    }
}

impl<T, A, U, Add, Merge, Run, Finish> ReduceLoop for Fold<A, Add, Merge, Run, Finish, (T, U)>
where
    T: Element,
    A: Copy + Send + Sync + 'static,
    U: Element,
    Add: Fn(A, T) -> A + Copy + Send + Sync + 'static,
    Merge: Fn(A, A) -> A + Copy + Send + Sync + 'static,
    Run: OfRun<T, A>,
    Finish: Fn(A) -> U + Copy + Send + Sync + 'static,
{
    fn source(&self) -> DType {
        T::DTYPE
    }

    fn result(&self) -> DType {
        U::DTYPE
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
        let state_at = |index: usize| states.wrapping_add(index * state_step).cast::<A>();
        // SAFETY: guaranteed by the caller; steps that are sizes of elements make no gaps.
        unsafe {
            if state_step == 0 && step == size_of::<T>() {
                return self.accumulate_runs((states, 0), (source, 0), count, 1);
            }
            if state_step == 0 {
                return add_run(state_at(0), (source, step), count, (self.start, self.add, self.merge));
            }
            let add = self.add;
            let is_done = (state_step, step) == (size_of::<A>(), size_of::<T>())
                && try_vectorized(
                    #[inline(always)]
                    move || {
                        for index in 0..count {
                            let state = states.cast::<A>().add(index);
                            state.write(add(state.read(), load(source, index)));
                        }
                    },
                );
            if !is_done {
                for index in 0..count {
                    let state = state_at(index);
                    state.write(add(state.read(), load(source.add(index * step), 0)));
                }
            }
        }
    }

    unsafe fn accumulate_runs(
        &self,
        (states, state_step): (*mut u8, usize),
        (source, run_step): (*const u8, usize),
        count: usize,
        runs: usize,
    ) {
        let is_done = try_vectorized_with(AccumulateRuns {
            states: (states, state_step),
            sources: (source, run_step),
            count,
            runs,
            merge: self.merge,
            of_run: self.of_run,
            types: PhantomData::<(T, A)>,
        });
        if is_done {
            return;
        }
        for run in 0..runs {
            let state = states.wrapping_add(run * state_step).cast::<A>();
            // SAFETY: guaranteed by the caller.
            unsafe {
                let elements = (source.add(run * run_step), size_of::<T>());
                add_run(state, elements, count, (self.start, self.add, self.merge));
            }
        }
    }

    unsafe fn accumulate_rows(&self, states: *mut u8, sources: [*const u8; ROWS], count: usize) {
        let add = self.add;
        for_each_index(
            count,
            #[inline(always)]
            // SAFETY: guaranteed by the caller.
            move |index| unsafe {
                let state = states.cast::<A>().add(index);
                let total = sources.iter().fold(
                    state.read(),
                    #[inline(always)]
                    |total, source| add(total, load(*source, index)),
                );
                state.write(total);
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
