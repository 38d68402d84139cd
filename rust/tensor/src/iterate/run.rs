//! An inner loop over the memory of operands. Elements whose stored type is not the type of the loop, or which are not
//! aligned, are converted block by block.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::joined_rows::JoinedRows;
use super::plan::{Plan, Runs};
use crate::DType;
use crate::loops::{CacheAligned, Conversion, ElementLoop, MAX_OPERANDS, Run, conversion};
use crate::storage::Span;

/// The number of elements of every type that fit a block. The blocks of all operands fit the L1 cache.
pub(super) const BLOCK: usize = 512;

/// Memory for a block of elements of any type.
#[derive(Clone, Copy)]
pub(super) struct Block(CacheAligned<[MaybeUninit<u64>; BLOCK]>);

impl Block {
    pub(super) fn uninit() -> Self {
        Block(CacheAligned([MaybeUninit::uninit(); BLOCK]))
    }

    pub(super) fn pointer(&mut self) -> *mut u8 {
        self.0.0.as_mut_ptr().cast()
    }

    /// Returns how many elements of each operand of a loop fit a block.
    pub(super) fn capacity(element_loop: &dyn ElementLoop) -> usize {
        let largest = element_loop.dtypes().iter().map(|dtype| dtype.size()).max();
        size_of::<Block>() / largest.unwrap_or(1)
    }
}

/// The elements of operands, the first of which is written, for a loop.
#[derive(Clone)]
pub(super) struct Elements {
    pub(super) plan: Plan,
    /// The types in which the operands are stored.
    pub(super) stored: Vec<DType>,
}

impl Elements {
    pub(super) fn new(plan: Plan, stored: Vec<DType>) -> Self {
        Elements { plan, stored }
    }

    /// Returns whether all elements lie within the memory of their operands.
    pub(super) fn are_within(&self, spans: &[Span]) -> bool {
        let within = |(operand, (dtype, span)): (usize, (&DType, &Span))| {
            self.plan.required_bytes(operand, dtype.size()) <= span.bytes
        };
        self.stored.len() == spans.len() && self.stored.iter().zip(spans).enumerate().all(within)
    }

    /// Computes a range of elements, numbered in the order of the plan.
    ///
    /// # Safety
    /// The elements [are within](Elements::are_within) the memory. All of it may be read, and the first operand's elements
    /// in this range are written by this thread alone. The memory of sources is initialized and does not overlap the
    /// memory of the first operand, which is initialized if the loop updates it.
    pub(super) unsafe fn run(&self, element_loop: &dyn ElementLoop, spans: &[Span], range: Range<usize>) {
        let mut bases = [std::ptr::null_mut(); MAX_OPERANDS];
        bases.iter_mut().zip(spans).for_each(|(base, span)| *base = span.pointer);
        let mut access = Access::new(self, element_loop, &bases, self.plan.steps());
        let mut blocks = [Block::uninit(); MAX_OPERANDS];
        let mut joined = JoinedRows::new(self, element_loop, &bases);
        let most = joined.as_ref().map_or(1, |joined| joined.most);
        self.plan.for_each_run_in_blocks(range, most, &mut |runs| {
            /// So many elements of each run that the cache lines of all fit the L1 cache.
            const PART: usize = 128;
            if runs.steps != access.given {
                access = Access::new(self, element_loop, &bases, runs.steps);
            }
            let pointers_to = |runs: &Runs| {
                let mut pointers = bases;
                for (pointer, position) in pointers.iter_mut().zip(runs.positions) {
                    *pointer = pointer.wrapping_add(position);
                }
                pointers
            };
            let located = |runs: &Runs, access: &Access| Run {
                pointers: pointers_to(runs),
                steps: access.steps,
                count: runs.count,
            };
            // SAFETY: guaranteed by the caller; elements that are used directly are aligned, because positions are multiples
            // of their size.
            unsafe {
                if let Some(joined) = &mut joined
                    && runs.count == joined.row
                {
                    return joined.run(self, element_loop, (runs, pointers_to(runs)), &mut blocks);
                }
                if runs.rows > 1
                    && access.is_direct()
                    && element_loop.run_rows(&located(runs, &access), runs.rows, runs.row_steps)
                {
                    return;
                }
                let part = if runs.rows > 1 { PART } else { runs.count.max(1) };
                for first in (0..runs.count).step_by(part) {
                    for row in 0..runs.rows {
                        let run = located(&runs.part(row, first..runs.count.min(first + part)), &access);
                        if access.is_direct() {
                            element_loop.run(&run);
                        } else {
                            run_in_blocks(element_loop, &run, &access, &mut blocks);
                        }
                    }
                }
            }
        });
    }
}

/// Computes a run with blocks for the operands that are not direct.
///
/// # Safety
/// As for [`run`](Elements::run).
pub(super) unsafe fn run_in_blocks(
    element_loop: &dyn ElementLoop,
    run: &Run,
    access: &Access,
    blocks: &mut [Block; MAX_OPERANDS],
) {
    let dtypes = element_loop.dtypes();
    // Repeated updates of one element would be lost in copies of it.
    let [target_step, ..] = run.steps;
    let is_update = element_loop.is_update();
    let block = if target_step == 0 && is_update { 1 } else { access.block };
    for first in (0..run.count).step_by(block) {
        let count = block.min(run.count - first);
        let (mut pointers, mut steps) = (run.pointers, run.steps);
        pointers
            .iter_mut()
            .zip(steps)
            .for_each(|(pointer, step)| *pointer = pointer.wrapping_add(first * step));
        let [target, ..] = pointers;
        let operands = dtypes.iter().zip(access.copies.iter().zip(access.is_repeated));
        let places = pointers.iter_mut().zip(&mut steps).zip(blocks.iter_mut());
        for (operand, ((dtype, (copy, is_repeated)), ((pointer, step), block))) in
            operands.zip(places).enumerate()
        {
            let Some(Copies { load, .. }) = copy else { continue };
            let block = block.pointer();
            let (source, size) = (std::mem::replace(pointer, block), dtype.size());
            // A block that holds one element everywhere serves for the whole run.
            let is_loaded = operand > 0 && *step == 0 && first > 0;
            if !is_loaded && (operand > 0 || is_update) {
                let count = if is_repeated { 1 } else { count };
                // SAFETY: the elements are within the memory, and the block has room for them.
                unsafe { load.run((block, size), (source, *step), count) };
            }
            if !is_repeated {
                *step = size;
            }
        }
        // SAFETY: guaranteed by the caller; blocks are aligned for every type.
        unsafe { element_loop.run(&Run { pointers, steps, count }) };
        let ([written, ..], [size, ..]) = (pointers, steps);
        if let [Some(Copies { store, .. }), ..] = &access.copies {
            // SAFETY: the loop has written the block; the elements are within the memory.
            unsafe { store.run((target, target_step), (written, size), count) };
        }
    }
}

/// The conversions of an operand to a block and back.
#[derive(Clone, Copy)]
struct Copies {
    load: Conversion,
    store: Conversion,
}

/// How a loop uses the operands.
pub(super) struct Access {
    /// The distances between the elements of a run in the plan.
    given: [usize; MAX_OPERANDS],
    /// The distances that the loop gets. They have no gaps if the plan has one element.
    pub(super) steps: [usize; MAX_OPERANDS],
    /// The conversions of operands that are copied to blocks: those of another type, those that are not aligned, and those
    /// with steps that the loop does not accept. The loop uses the others where they are.
    copies: [Option<Copies>; MAX_OPERANDS],
    /// The number of elements that fit a block.
    block: usize,
    /// The sources that are one element for the loop.
    is_repeated: [bool; MAX_OPERANDS],
}

impl Access {
    /// Lets the loop use an operand in its block, to which the caller copies elements of the loop's type.
    pub(super) fn set_in_block(&mut self, operand: usize, size: usize) {
        if let (Some(copies), Some(step)) = (self.copies.get_mut(operand), self.steps.get_mut(operand)) {
            (*copies, *step) = (None, size);
        }
    }

    /// Returns whether the loop uses all operands where they are.
    pub(super) fn is_direct(&self) -> bool {
        self.copies.iter().all(Option::is_none)
    }

    /// Returns how a loop uses operands at these addresses, with these steps.
    pub(super) fn new(
        elements: &Elements,
        element_loop: &dyn ElementLoop,
        bases: &[*mut u8; MAX_OPERANDS],
        given: [usize; MAX_OPERANDS],
    ) -> Self {
        let dtypes = element_loop.dtypes();
        debug_assert_eq!(dtypes.len(), elements.stored.len(), "operands of a loop");
        let mut steps = given;
        if elements.plan.numel() == 1 {
            steps.iter_mut().zip(&elements.stored).for_each(|(step, stored)| *step = stored.size());
        }
        let mut is_repeated = [false; MAX_OPERANDS];
        let sources = is_repeated.iter_mut().zip(steps).take(dtypes.len()).skip(1);
        sources.for_each(|(mark, step)| *mark = step == 0);
        let accepts_gaps = element_loop.accepts_gaps();
        if !accepts_gaps && !element_loop.accepts_constant(is_repeated) {
            is_repeated = [false; MAX_OPERANDS];
        }
        let mut copies = [None; MAX_OPERANDS];
        let operands = elements.stored.iter().zip(dtypes).zip(bases).zip(steps.iter().zip(is_repeated));
        for (copy, (((&stored, &dtype), &base), (&step, is_repeated))) in copies.iter_mut().zip(operands) {
            let accepts_step = accepts_gaps || is_repeated || step == stored.size();
            if !accepts_step || !is_stored_as(base, stored, dtype) {
                *copy = Some(Copies { load: conversion(stored, dtype), store: conversion(dtype, stored) });
            }
        }
        Access { given, steps, copies, block: Block::capacity(element_loop), is_repeated }
    }
}

/// Returns whether elements have the type of a loop and are aligned.
pub(super) fn is_stored_as(base: *const u8, stored: DType, dtype: DType) -> bool {
    stored == dtype && base.addr().is_multiple_of(dtype.size())
}
