//! An inner loop over the memory of operands. Elements whose stored type is not the type of the loop, or which are not
//! aligned, are converted block by block.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::plan::Plan;
use crate::DType;
use crate::loops::{ElementLoop, MAX_OPERANDS, Run, conversion};
use crate::storage::Span;

/// The number of elements that are converted at once. The blocks of all operands fit the L1 cache.
pub(super) const BLOCK: usize = 512;

/// Memory for a block of elements of any type.
#[derive(Clone, Copy)]
pub(super) struct Block([MaybeUninit<u64>; BLOCK]);

impl Block {
    pub(super) fn uninit() -> Self {
        Block([MaybeUninit::uninit(); BLOCK])
    }

    pub(super) fn pointer(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// The elements of operands, the first of which is written, for a loop.
#[derive(Clone)]
pub(super) struct Elements {
    pub(super) plan: Plan,
    /// The types in which the operands are stored.
    stored: Vec<DType>,
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
        let run_of = |positions: [usize; MAX_OPERANDS], steps, count| {
            let mut pointers = bases;
            for (pointer, position) in pointers.iter_mut().zip(positions) {
                *pointer = pointer.wrapping_add(position);
            }
            Run { pointers, steps, count }
        };
        let dtypes = element_loop.dtypes();
        debug_assert_eq!(dtypes.len(), self.stored.len(), "operands of a loop");
        let mut operands = self.stored.iter().zip(dtypes).zip(bases);
        if operands.all(|((stored, dtype), base)| is_direct(base, *stored, *dtype)) {
            self.plan.for_each_run_in_blocks(range, &mut |positions, steps, count| {
                // SAFETY: guaranteed by the caller; the elements are aligned, because positions are multiples of their size.
                unsafe { element_loop.run(&run_of(positions, steps, count)) }
            });
            return;
        }
        let mut blocks = [Block::uninit(); MAX_OPERANDS];
        self.plan.for_each_run_in_blocks(range, &mut |positions, steps, count| {
            // SAFETY: guaranteed by the caller.
            unsafe { self.run_converted(element_loop, &run_of(positions, steps, count), &mut blocks) }
        });
    }

    /// Computes a run by way of blocks.
    ///
    /// # Safety
    /// As for [`run`](Elements::run).
    unsafe fn run_converted(
        &self,
        element_loop: &dyn ElementLoop,
        run: &Run,
        blocks: &mut [Block; MAX_OPERANDS],
    ) {
        for first in (0..run.count).step_by(BLOCK) {
            let count = BLOCK.min(run.count - first);
            let (mut pointers, mut steps) = (run.pointers, run.steps);
            pointers
                .iter_mut()
                .zip(steps)
                .for_each(|(pointer, step)| *pointer = pointer.wrapping_add(first * step));
            let [target, ..] = pointers;
            let operands = self.stored.iter().zip(element_loop.dtypes());
            let places = pointers.iter_mut().zip(&mut steps).zip(blocks.iter_mut());
            for (operand, ((&stored, &dtype), ((pointer, step), block))) in operands.zip(places).enumerate() {
                if is_direct(*pointer, stored, dtype) {
                    continue;
                }
                let block = block.pointer();
                let (source, size) = (std::mem::replace(pointer, block), dtype.size());
                // One element is repeated.
                let count = if operand > 0 && *step == 0 { 1 } else { count };
                if operand > 0 || element_loop.is_update() {
                    // SAFETY: the elements are within the memory, and the block has room for them.
                    unsafe { conversion(stored, dtype)((block, size), (source, *step), count) };
                }
                if count > 1 || operand == 0 {
                    *step = size;
                }
            }
            // SAFETY: guaranteed by the caller; blocks are aligned for every type.
            unsafe { element_loop.run(&Run { pointers, steps, count }) };
            let ([written, ..], [step, ..]) = (pointers, run.steps);
            if let (Some(&stored), Some(&dtype)) = (self.stored.first(), element_loop.dtypes().first())
                && written != target
            {
                // SAFETY: the loop has written the block; the elements are within the memory.
                unsafe { conversion(dtype, stored)((target, step), (written, dtype.size()), count) };
            }
        }
    }
}

/// Returns whether a loop can use an operand where it is.
pub(super) fn is_direct(base: *const u8, stored: DType, dtype: DType) -> bool {
    stored == dtype && base.addr().is_multiple_of(dtype.size())
}
