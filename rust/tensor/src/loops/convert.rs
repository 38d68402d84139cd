//! Loops that convert elements to another type, from and to memory of any alignment.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use std::sync::Arc;

use super::element_loop::{ElementLoop, Run};
use crate::dtype::{dispatch, dispatch_size};
use crate::{DType, Element};

/// Converts `count` elements from `source` to `target`, whose elements lie the given steps in bytes apart.
///
/// # Safety
/// The elements are within memory that may be read and written, and none of both overlap. Those of the source are
/// initialized. They need not be aligned.
pub(crate) type Conversion = unsafe fn(target: (*mut u8, usize), source: (*const u8, usize), count: usize);

/// Returns the conversion from one type to another; between equal types it copies.
pub(crate) fn conversion(from: DType, to: DType) -> Conversion {
    match (from, to) {
        (DType::Float16, DType::Float32) => load_halves::<f16>,
        (DType::BFloat16, DType::Float32) => load_halves::<bf16>,
        (DType::Float32, DType::Float16) => store_halves::<f16>,
        (DType::Float32, DType::BFloat16) => store_halves::<bf16>,
        (from, to) if from == to => dispatch_size!(from, T => copy::<T>),
        (from, to) => dispatch!(from, T => dispatch!(to, U => convert_elements::<T, U>)),
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

    unsafe fn run(&self, run: &Run) {
        let Run { pointers: [target, source, ..], steps: [step, source_step, ..], count } = *run;
        // SAFETY: guaranteed by the caller.
        unsafe { (self.conversion)((target, step), (source, source_step), count) }
    }

    fn shared(&self) -> Arc<dyn ElementLoop> {
        Arc::new(*self)
    }
}

/// Calls `element` with the addresses of each pair of elements.
///
/// # Safety
/// As for a [`Conversion`] between elements of these types.
#[inline(always)]
unsafe fn for_each<T, U>(
    (target, step): (*mut u8, usize),
    (source, source_step): (*const u8, usize),
    count: usize,
    element: impl Fn(*mut U, *const T),
) {
    let (size, source_size) = (size_of::<U>(), size_of::<T>());
    // SAFETY: guaranteed by the caller.
    unsafe {
        if (step, source_step) == (size, source_size) {
            for i in 0..count {
                element(target.add(i * size).cast(), source.add(i * source_size).cast());
            }
        } else {
            for i in 0..count {
                element(target.add(i * step).cast(), source.add(i * source_step).cast());
            }
        }
    }
}

unsafe fn copy<T: Element>(target: (*mut u8, usize), source: (*const u8, usize), count: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        for_each::<T, T>(target, source, count, |target, source| {
            target.write_unaligned(source.read_unaligned());
        });
    }
}

unsafe fn convert_elements<T: Element, U: Element>(
    target: (*mut u8, usize),
    source: (*const u8, usize),
    count: usize,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        for_each::<T, U>(target, source, count, |target, source| {
            target.write_unaligned(source.read_unaligned().cast());
        });
    }
}

/// Returns a slice of memory, which is zeroed: a slice must be initialized.
///
/// # Safety
/// The memory may be written, is aligned, and zeros are elements of the type.
unsafe fn initialized<'a, T>(pointer: *mut T, count: usize) -> &'a mut [T] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        pointer.write_bytes(0, count);
        std::slice::from_raw_parts_mut(pointer, count)
    }
}

/// Calls `block` with the first element and the number of elements of each block, which fits the L1 cache.
fn for_each_block(count: usize, block: impl Fn(usize, usize)) {
    const BLOCK: usize = 2048;
    for first in (0..count).step_by(BLOCK) {
        block(first, BLOCK.min(count - first));
    }
}

/// Converts 16-bit floats, without gaps several with one instruction.
unsafe fn load_halves<H: Element>(
    (target, step): (*mut u8, usize),
    (source, source_step): (*const u8, usize),
    count: usize,
) where
    [H]: HalfFloatSliceExt,
{
    let (halves, singles) = (source.cast::<H>(), target.cast::<f32>());
    let is_dense = (step, source_step) == (size_of::<f32>(), size_of::<H>());
    // SAFETY: guaranteed by the caller; the slices cover aligned elements without gaps.
    unsafe {
        if is_dense && halves.is_aligned() && singles.is_aligned() {
            for_each_block(count, |first, count| {
                let target = initialized(singles.add(first), count);
                std::slice::from_raw_parts(halves.add(first), count).convert_to_f32_slice(target);
            });
        } else {
            convert_elements::<H, f32>((target, step), (source, source_step), count);
        }
    }
}

/// Rounds to 16-bit floats, like [`load_halves`].
unsafe fn store_halves<H: Element>(
    (target, step): (*mut u8, usize),
    (source, source_step): (*const u8, usize),
    count: usize,
) where
    [H]: HalfFloatSliceExt,
{
    let (halves, singles) = (target.cast::<H>(), source.cast::<f32>());
    let is_dense = (step, source_step) == (size_of::<H>(), size_of::<f32>());
    // SAFETY: guaranteed by the caller; the slices cover aligned elements without gaps.
    unsafe {
        if is_dense && halves.is_aligned() && singles.is_aligned() {
            for_each_block(count, |first, count| {
                let source = std::slice::from_raw_parts(singles.add(first), count);
                initialized(halves.add(first), count).convert_from_f32_slice(source);
            });
        } else {
            convert_elements::<f32, H>((target, step), (source, source_step), count);
        }
    }
}
