//! Short rows, of which sources repeat elements, as in the sum of a matrix and a vector: several rows are one run, for which the
//! repeated elements are copied to a block. A call of the loop for each row would take longer than its elements.

use super::plan::{Continuation, Runs};
use super::run::{Access, Block, Elements, run_in_blocks};
use crate::dtype::dispatch_size;
use crate::loops::{ElementLoop, MAX_OPERANDS, Run, conversion, repeat_each};

/// The least number of rows for which the copies take less time than the calls that they save.
const LEAST: usize = 4;

/// How rows are joined, and what the blocks hold.
pub(super) struct JoinedRows {
    continuations: [Continuation; MAX_OPERANDS],
    /// How the loop uses the operands of a run: blocks with copies have no gaps.
    access: Access,
    /// The number of elements of a row.
    pub(super) row: usize,
    /// The largest number of rows of a run.
    pub(super) most: usize,
    /// The row that the block of an operand repeats: its address, and how often.
    held: [(*mut u8, usize); MAX_OPERANDS],
}

impl JoinedRows {
    /// Returns how rows of these elements are joined, if they are short and some operand repeats elements.
    pub(super) fn new(
        elements: &Elements,
        element_loop: &dyn ElementLoop,
        bases: &[*mut u8; MAX_OPERANDS],
    ) -> Option<Self> {
        let (row, rows) = elements.plan.rows()?;
        let block = Block::capacity(element_loop);
        if rows < LEAST || block / row < LEAST {
            return None;
        }
        let continuations = elements.plan.continuations()?;
        let mut steps = elements.plan.steps();
        let ([target, ..], [target_step, ..]) = (continuations, steps);
        if target != Continuation::WithoutGap || target_step == 0 {
            return None;
        }
        let sizes = elements.stored.iter().map(|stored| stored.size());
        for ((step, continuation), size) in steps.iter_mut().zip(continuations).zip(sizes) {
            if continuation != Continuation::WithoutGap {
                *step = size;
            }
        }
        let mut access = Access::new(elements, element_loop, bases, steps);
        for (operand, (continuation, dtype)) in continuations.iter().zip(element_loop.dtypes()).enumerate() {
            if *continuation != Continuation::WithoutGap {
                access.set_in_block(operand, dtype.size());
            }
        }
        Some(JoinedRows {
            continuations,
            access,
            row,
            most: block / row,
            held: [(std::ptr::null_mut(), 0); MAX_OPERANDS],
        })
    }

    /// Computes rows as one run.
    ///
    /// # Safety
    /// As for [`Elements::run`], of which these are whole rows. Nothing else writes the blocks between two calls.
    pub(super) unsafe fn run(
        &mut self,
        elements: &Elements,
        element_loop: &dyn ElementLoop,
        (runs, mut pointers): (&Runs, [*mut u8; MAX_OPERANDS]),
        blocks: &mut [Block; MAX_OPERANDS],
    ) {
        let types = elements.stored.iter().zip(element_loop.dtypes());
        let targets = pointers.iter_mut().zip(blocks.iter_mut()).zip(&mut self.held);
        let steps = self.continuations.iter().zip(runs.steps.iter().zip(runs.row_steps));
        for (((&stored, &dtype), ((pointer, block), held)), (continuation, (&step, row_step))) in
            types.zip(targets).zip(steps)
        {
            let (block, size, load) = (block.pointer(), dtype.size(), conversion(stored, dtype));
            // SAFETY: the elements are within the memory, and the block has room for all rows.
            unsafe {
                match continuation {
                    Continuation::WithoutGap => continue,
                    Continuation::SameRow if held.0 == *pointer && held.1 >= runs.rows => {}
                    Continuation::SameRow => {
                        load.run((block, size), (*pointer, step), runs.count);
                        let bytes = runs.count * size;
                        (1..runs.rows)
                            .for_each(|row| block.copy_to_nonoverlapping(block.add(row * bytes), bytes));
                        *held = (*pointer, runs.rows);
                    }
                    Continuation::SameElement => {
                        let mut values = Block::uninit();
                        let values = values.pointer();
                        load.run((values, size), (*pointer, row_step), runs.rows);
                        dispatch_size!(dtype, T => repeat_each::<T>(block, values, (runs.rows, runs.count)));
                    }
                }
            }
            *pointer = block;
        }
        let run = Run { pointers, steps: self.access.steps, count: runs.rows * runs.count };
        // SAFETY: guaranteed by the caller; blocks are aligned for every type.
        unsafe {
            if self.access.is_direct() {
                element_loop.run(&run);
            } else {
                run_in_blocks(element_loop, &run, &self.access, blocks);
            }
        }
    }
}
