//! Reductions of dimensions to one element each.

use super::elements::LONG;
use super::launch::{Launch, Target, threads_on};
use super::parallel::{Shared, THREADED_ELEMENTS, for_each};
use super::plan::{Continuation, Plan, PlanOperand};
use super::run::{BLOCK, Block, is_stored_as};
use super::slices::new_tensor;
use crate::layout::Layout;
use crate::loops::{CacheAligned, ROWS, ReduceLoop, conversion};
use crate::storage::Span;
use crate::storage::fallible_alloc::try_from_elem;
use crate::{DType, Error, Result, Tensor};

/// Returns the strides of the result for the shape of the source (0 for reduced dimensions), and the number of
/// elements of the result.
fn result_strides(shape: &[usize], reduced: &[bool]) -> (Vec<usize>, usize) {
    let mut strides = vec![0; shape.len()];
    let mut step = 1usize;
    let dims = strides.iter_mut().zip(shape.iter().zip(reduced)).rev();
    for (stride, (&size, &reduced)) in dims {
        if !reduced {
            *stride = step;
            step = step.saturating_mul(size);
        }
    }
    (strides, step)
}

/// Reduces the dimensions that are marked in `reduced`. `shape` is the shape of the result, whose elements are stored as
/// `dtype`.
pub(crate) fn reduce(
    op: &'static str,
    source: &Tensor,
    reduced: &[bool],
    (shape, dtype): (&[usize], DType),
    reduce_loop: &dyn ReduceLoop,
) -> Result<Tensor> {
    let out = new_tensor(op, source.placement(), Layout::contiguous(shape), dtype)?;
    let threads = threads_on(source.placement(), source.numel(), THREADED_ELEMENTS);
    let reduction = Reduction::new(source, reduced, dtype, reduce_loop.state_size());
    let launch = Launch {
        op,
        targets: &[Target::new_result(out.storage_handle())],
        is_zeroed: false,
        sources: &[source],
    };
    match launch.device() {
        Some(device) => {
            let reduce_loop = reduce_loop.shared();
            launch.enqueue(device, Box::new(move |spans| reduction.run(op, 1, &*reduce_loop, spans)))?;
        }
        None => {
            let is_long = source.numel() >= LONG;
            launch.run_on_cpu(is_long, &mut |spans| reduction.run(op, threads, reduce_loop, spans))?;
        }
    }
    Ok(out)
}

/// The number of words of a cache line.
const LINE: usize = align_of::<CacheAligned<u64>>() / size_of::<u64>();

/// The states of results, for a loop.
struct States<'a> {
    reduce_loop: &'a dyn ReduceLoop,
    memory: Vec<u64>,
    /// The number of states.
    count: usize,
}

impl<'a> States<'a> {
    /// Returns states of no elements.
    fn new(reduce_loop: &'a dyn ReduceLoop, count: usize) -> Result<Self> {
        let words = count.saturating_mul(reduce_loop.state_size()).div_ceil(size_of::<u64>());
        let mut states = States { reduce_loop, memory: try_from_elem(0, words.saturating_add(LINE))?, count };
        // SAFETY: the memory has room for the states.
        unsafe { reduce_loop.begin(states.pointer(), count) };
        Ok(states)
    }

    /// Returns the address of the states, at which a cache line begins.
    fn pointer(&mut self) -> *mut u8 {
        let start = self.memory.as_mut_ptr();
        start.wrapping_add(start.align_offset(LINE * size_of::<u64>())).cast()
    }
}

/// The elements of a source, and where their results are.
struct Reduction {
    /// The first operand are the states, the second one is the source.
    plan: Plan,
    stored: DType,
    /// The type of the results.
    dtype: DType,
    /// The number of results.
    count: usize,
}

/// The tiles of a large reduction. They depend on the sizes and strides only, so that the order of additions, and
/// with it each bit of the result, does not depend on the number of threads.
#[derive(Debug, PartialEq)]
struct Tiles {
    /// The dimension that is divided.
    dim: usize,
    size: usize,
    /// Positions of the dimension in a tile.
    length: usize,
    /// The bytes of states between two positions; 0 if the dimension is reduced.
    step: usize,
}

impl Tiles {
    /// Returns the tiles of a source with `count` results, or `None` for one tile.
    fn of(plan: &Plan, count: usize) -> Option<Self> {
        /// The maximum and the minimum number of tiles.
        const MOST: usize = 64;
        const LEAST: usize = 8;
        /// The minimum length of a part of a row.
        const ROW: usize = 256;
        /// The minimum number of elements of which a tile has a state of its own.
        const SHARE: usize = 64;
        let numel = plan.numel();
        if numel < THREADED_ELEMENTS {
            return None;
        }
        let last = plan.dims().count().saturating_sub(1);
        let outermost = |is_reduced: bool, most: usize| {
            let (dim, (size, [step, ..])) =
                plan.dims().enumerate().find(|(_, (_, [step, ..]))| (*step == 0) == is_reduced)?;
            let length = size.div_ceil(most).max(if dim == last { ROW } else { 1 });
            (size.div_ceil(length) >= LEAST).then_some(Tiles { dim, size, length, step })
        };
        let partial = || {
            let most = MOST.min(numel / SHARE / count.max(1));
            if most < LEAST { None } else { outermost(true, most) }
        };
        outermost(false, MOST).or_else(partial)
    }

    fn count(&self) -> usize {
        self.size.div_ceil(self.length)
    }

    /// Returns the part of a plan in a tile.
    fn part(&self, plan: &Plan, number: usize) -> Plan {
        let start = number * self.length;
        plan.part(self.dim, start..self.size.min(start + self.length))
    }
}

impl Reduction {
    fn new(source: &Tensor, reduced: &[bool], dtype: DType, state_size: usize) -> Self {
        // Read once: another thread may resize the source.
        let Layout { shape, strides, offset } = source.layout();
        let (own, count) = result_strides(shape, reduced);
        let states = PlanOperand { strides: &own, offset: 0, size: state_size };
        let elements = PlanOperand { strides, offset: *offset, size: source.dtype().size() };
        let plan = Plan::new(&Layout::contiguous(shape), &[states, elements]);
        Reduction { plan, stored: source.dtype(), dtype, count }
    }

    /// Computes the results. The locks of the memory are held.
    fn run(
        &self,
        op: &'static str,
        threads: usize,
        reduce_loop: &dyn ReduceLoop,
        spans: &[Span],
    ) -> Result<()> {
        let &[target, source] = spans else { return Err(Error::resized(op)) };
        let is_within = self.plan.required_bytes(1, self.stored.size()) <= source.bytes
            && self.count * self.dtype.size() <= target.bytes;
        Error::when(!is_within, || Error::resized(op))?;
        let mut states = States::new(reduce_loop, self.count)?;
        // Tiles of other results need no order, and on one thread are only slower.
        let tiles = Tiles::of(&self.plan, self.count).filter(|tiles| threads > 1 || tiles.step == 0);
        match tiles {
            // SAFETY: the elements are within the memory.
            None => unsafe { self.accumulate(&self.plan, reduce_loop, states.pointer(), source.pointer) },
            Some(tiles) => self.run_tiles(threads, &tiles, &mut states, source)?,
        }
        // SAFETY: the results are within the memory of the target, which this thread alone uses.
        unsafe { self.finish(reduce_loop, target.pointer, states.pointer()) };
        Ok(())
    }

    /// Adds the elements tile by tile.
    fn run_tiles(&self, threads: usize, tiles: &Tiles, states: &mut States<'_>, source: Span) -> Result<()> {
        let (reduce_loop, count) = (states.reduce_loop, states.count);
        let partial_bytes = count * reduce_loop.state_size();
        let is_partial = tiles.step == 0;
        let mut partial = if is_partial {
            Some(States::new(reduce_loop, count.saturating_mul(tiles.count()))?)
        } else {
            None
        };
        let into = partial.as_mut().unwrap_or(states).pointer();
        let stride = if is_partial { partial_bytes } else { tiles.length * tiles.step };
        // SAFETY: the memory lives until all threads have ended; none writes the source, and each writes states of its own.
        let shared = unsafe { Shared::new((into, source.pointer)) };
        let run = |number: usize| {
            let (part, (into, source)) = (tiles.part(&self.plan, number), shared.get());
            // SAFETY: the elements of a tile are within the memory, and its states are its own.
            unsafe { self.accumulate(&part, reduce_loop, into.wrapping_add(number * stride), source) };
            Ok(())
        };
        for_each(threads, 0..tiles.count(), &run)?;
        if let Some(partial) = &mut partial {
            let others = partial.pointer();
            for number in 0..tiles.count() {
                // SAFETY: each tile has as many states.
                unsafe {
                    reduce_loop.merge(states.pointer(), others.wrapping_add(number * partial_bytes), count);
                }
            }
        }
        Ok(())
    }

    /// Adds the elements of a plan to states.
    ///
    /// # Safety
    /// The elements are within the memory from `source` on, and their states from `states` on.
    unsafe fn accumulate(
        &self,
        plan: &Plan,
        reduce_loop: &dyn ReduceLoop,
        states: *mut u8,
        source: *const u8,
    ) {
        let [state_step, step, ..] = plan.steps();
        let dtype = reduce_loop.source();
        if is_stored_as(source, self.stored, dtype) {
            if (state_step, step) == (reduce_loop.state_size(), dtype.size()) {
                // SAFETY: guaranteed by the caller; the elements are aligned and have no gaps.
                unsafe {
                    match WideRows::of(plan, reduce_loop) {
                        Some(wide) => wide.accumulate(plan, reduce_loop, states, source),
                        None => accumulate_dense(plan, reduce_loop, states, source),
                    }
                }
                return;
            }
            if (state_step, step) == (0, dtype.size()) {
                return plan.for_each_rows(0..plan.numel(), usize::MAX, &mut |runs| {
                    let ([state, at, ..], [state_step, run_step, ..]) = (runs.positions, runs.row_steps);
                    let (states, source) = (states.wrapping_add(state), source.wrapping_add(at));
                    // SAFETY: guaranteed by the caller; the elements are aligned and have no gaps.
                    unsafe {
                        reduce_loop.accumulate_runs(
                            (states, state_step),
                            (source, run_step),
                            runs.count,
                            runs.rows,
                        );
                    }
                });
            }
            plan.for_each_run(0..plan.numel(), &mut |[state, at, ..], count| {
                let (states, source) = (states.wrapping_add(state), source.wrapping_add(at));
                // SAFETY: guaranteed by the caller; the elements are aligned.
                unsafe { reduce_loop.accumulate((states, state_step), (source, step), count) };
            });
            return;
        }
        let mut block = Block::uninit();
        let convert = conversion(self.stored, dtype);
        plan.for_each_run(0..plan.numel(), &mut |[state, at, ..], count| {
            for first in (0..count).step_by(BLOCK) {
                let part = BLOCK.min(count - first);
                let source = source.wrapping_add(at + first * step);
                let states = states.wrapping_add(state + first * state_step);
                // SAFETY: guaranteed by the caller; the block has room for the elements.
                unsafe {
                    convert.run((block.pointer(), dtype.size()), (source, step), part);
                    reduce_loop.accumulate((states, state_step), (block.pointer(), dtype.size()), part);
                }
            }
        });
    }

    /// Writes the results.
    ///
    /// # Safety
    /// There is memory for them from `results` on, and the states are as many.
    unsafe fn finish(&self, reduce_loop: &dyn ReduceLoop, results: *mut u8, states: *const u8) {
        let dtype = reduce_loop.result();
        // SAFETY: guaranteed by the caller; the block has room for the results.
        unsafe {
            if is_stored_as(results, self.dtype, dtype) {
                return reduce_loop.finish(results, states, self.count);
            }
            let mut block = Block::uninit();
            let convert = conversion(dtype, self.dtype);
            for first in (0..self.count).step_by(BLOCK) {
                let part = BLOCK.min(self.count - first);
                reduce_loop.finish(block.pointer(), states.add(first * reduce_loop.state_size()), part);
                let size = self.dtype.size();
                convert.run((results.add(first * size), size), (block.pointer(), dtype.size()), part);
            }
        }
    }
}

/// Adds the elements of runs without gaps to states without gaps, several runs with the same states at once.
///
/// # Safety
/// The elements are within the memory from `source` on, and their states from `states` on.
unsafe fn accumulate_dense(plan: &Plan, reduce_loop: &dyn ReduceLoop, states: *mut u8, source: *const u8) {
    /// Runs with the same states.
    struct Rows {
        states: *mut u8,
        sources: [*const u8; ROWS],
        /// The number of runs.
        rows: usize,
        count: usize,
    }
    let (state_step, step) = (reduce_loop.state_size(), reduce_loop.source().size());
    let add = |rows: &mut Rows| {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if rows.rows == ROWS {
                reduce_loop.accumulate_rows(rows.states, rows.sources, rows.count);
            } else {
                for source in rows.sources.iter().take(rows.rows) {
                    reduce_loop.accumulate((rows.states, state_step), (*source, step), rows.count);
                }
            }
        }
        rows.rows = 0;
    };
    let mut rows = Rows { states, sources: [source; ROWS], rows: 0, count: 0 };
    plan.for_each_run(0..plan.numel(), &mut |[state, at, ..], count| {
        let (states, source) = (states.wrapping_add(state), source.wrapping_add(at));
        if rows.rows == ROWS || (rows.states, rows.count) != (states, count) {
            add(&mut rows);
        }
        (rows.states, rows.count) = (states, count);
        if let Some(slot) = rows.sources.get_mut(rows.rows) {
            *slot = source;
        }
        rows.rows += 1;
    });
    add(&mut rows);
}

/// Short runs that are added to the same states, as in the sums of the columns of a narrow matrix: several of them are a wide
/// row with states of its own, which are merged at the end. A call of the loop for each run would take longer than its elements.
struct WideRows {
    /// The number of runs in a wide row.
    runs: usize,
    /// The number of elements of a run.
    count: usize,
}

/// Memory for the states of a wide row.
type WideStates = [Block; 4];

impl WideRows {
    /// Returns the wide rows of short runs without gaps, if there are many.
    fn of(plan: &Plan, reduce_loop: &dyn ReduceLoop) -> Option<Self> {
        let (count, number) = plan.rows()?;
        let [states, elements, ..] = plan.continuations()?;
        let runs = BLOCK.min(size_of::<WideStates>() / reduce_loop.state_size()) / count;
        let are_joined = (states, elements) == (Continuation::SameRow, Continuation::WithoutGap);
        // Fewer runs are not worth the additional states.
        (are_joined && runs >= 4 && number / runs >= 2 * ROWS).then_some(WideRows { runs, count })
    }

    /// Adds the elements of the plan to states.
    ///
    /// # Safety
    /// As for [`accumulate_dense`].
    unsafe fn accumulate(
        &self,
        plan: &Plan,
        reduce_loop: &dyn ReduceLoop,
        states: *mut u8,
        source: *const u8,
    ) {
        let (state_step, step) = (reduce_loop.state_size(), reduce_loop.source().size());
        let width = self.runs * self.count;
        let mut memory: WideStates = [Block::uninit(); 4];
        let wide: *mut u8 = memory.as_mut_ptr().cast();
        plan.for_each_rows(0..plan.numel(), usize::MAX, &mut |runs| {
            let [state, at, ..] = runs.positions;
            let states = states.wrapping_add(state);
            let row = |number: usize| source.wrapping_add(at + number * width * step);
            let rows = runs.rows / self.runs;
            // SAFETY: guaranteed by the caller; the memory has room for the states of a wide row.
            unsafe {
                reduce_loop.begin(wide, width);
                for first in (0..rows).step_by(ROWS) {
                    if rows - first >= ROWS {
                        let sources = std::array::from_fn(|number| row(first + number));
                        reduce_loop.accumulate_rows(wide, sources, width);
                    } else {
                        (first..rows).for_each(|number| {
                            reduce_loop.accumulate((wide, state_step), (row(number), step), width);
                        });
                    }
                }
                for number in 0..self.runs {
                    reduce_loop.merge(states, wide.add(number * self.count * state_step), self.count);
                }
                for number in rows * self.runs..runs.rows {
                    let source = source.wrapping_add(at + number * self.count * step);
                    reduce_loop.accumulate((states, state_step), (source, step), self.count);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(shape: &[usize], strides: &[usize], reduced: &[bool]) -> (Plan, usize) {
        let (own, count) = result_strides(shape, reduced);
        let states = PlanOperand { strides: &own, offset: 0, size: 8 };
        let elements = PlanOperand { strides, offset: 0, size: 4 };
        (Plan::new(&Layout::contiguous(shape), &[states, elements]), count)
    }

    #[test]
    fn tiles_depend_on_sizes_and_strides() {
        let tiles = |shape: &[usize], strides: &[usize], reduced: &[bool]| {
            let (plan, count) = of(shape, strides, reduced);
            Tiles::of(&plan, count)
        };
        assert_eq!(tiles(&[1 << 7, 1 << 9], &[1 << 9, 1], &[true, true]), None, "too small");
        let whole = tiles(&[1 << 10, 1 << 11], &[1 << 11, 1], &[true, true]);
        assert_eq!(whole, Some(Tiles { dim: 0, size: 1 << 21, length: 1 << 15, step: 0 }));
        let of_rows = tiles(&[1000, 2000], &[2000, 1], &[false, true]);
        assert_eq!(of_rows, Some(Tiles { dim: 0, size: 1000, length: 16, step: 8 }));
        let of_columns = tiles(&[256, 8192], &[8192, 1], &[true, false]);
        assert_eq!(of_columns, Some(Tiles { dim: 1, size: 8192, length: 256, step: 8 }));
        let of_short_rows = tiles(&[1 << 12, 1 << 10], &[1 << 10, 1], &[true, false]);
        assert_eq!(of_short_rows, Some(Tiles { dim: 0, size: 1 << 12, length: 64, step: 0 }));
        assert_eq!(tiles(&[256, 1 << 10], &[1 << 10, 1], &[true, false]), None, "too many states");
        let of_few_columns = tiles(&[1 << 20, 3], &[3, 1], &[true, false]);
        assert_eq!(of_few_columns, Some(Tiles { dim: 0, size: 1 << 20, length: 1 << 14, step: 0 }));
        let of_planes = tiles(&[2, 3, 1 << 18], &[3 << 18, 1 << 18, 1], &[true, false, false]);
        assert_eq!(of_planes.map(|tiles| tiles.dim), Some(1));
    }
}
