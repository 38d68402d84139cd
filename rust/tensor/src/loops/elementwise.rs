//! Loops that compute each element with a function of one, two or three others.
//!
//! Each has a body for elements without gaps, which the compiler vectorizes for each instruction set, one for a second
//! operand that is the same element everywhere, and one for elements at any distance.

use std::marker::PhantomData;
use std::sync::Arc;

use super::element_loop::{ElementLoop, Run};
use super::vectorized::vectorized;
use crate::{DType, Element};

/// Returns element `index` of an operand.
///
/// # Safety
/// It is an initialized element of the run.
#[inline(always)]
pub(super) unsafe fn load<T: Element>(pointer: *const u8, step: usize, index: usize) -> T {
    // SAFETY: guaranteed by the caller.
    unsafe { pointer.add(index * step).cast::<T>().read() }
}

/// Stores element `index` of an operand.
///
/// # Safety
/// It is a writable element of the run.
#[inline(always)]
pub(super) unsafe fn store<T: Element>(pointer: *mut u8, step: usize, index: usize, value: T) {
    // SAFETY: guaranteed by the caller.
    unsafe { pointer.add(index * step).cast::<T>().write(value) }
}

/// A loop over a function. `D` lists the types of its elements.
struct Function<F, D> {
    function: F,
    types: PhantomData<fn() -> D>,
}

impl<F: Clone, D> Clone for Function<F, D> {
    fn clone(&self) -> Self {
        Function { function: self.function.clone(), types: PhantomData }
    }
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
        let Run { pointers: [out, a, ..], steps: [step, step_a, ..], count } = *run;
        let f = self.function.clone();
        // SAFETY: guaranteed by the caller; steps that are sizes of elements make no gaps.
        unsafe {
            if step == size_of::<U>() && step_a == size_of::<T>() {
                vectorized(
                    #[inline(always)]
                    move || {
                        for i in 0..count {
                            store(out, size_of::<U>(), i, f(load(a, size_of::<T>(), i)));
                        }
                    },
                );
            } else if step_a == 0 {
                let value = f(load(a, 0, 0));
                for i in 0..count {
                    store(out, step, i, value);
                }
            } else {
                for i in 0..count {
                    store(out, step, i, f(load(a, step_a, i)));
                }
            }
        }
    }

    fn shared(&self) -> Arc<dyn ElementLoop> {
        Arc::new(self.clone())
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
        let Run { pointers: [out, a, b, _], steps: [step, step_a, step_b, _], count } = *run;
        let f = self.function.clone();
        // SAFETY: guaranteed by the caller; steps that are sizes of elements make no gaps.
        unsafe {
            if step == size_of::<U>() && step_a == size_of::<A>() {
                if step_b == size_of::<B>() {
                    return vectorized(
                        #[inline(always)]
                        move || {
                            for i in 0..count {
                                let (x, y) = (load(a, size_of::<A>(), i), load(b, size_of::<B>(), i));
                                store(out, size_of::<U>(), i, f(x, y));
                            }
                        },
                    );
                }
                if step_b == 0 {
                    let y = load(b, 0, 0);
                    return vectorized(
                        #[inline(always)]
                        move || {
                            for i in 0..count {
                                store(out, size_of::<U>(), i, f(load(a, size_of::<A>(), i), y));
                            }
                        },
                    );
                }
            } else if step == size_of::<U>() && step_a == 0 && step_b == size_of::<B>() {
                let x = load(a, 0, 0);
                return vectorized(
                    #[inline(always)]
                    move || {
                        for i in 0..count {
                            store(out, size_of::<U>(), i, f(x, load(b, size_of::<B>(), i)));
                        }
                    },
                );
            }
            for i in 0..count {
                store(out, step, i, f(load(a, step_a, i), load(b, step_b, i)));
            }
        }
    }

    fn shared(&self) -> Arc<dyn ElementLoop> {
        Arc::new(self.clone())
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
        let Run { pointers: [out, a, b, c], steps: [step, step_a, step_b, step_c], count } = *run;
        let f = self.function.clone();
        // SAFETY: guaranteed by the caller; steps that are sizes of elements make no gaps.
        unsafe {
            let size = size_of::<T>();
            if [step, step_b, step_c] == [size; 3] && step_a == size_of::<A>() {
                return vectorized(
                    #[inline(always)]
                    move || {
                        for i in 0..count {
                            let x = load(a, size_of::<A>(), i);
                            store(out, size, i, f(x, load(b, size, i), load(c, size, i)));
                        }
                    },
                );
            }
            for i in 0..count {
                store(out, step, i, f(load(a, step_a, i), load(b, step_b, i), load(c, step_c, i)));
            }
        }
    }

    fn shared(&self) -> Arc<dyn ElementLoop> {
        Arc::new(self.clone())
    }
}

/// A loop that changes elements.
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

    unsafe fn run(&self, run: &Run) {
        let Run { pointers: [out, b, ..], steps: [step, step_b, ..], count } = *run;
        let f = self.0.function.clone();
        // SAFETY: guaranteed by the caller; steps that are sizes of elements make no gaps.
        unsafe {
            if step == size_of::<A>() && step_b == size_of::<B>() {
                vectorized(
                    #[inline(always)]
                    move || {
                        for i in 0..count {
                            let value = f(load(out, size_of::<A>(), i), load(b, size_of::<B>(), i));
                            store(out, size_of::<A>(), i, value);
                        }
                    },
                );
            } else if step == size_of::<A>() && step_b == 0 {
                let y = load(b, 0, 0);
                vectorized(
                    #[inline(always)]
                    move || {
                        for i in 0..count {
                            store(out, size_of::<A>(), i, f(load(out, size_of::<A>(), i), y));
                        }
                    },
                );
            } else {
                for i in 0..count {
                    store(out, step, i, f(load(out, step, i), load(b, step_b, i)));
                }
            }
        }
    }

    fn shared(&self) -> Arc<dyn ElementLoop> {
        Arc::new(Update(self.0.clone()))
    }
}
