//! Loops that convert elements to another type, from and to memory of any alignment.

use std::mem::MaybeUninit;

use super::cache_aligned::CacheAligned;
use super::element_loop::{ElementLoop, MAX_OPERANDS, Run};
use super::halves;
use super::vectorized::{try_vectorized, vectorized};
use crate::dtype::{dispatch_float, dispatch_narrow, dispatch_size, dispatch_wrapping};
use crate::{DType, Element};

/// The number of elements of a block, which fits the L1 cache.
const BLOCK: usize = 512;

/// Converts `count` elements from `source` to `target`, whose elements lie the given steps in bytes apart.
///
/// # Safety
/// The elements are within memory that may be read and written, and none of both overlap. Those of the source are
/// initialized. They need not be aligned.
type Step = unsafe fn(target: (*mut u8, usize), source: (*const u8, usize), count: usize);

/// A conversion of elements to another type, by way of `f32` if it has two steps, as halves are converted.
#[derive(Clone, Copy)]
pub(crate) struct Conversion {
    first: Step,
    second: Option<Step>,
}

impl Conversion {
    /// Converts `count` elements from `source` to `target`, whose elements lie the given steps in bytes apart.
    ///
    /// # Safety
    /// As for a [`Step`].
    #[inline]
    pub unsafe fn run(self, target: (*mut u8, usize), source: (*const u8, usize), count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.second {
                None => (self.first)(target, source, count),
                Some(second) => by_way_of_singles((self.first, second), target, source, count),
            }
        }
    }
}

/// Converts elements to `f32` and those to the target, block by block.
///
/// # Safety
/// As for a [`Step`].
unsafe fn by_way_of_singles(
    (load, store): (Step, Step),
    (target, step): (*mut u8, usize),
    (source, source_step): (*const u8, usize),
    count: usize,
) {
    let CacheAligned(singles) = &mut CacheAligned([MaybeUninit::<f32>::uninit(); BLOCK]);
    let singles = singles.as_mut_ptr().cast();
    for first in (0..count).step_by(BLOCK) {
        let length = BLOCK.min(count - first);
        // SAFETY: guaranteed by the caller; the block has room for the elements.
        unsafe {
            load((singles, size_of::<f32>()), (source.add(first * source_step), source_step), length);
            store((target.add(first * step), step), (singles, size_of::<f32>()), length);
        }
    }
}

/// Returns the conversion from one type to another; between equal types it copies.
pub(crate) fn conversion(from: DType, to: DType) -> Conversion {
    let is_direct = from == to || from == DType::Float32 || to == DType::Float32;
    if is_direct || !from.is_half() && !to.is_half() {
        return Conversion { first: step(from, to), second: None };
    }
    Conversion { first: step(from, DType::Float32), second: Some(step(DType::Float32, to)) }
}

/// Returns the conversion between equal types, between `f32` and another one, or between types that are no halves.
fn step(from: DType, to: DType) -> Step {
    match (from, to) {
        (DType::Float16, DType::Float32) => |target, source, count| {
            // SAFETY: guaranteed by the caller.
            unsafe { convert_f16(target, source, count, halves::load_vectors_f16, halves::load_f16) }
        },
        (DType::BFloat16, DType::Float32) => |target, source, count| {
            // SAFETY: guaranteed by the caller.
            unsafe { convert_with(target, source, count, halves::load_bf16) }
        },
        (DType::Float32, DType::Float16) => |target, source, count| {
            // SAFETY: guaranteed by the caller.
            unsafe { convert_f16(target, source, count, halves::store_vectors_f16, halves::store_f16) }
        },
        (DType::Float32, DType::BFloat16) => |target, source, count| {
            // SAFETY: guaranteed by the caller.
            unsafe { convert_with(target, source, count, halves::store_bf16) }
        },
        (from, to) if from == to => dispatch_size!(from, T => copy::<T>),
        (from, to) if from.is_floating_point() && to.is_narrow_integer() => {
            dispatch_float!(from, T => dispatch_narrow!(to, U => truncate::<T, U>))
        }
        (from, to) => dispatch_wrapping!(from, T => dispatch_wrapping!(to, U => convert_elements::<T, U>)),
    }
}

/// A loop of a conversion.
#[derive(Clone, Copy)]
struct Convert {
    dtypes: [DType; 2],
    conversion: Conversion,
}

/// Returns the loop that converts elements from one type to another.
pub(crate) fn convert(from: DType, to: DType) -> impl ElementLoop {
    Convert { dtypes: [to, from], conversion: conversion(from, to) }
}

impl ElementLoop for Convert {
    fn dtypes(&self) -> &[DType] {
        &self.dtypes
    }

    fn accepts_gaps(&self) -> bool {
        true
    }

    unsafe fn run(&self, run: &Run) {
        let Run { pointers: [target, source, ..], steps: [step, source_step, ..], count } = *run;
        // SAFETY: guaranteed by the caller.
        unsafe { self.conversion.run((target, step), (source, source_step), count) }
    }

    unsafe fn run_rows(&self, run: &Run, rows: usize, row_steps: [usize; MAX_OPERANDS]) -> bool {
        let ([to, from], [step, ..], [_, source_row, ..]) = (self.dtypes, run.steps, row_steps);
        if to != from || (step, source_row) != (to.size(), to.size()) {
            return false;
        }
        // SAFETY: guaranteed by the caller.
        dispatch_size!(to, T => unsafe { transpose::<T>(run, rows, row_steps) });
        true
    }
}

/// Copies rows without gaps, whose elements with the same index have none in the source.
///
/// # Safety
/// As for [`ElementLoop::run_rows`]. The elements need not be aligned.
unsafe fn transpose<T: Element>(run: &Run, rows: usize, row_steps: [usize; MAX_OPERANDS]) {
    /// The number of elements of a row that are copied before those of the next row: their cache lines remain in the cache
    /// until all rows have used them, also if they replace one another because they are a power of two apart.
    const PART: usize = 8;
    let (Run { pointers: [target, source, ..], steps: [_, step, ..], count }, [row_step, ..]) =
        (*run, row_steps);
    for first in (0..count).step_by(PART) {
        for row in 0..rows {
            // SAFETY: guaranteed by the caller, for elements of the rows.
            unsafe {
                let source = source.add(row * size_of::<T>() + first * step);
                let element = |index: usize| source.add(index * step).cast::<T>().read_unaligned();
                let target = target.add(row * row_step).cast::<T>().add(first);
                if count - first >= PART {
                    target.cast::<[T; PART]>().write_unaligned(std::array::from_fn(element));
                } else {
                    (0..count - first).for_each(|index| target.add(index).write_unaligned(element(index)));
                }
            }
        }
    }
}

/// Converts elements with a function.
///
/// # Safety
/// As for a [`Step`] between elements of these types.
#[inline(always)]
unsafe fn convert_with<T: Element, U: Element>(
    (target, step): (*mut u8, usize),
    (source, source_step): (*const u8, usize),
    count: usize,
    function: impl Fn(T) -> U + Copy,
) {
    let (size, source_size) = (size_of::<U>(), size_of::<T>());
    // SAFETY: guaranteed by the caller.
    unsafe {
        let is_done = (step, source_step) == (size, source_size)
            && try_vectorized(
                #[inline(always)]
                move || {
                    for i in 0..count {
                        let element = source.cast::<T>().add(i).read_unaligned();
                        target.cast::<U>().add(i).write_unaligned(function(element));
                    }
                },
            );
        if !is_done {
            for i in 0..count {
                let element = source.add(i * source_step).cast::<T>().read_unaligned();
                target.add(i * step).cast::<U>().write_unaligned(function(element));
            }
        }
    }
}

/// Converts elements with a function of vectors, which returns the number of elements, where they have no gaps, and the others
/// with a function.
///
/// # Safety
/// As for a [`Step`] between elements of these types.
#[inline(always)]
unsafe fn convert_f16<T: Element, U: Element>(
    (target, step): (*mut u8, usize),
    (source, source_step): (*const u8, usize),
    count: usize,
    vectors: unsafe fn(*mut U, *const T, usize) -> usize,
    function: impl Fn(T) -> U + Copy,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let is_dense = (step, source_step) == (size_of::<U>(), size_of::<T>());
        let done = if is_dense { vectors(target.cast(), source.cast(), count) } else { 0 };
        let (target, source) = (target.wrapping_add(done * step), source.wrapping_add(done * source_step));
        convert_with((target, step), (source, source_step), count - done, function);
    }
}

unsafe fn copy<T: Element>(
    (target, step): (*mut u8, usize),
    (source, source_step): (*const u8, usize),
    count: usize,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if (step, source_step) == (size_of::<T>(), 0) && count > 0 {
            let element = source.cast::<T>().read_unaligned();
            for i in 0..count {
                target.cast::<T>().add(i).write_unaligned(element);
            }
        } else {
            convert_with((target, step), (source, source_step), count, |element: T| element);
        }
    }
}

unsafe fn convert_elements<T: Element, U: Element>(
    target: (*mut u8, usize),
    source: (*const u8, usize),
    count: usize,
) {
    // SAFETY: guaranteed by the caller.
    unsafe { convert_with(target, source, count, |element: T| element.cast::<U>()) }
}

/// Converts floats to narrow integers, as [`convert_elements`]. Blocks of numbers within the range of `i32` are converted by way
/// of it, which CPUs have vector instructions for.
unsafe fn truncate<T: Element, U: Element>(
    (target, step): (*mut u8, usize),
    (source, source_step): (*const u8, usize),
    count: usize,
) {
    const END: f64 = 2_147_483_648.0;
    // SAFETY: guaranteed by the caller.
    unsafe {
        for first in (0..count).step_by(BLOCK) {
            let length = BLOCK.min(count - first);
            let target = (target.add(first * step), step);
            let source = source.add(first * source_step);
            let are_within = source_step == size_of::<T>()
                && vectorized(
                    #[inline(always)]
                    move || {
                        let elements = source.cast::<T>();
                        (0..length).fold(true, |all, i| {
                            all & (elements.add(i).read_unaligned().to_f64().abs() < END)
                        })
                    },
                );
            if are_within {
                let function = |element: T| U::from_i64(element.to_f64().to_int_unchecked::<i32>().into());
                convert_with(target, (source, source_step), length, function);
            } else {
                convert_elements::<T, U>(target, (source, source_step), length);
            }
        }
    }
}
