//! Loops that compute each element with a function of one, two or three others.
//!
//! Their bodies are for elements without gaps, and the compiler vectorizes them for each instruction set. Elements at other
//! distances are copied to blocks first, so a function has one implementation, and its results do not depend on the layout.

use std::marker::PhantomData;

use super::element_loop::{ElementLoop, MAX_OPERANDS, Run};
use super::vectorized::{for_each_index, vectorized};
use crate::{DType, Element};

/// Returns element `index` of an operand without gaps.
///
/// # Safety
/// It is an initialized element of the run.
#[inline(always)]
pub(super) unsafe fn load<T: Element>(pointer: *const u8, index: usize) -> T {
    // SAFETY: guaranteed by the caller.
    unsafe { pointer.cast::<T>().add(index).read() }
}

/// Stores element `index` of an operand without gaps.
///
/// # Safety
/// It is a writable element of the run.
#[inline(always)]
pub(super) unsafe fn store<T: Element>(pointer: *mut u8, index: usize, value: T) {
    // SAFETY: guaranteed by the caller.
    unsafe { pointer.cast::<T>().add(index).write(value) }
}

/// Stores the values of a function of the index as the elements of an operand without gaps.
///
/// # Safety
/// They are writable elements of the run.
#[inline(always)]
unsafe fn store_each<T: Element>(out: *mut u8, count: usize, value: impl Fn(usize) -> T) {
    for_each_index(
        count,
        #[inline(always)]
        // SAFETY: guaranteed by the caller.
        move |index| unsafe { store(out, index, value(index)) },
    );
}

/// Replaces the elements of an operand without gaps by values of a function of them and the index. The function does not read
/// the operand itself: to the compiler its pointer would be another one, whose elements may change with each store.
///
/// # Safety
/// They are initialized, writable elements of the run.
#[inline(always)]
unsafe fn update_each<T: Element>(out: *mut u8, count: usize, value: impl Fn(T, usize) -> T) {
    for_each_index(
        count,
        #[inline(always)]
        // SAFETY: guaranteed by the caller.
        move |index| unsafe { store(out, index, value(load(out, index), index)) },
    );
}

/// A loop over a function. `D` lists the types of its elements.
#[derive(Clone)]
struct Function<F, D> {
    function: F,
    types: PhantomData<fn() -> D>,
}

/// Returns the loop that applies a function to each element.
pub(crate) fn map<T: Element, U: Element>(
    function: impl Fn(T) -> U + Clone + Send + Sync + 'static,
) -> impl ElementLoop {
    Function { function, types: PhantomData::<fn() -> (U, T)> }
}

impl<T: Element, U: Element, F> ElementLoop for Function<F, (U, T)>
where
    F: Fn(T) -> U + Clone + Send + Sync + 'static,
{
    fn dtypes(&self) -> &[DType] {
        const { &[U::DTYPE, T::DTYPE] }
    }

    unsafe fn run(&self, run: &Run) {
        let Run { pointers: [out, a, ..], count, .. } = *run;
        let f = self.function.clone();
        // SAFETY: guaranteed by the caller.
        unsafe {
            store_each(
                out,
                count,
                #[inline(always)]
                move |i| f(load(a, i)),
            );
        }
    }
}

/// The elements among which those that need the slower function are looked for at once.
const BLOCK: usize = 512;

/// A loop over a function that is wrong for some elements, and over one without this limit.
#[derive(Clone)]
struct Limited<F, G, E, T> {
    function: F,
    is_within: G,
    exact: E,
    types: PhantomData<fn() -> T>,
}

/// Returns the loop that applies a function to each element within its limits, and a slower one to the others. The first
/// one is also called for others, and its result is dropped: so the compiler can vectorize it.
pub(crate) fn map_within<T: Element>(
    function: impl Fn(T) -> T + Copy + Send + Sync + 'static,
    is_within: impl Fn(T) -> bool + Copy + Send + Sync + 'static,
    exact: impl Fn(T) -> T + Copy + Send + Sync + 'static,
) -> impl ElementLoop {
    Limited { function, is_within, exact, types: PhantomData::<fn() -> T> }
}

impl<T: Element, F, G, E> ElementLoop for Limited<F, G, E, T>
where
    F: Fn(T) -> T + Copy + Send + Sync + 'static,
    G: Fn(T) -> bool + Copy + Send + Sync + 'static,
    E: Fn(T) -> T + Copy + Send + Sync + 'static,
{
    fn dtypes(&self) -> &[DType] {
        const { &[T::DTYPE; 2] }
    }

    unsafe fn run(&self, run: &Run) {
        let (f, is_within) = (self.function, self.is_within);
        for first in (0..run.count).step_by(BLOCK) {
            let count = BLOCK.min(run.count - first);
            let [out, a, ..] = run.pointers.map(|pointer| pointer.wrapping_add(first * size_of::<T>()));
            // SAFETY: guaranteed by the caller.
            let are_within = unsafe {
                store_each(
                    out,
                    count,
                    #[inline(always)]
                    move |i| f(load(a, i)),
                );
                vectorized(
                    #[inline(always)]
                    move || (0..count).fold(true, |all, i| all & is_within(load(a, i))),
                )
            };
            if !are_within {
                for i in 0..count {
                    // SAFETY: guaranteed by the caller.
                    unsafe {
                        let element = load(a, i);
                        if !is_within(element) {
                            store(out, i, (self.exact)(element));
                        }
                    }
                }
            }
        }
    }
}

/// A loop over a function of pairs that returns NaN where it is wrong, and over one without this limit.
#[derive(Clone)]
struct OrExact<F, E, T> {
    function: F,
    exact: E,
    types: PhantomData<fn() -> T>,
}

/// Returns the loop that applies a function to pairs of elements, and a slower one to those of which the first is NaN.
pub(crate) fn zip_or_exact<T: Element>(
    function: impl Fn(T, T) -> T + Clone + Send + Sync + 'static,
    exact: impl Fn(T, T) -> T + Clone + Send + Sync + 'static,
) -> impl ElementLoop {
    let function = Function { function, types: PhantomData::<fn() -> (T, T, T)> };
    OrExact { function, exact, types: PhantomData::<fn() -> T> }
}

impl<T: Element, F, E> ElementLoop for OrExact<Function<F, (T, T, T)>, E, T>
where
    F: Fn(T, T) -> T + Clone + Send + Sync + 'static,
    E: Fn(T, T) -> T + Clone + Send + Sync + 'static,
{
    fn dtypes(&self) -> &[DType] {
        const { &[T::DTYPE; 3] }
    }

    unsafe fn run(&self, run: &Run) {
        for first in (0..run.count).step_by(BLOCK) {
            let pointers = run.pointers.map(|pointer| pointer.wrapping_add(first * size_of::<T>()));
            let part = Run { pointers, count: BLOCK.min(run.count - first), ..*run };
            let [out, a, b, _] = pointers;
            // SAFETY: guaranteed by the caller.
            unsafe {
                self.function.run(&part);
                let has_nan = vectorized(
                    #[inline(always)]
                    move || (0..part.count).fold(false, |any, i| any | load::<T>(out, i).is_nan()),
                );
                for i in (0..part.count).filter(|i| has_nan && load::<T>(out, *i).is_nan()) {
                    store(out, i, (self.exact)(load(a, i), load(b, i)));
                }
            }
        }
    }
}

/// Returns the loop that applies a function to pairs of elements.
pub(crate) fn zip<A: Element, B: Element, U: Element>(
    function: impl Fn(A, B) -> U + Clone + Send + Sync + 'static,
) -> impl ElementLoop {
    Function { function, types: PhantomData::<fn() -> (U, A, B)> }
}

impl<A: Element, B: Element, U: Element, F> ElementLoop for Function<F, (U, A, B)>
where
    F: Fn(A, B) -> U + Clone + Send + Sync + 'static,
{
    fn dtypes(&self) -> &[DType] {
        const { &[U::DTYPE, A::DTYPE, B::DTYPE] }
    }

    unsafe fn run(&self, run: &Run) {
        let Run { pointers: [out, a, b, _], count, .. } = *run;
        let f = self.function.clone();
        // SAFETY: guaranteed by the caller.
        unsafe {
            store_each(
                out,
                count,
                #[inline(always)]
                move |i| f(load(a, i), load(b, i)),
            );
        }
    }
}

/// A loop over a function of pairs, with one more body for a second source that is the same element everywhere.
#[derive(Clone)]
struct OrRightNumber<F, D> {
    pairs: Function<F, D>,
    /// Whether the first source may be one element instead: the sources have one type, and their order is of no importance.
    commutes: bool,
}

/// Returns the loop that applies a function to pairs of elements, of which the second may be a number for all pairs. Its results
/// are those of the loop of [`zip`]. It has a second body for a number, which is faster if the function has few instructions, or
/// if much of it depends on the number alone.
pub(crate) fn zip_or_right_number<T: Element, U: Element>(
    function: impl Fn(T, T) -> U + Clone + Send + Sync + 'static,
) -> impl ElementLoop {
    or_right_number(function, false)
}

/// Like [`zip_or_right_number`], for a function that does not depend on the order of its arguments: either may be a number.
pub(crate) fn zip_commutative<T: Element, U: Element>(
    function: impl Fn(T, T) -> U + Clone + Send + Sync + 'static,
) -> impl ElementLoop {
    or_right_number(function, true)
}

fn or_right_number<T: Element, U: Element, F: Fn(T, T) -> U>(
    function: F,
    commutes: bool,
) -> OrRightNumber<F, (U, T, T)> {
    OrRightNumber { pairs: Function { function, types: PhantomData }, commutes }
}

/// Returns the run with the sources exchanged.
fn exchanged(run: &Run) -> Run {
    let ([out, a, b, c], [out_step, a_step, b_step, c_step]) = (run.pointers, run.steps);
    Run { pointers: [out, b, a, c], steps: [out_step, b_step, a_step, c_step], ..*run }
}

impl<T: Element, U: Element, F> ElementLoop for OrRightNumber<F, (U, T, T)>
where
    F: Fn(T, T) -> U + Clone + Send + Sync + 'static,
{
    fn dtypes(&self) -> &[DType] {
        self.pairs.dtypes()
    }

    fn accepts_constant(&self, sources: [bool; MAX_OPERANDS]) -> bool {
        matches!(sources, [_, false, true, _]) || self.commutes && matches!(sources, [_, true, false, _])
    }

    unsafe fn run(&self, run: &Run) {
        debug_assert!(self.commutes || run.steps[1] != 0, "a number on the left");
        let run = if run.steps[1] == 0 { exchanged(run) } else { *run };
        let Run { pointers: [out, a, b, _], steps: [_, _, step, _], count } = run;
        let f = self.pairs.function.clone();
        // SAFETY: guaranteed by the caller.
        unsafe {
            if step == 0 {
                let y = load(b, 0);
                store_each(
                    out,
                    count,
                    #[inline(always)]
                    move |i| f(load(a, i), y),
                );
            } else {
                self.pairs.run(&run);
            }
        }
    }
}

/// A loop over a function of pairs, with two more bodies for a source that is the same element everywhere.
#[derive(Clone)]
struct OrNumber<F, D>(OrRightNumber<F, D>);

/// Like [`zip_or_right_number`], with three bodies: either element may be a number for all pairs.
pub(crate) fn zip_or_number<T: Element, U: Element>(
    function: impl Fn(T, T) -> U + Clone + Send + Sync + 'static,
) -> impl ElementLoop + Clone {
    OrNumber(or_right_number(function, false))
}

impl<T: Element, U: Element, F> ElementLoop for OrNumber<F, (U, T, T)>
where
    F: Fn(T, T) -> U + Clone + Send + Sync + 'static,
{
    fn dtypes(&self) -> &[DType] {
        self.0.dtypes()
    }

    fn accepts_constant(&self, sources: [bool; MAX_OPERANDS]) -> bool {
        matches!(sources, [_, true, false, _] | [_, false, true, _])
    }

    unsafe fn run(&self, run: &Run) {
        let Run { pointers: [out, a, b, _], steps: [_, step, ..], count } = *run;
        let f = self.0.pairs.function.clone();
        // SAFETY: guaranteed by the caller.
        unsafe {
            if step == 0 {
                let x = load(a, 0);
                store_each(
                    out,
                    count,
                    #[inline(always)]
                    move |i| f(x, load(b, i)),
                );
            } else {
                self.0.run(run);
            }
        }
    }
}

/// A loop with its two sources exchanged, which have one type.
#[derive(Clone)]
struct Exchanged<L>(L);

/// Returns the loop that computes the same with its two sources exchanged, which have one type.
pub(crate) fn exchange(element_loop: impl ElementLoop + Clone) -> impl ElementLoop {
    Exchanged(element_loop)
}

impl<L: ElementLoop + Clone> ElementLoop for Exchanged<L> {
    fn dtypes(&self) -> &[DType] {
        self.0.dtypes()
    }

    fn accepts_constant(&self, [out, a, b, c]: [bool; MAX_OPERANDS]) -> bool {
        self.0.accepts_constant([out, b, a, c])
    }

    unsafe fn run(&self, run: &Run) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.run(&exchanged(run)) };
    }
}

/// Returns the loop that applies a function to three elements, the last two of which have the type of the result.
pub(crate) fn zip3<A: Element, T: Element>(
    function: impl Fn(A, T, T) -> T + Clone + Send + Sync + 'static,
) -> impl ElementLoop {
    Function { function, types: PhantomData::<fn() -> (T, A, T, T)> }
}

impl<A: Element, T: Element, F> ElementLoop for Function<F, (T, A, T, T)>
where
    F: Fn(A, T, T) -> T + Clone + Send + Sync + 'static,
{
    fn dtypes(&self) -> &[DType] {
        const { &[T::DTYPE, A::DTYPE, T::DTYPE, T::DTYPE] }
    }

    unsafe fn run(&self, run: &Run) {
        let Run { pointers: [out, a, b, c], count, .. } = *run;
        let f = self.function.clone();
        // SAFETY: guaranteed by the caller.
        unsafe {
            store_each(
                out,
                count,
                #[inline(always)]
                move |i| f(load(a, i), load(b, i), load(c, i)),
            );
        }
    }
}

/// A loop that changes elements.
#[derive(Clone)]
struct Update<F, D>(Function<F, D>);

/// Returns the loop that replaces each element by a function of it and of another one.
pub(crate) fn update<A: Element, B: Element>(
    function: impl Fn(A, B) -> A + Clone + Send + Sync + 'static,
) -> impl ElementLoop {
    Update(Function { function, types: PhantomData::<fn() -> (A, B)> })
}

impl<A: Element, B: Element, F> ElementLoop for Update<F, (A, B)>
where
    F: Fn(A, B) -> A + Clone + Send + Sync + 'static,
{
    fn dtypes(&self) -> &[DType] {
        const { &[A::DTYPE, B::DTYPE] }
    }

    fn is_update(&self) -> bool {
        true
    }

    fn accepts_constant(&self, _sources: [bool; MAX_OPERANDS]) -> bool {
        true
    }

    unsafe fn run(&self, run: &Run) {
        let Run { pointers: [out, b, ..], steps: [_, step_b, ..], count } = *run;
        let f = self.0.function.clone();
        // SAFETY: guaranteed by the caller.
        unsafe {
            if step_b == 0 {
                let y = load(b, 0);
                update_each(
                    out,
                    count,
                    #[inline(always)]
                    move |element, _| f(element, y),
                );
            } else {
                update_each(
                    out,
                    count,
                    #[inline(always)]
                    move |element, i| f(element, load(b, i)),
                );
            }
        }
    }
}
