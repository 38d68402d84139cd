//! The order in which an operation visits the elements of its operands, as NumPy's `nditer` and ATen's `TensorIterator`.

use std::ops::Range;

use crate::layout::Layout;
use crate::loops::MAX_OPERANDS;

/// A dimension that all operands have.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dim {
    size: usize,
    /// The distance in bytes between two elements of each operand.
    steps: [usize; MAX_OPERANDS],
}

const ONE: Dim = Dim { size: 1, steps: [0; MAX_OPERANDS] };

/// Operands of one shape, in runs along one dimension.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The dimensions around the runs, the outermost first.
    outer: Vec<Dim>,
    run: Dim,
    /// The position of the first element of each operand, in bytes.
    starts: [usize; MAX_OPERANDS],
    numel: usize,
}

/// An operand: its strides and its offset for the shape of the plan, in elements, and the size of an element in bytes; 1 for
/// positions that count elements.
#[derive(Clone, Copy)]
pub(crate) struct PlanOperand<'a> {
    pub strides: &'a [usize],
    pub offset: usize,
    pub size: usize,
}

impl Plan {
    /// Returns the plan that visits elements in the memory order of a dense layout, or of its shape.
    pub(crate) fn new(order: &Layout, operands: &[PlanOperand<'_>]) -> Self {
        debug_assert!(operands.len() <= MAX_OPERANDS, "{} operands", operands.len());
        let numel = order.numel();
        let mut starts = [0; MAX_OPERANDS];
        // Without elements the offset is arbitrary, and may be beyond the memory.
        if numel > 0 {
            for (start, operand) in starts.iter_mut().zip(operands) {
                *start = operand.offset * operand.size;
            }
        }
        let mut plan = Plan { outer: Vec::new(), run: ONE, starts, numel };
        let mut add = |dim: usize| {
            let size = order.shape.get(dim).copied().unwrap_or(1);
            if size == 1 {
                return;
            }
            let mut steps = [0; MAX_OPERANDS];
            for (step, operand) in steps.iter_mut().zip(operands) {
                *step = operand.strides.get(dim).copied().unwrap_or(0) * operand.size;
            }
            plan.push(Dim { size, steps });
        };
        match numel {
            0 => {}
            _ if order.is_contiguous() => (0..order.shape.len()).for_each(add),
            _ => order.memory_order().into_iter().for_each(&mut add),
        }
        plan
    }

    /// Adds a dimension inside of the others. Joins it with the previous one if all operands have no gap between them.
    fn push(&mut self, dim: Dim) {
        let previous = self.run;
        if previous == ONE {
            self.run = dim;
            return;
        }
        let is_joined = previous
            .steps
            .iter()
            .zip(dim.steps)
            .all(|(&step, inner)| inner.checked_mul(dim.size) == Some(step));
        if is_joined {
            self.run = Dim { size: previous.size * dim.size, steps: dim.steps };
        } else {
            self.outer.push(previous);
            self.run = dim;
        }
    }

    /// Returns the number of elements.
    pub(crate) fn numel(&self) -> usize {
        self.numel
    }

    /// Returns the distance in bytes between two elements of a run, of each operand.
    pub(crate) fn steps(&self) -> [usize; MAX_OPERANDS] {
        self.run.steps
    }

    /// Iterates over the size and the steps in bytes of each dimension, from the outermost to the run.
    pub(super) fn dims(&self) -> impl Iterator<Item = (usize, [usize; MAX_OPERANDS])> {
        self.outer.iter().chain([&self.run]).map(|dim| (dim.size, dim.steps))
    }

    /// Returns the plan of a part of dimension `dim`, in which the first operand begins with this part.
    pub(super) fn part(&self, dim: usize, part: Range<usize>) -> Self {
        let mut plan = self.clone();
        let narrowed = plan.outer.get_mut(dim).unwrap_or(&mut plan.run);
        plan.numel = plan.numel / narrowed.size.max(1) * part.len();
        narrowed.size = part.len();
        for (start, step) in plan.starts.iter_mut().zip(narrowed.steps).skip(1) {
            *start += part.start * step;
        }
        plan
    }

    /// Returns the number of bytes that an operand needs from the start of its storage on.
    pub(super) fn required_bytes(&self, operand: usize, size: usize) -> usize {
        if self.numel == 0 {
            return 0;
        }
        let of = |dim: &Dim| dim.steps.get(operand).map_or(0, |step| (dim.size - 1).saturating_mul(*step));
        let start = self.starts.get(operand).copied().unwrap_or(0);
        let dims = self.outer.iter().chain([&self.run]).map(of);
        dims.fold(start.saturating_add(size), usize::saturating_add)
    }

    /// Returns the number of elements of a memory up to the last of `length` elements from each position of an operand on.
    /// Positions count elements.
    pub(crate) fn end(&self, operand: usize, length: usize) -> usize {
        if length == 0 { 0 } else { self.required_bytes(operand, length) }
    }

    /// Returns the positions of an element, which is numbered in the order of the plan.
    pub(crate) fn positions(&self, element: usize) -> [usize; MAX_OPERANDS] {
        debug_assert!(element < self.numel, "element {element} of {}", self.numel);
        let (mut at, mut rest) = (self.starts, element);
        for dim in std::iter::once(&self.run).chain(self.outer.iter().rev()) {
            advance(&mut at, dim, rest % dim.size);
            rest /= dim.size;
        }
        at
    }

    /// Calls `run` with the positions in bytes of the first elements of each run of a range of elements, and the number of
    /// its elements. Elements are numbered in the order of the plan. The first and the last run may be parts.
    pub(crate) fn for_each_run(
        &self,
        elements: Range<usize>,
        run: &mut dyn FnMut([usize; MAX_OPERANDS], usize),
    ) {
        debug_assert!(elements.end <= self.numel, "{elements:?} of {}", self.numel);
        let mut left = elements.len();
        if left == 0 {
            return;
        }
        let (mut row, column) = (elements.start / self.run.size, elements.start % self.run.size);
        // The index in each outer dimension, the outermost first.
        let mut indices = vec![0; self.outer.len()];
        let mut at = self.starts;
        for (dim, index) in self.outer.iter().zip(&mut indices).rev() {
            *index = row % dim.size;
            row /= dim.size;
            advance(&mut at, dim, *index);
        }
        let mut first = at;
        advance(&mut first, &self.run, column);
        let mut count = left.min(self.run.size - column);
        loop {
            run(first, count);
            left -= count;
            if left == 0 {
                return;
            }
            // An odometer: the innermost dimension that is not at its end advances, and those inside of it begin anew.
            for (dim, index) in self.outer.iter().zip(&mut indices).rev() {
                *index += 1;
                if *index < dim.size {
                    advance(&mut at, dim, 1);
                    break;
                }
                *index = 0;
                for (position, step) in at.iter_mut().zip(dim.steps) {
                    *position -= step * (dim.size - 1);
                }
            }
            first = at;
            count = left.min(self.run.size);
        }
    }
}

/// How an operand continues from one row to the next, which is along the dimension around the runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Continuation {
    /// The next row begins where this one ends.
    WithoutGap,
    /// The next row consists of the same elements.
    SameRow,
    /// Each row is one element everywhere.
    SameElement,
}

/// The size of a cache line in bytes.
const LINE: usize = 64;

/// Several runs of the same number of elements.
pub(super) struct Runs {
    /// The positions of the first elements of the first run, in bytes.
    pub(super) positions: [usize; MAX_OPERANDS],
    /// The distances between the elements of a run.
    pub(super) steps: [usize; MAX_OPERANDS],
    /// The number of elements of a run.
    pub(super) count: usize,
    /// The number of runs.
    pub(super) rows: usize,
    /// The distances between the runs.
    pub(super) row_steps: [usize; MAX_OPERANDS],
}

impl Runs {
    /// Returns part of a run.
    pub(super) fn part(&self, row: usize, elements: Range<usize>) -> Self {
        let mut positions = self.positions;
        for (position, (row_step, step)) in positions.iter_mut().zip(self.row_steps.iter().zip(self.steps)) {
            *position += row * row_step + elements.start * step;
        }
        Runs { positions, count: elements.len(), rows: 1, ..*self }
    }
}

impl Plan {
    /// Returns whether each element of a run of an operand is in another cache line, which elements of the next runs share:
    /// as if it was transposed.
    fn crosses_lines(&self) -> bool {
        let Some(outer) = self.outer.last() else { return false };
        let mut steps = self.run.steps.iter().zip(outer.steps);
        steps.any(|(&step, next)| step >= LINE && next != 0 && next < LINE)
    }

    /// Returns whether runs are so short that calls for each would take most of the time, and there are many.
    fn has_short_runs(&self) -> bool {
        const SHORT: usize = 8;
        self.run.size <= SHORT && self.outer.last().is_some_and(|outer| outer.size >= 4 * SHORT)
    }

    /// Returns the number of elements of a run, and of runs along the dimension around them, if there is one.
    pub(super) fn rows(&self) -> Option<(usize, usize)> {
        self.outer.last().map(|outer| (self.run.size, outer.size))
    }

    /// Returns how each operand continues from one run to the next; `None` if one does so in another way.
    pub(super) fn continuations(&self) -> Option<[Continuation; MAX_OPERANDS]> {
        let outer = self.outer.last()?;
        let mut all = [Continuation::WithoutGap; MAX_OPERANDS];
        for (continuation, (&step, row_step)) in all.iter_mut().zip(self.run.steps.iter().zip(outer.steps)) {
            *continuation = match (step, row_step) {
                _ if step.checked_mul(self.run.size) == Some(row_step) => Continuation::WithoutGap,
                (_, 0) => Continuation::SameRow,
                (0, _) => Continuation::SameElement,
                _ => return None,
            };
        }
        Some(all)
    }

    /// Calls `run` with runs that make up a range of elements, like [`for_each_run`](Plan::for_each_run), but with up to `most`
    /// runs at once. If `most` is 1, they are in an order that uses the caches well: several runs at once if they use the same
    /// cache lines, and of short runs the elements with the same index are a run.
    pub(super) fn for_each_run_in_blocks(
        &self,
        elements: Range<usize>,
        most: usize,
        run: &mut dyn FnMut(&Runs),
    ) {
        /// More runs than elements share a line: the next lines of a page are used while its address is in the cache of the
        /// memory management unit.
        const CROSSING: usize = 64;
        /// The number of short runs whose elements fit the L1 cache.
        const ACROSS: usize = 512;
        let is_across = most == 1 && self.has_short_runs();
        let most = match most {
            1 if is_across => ACROSS,
            1 if self.crosses_lines() => CROSSING,
            _ => most,
        };
        self.for_each_rows(elements, most, &mut |mut runs| {
            if !is_across || runs.count < self.run.size {
                return run(&runs);
            }
            (runs.steps, runs.count, runs.rows) = (runs.row_steps, runs.rows, 1);
            for _ in 0..self.run.size {
                run(&runs);
                advance(&mut runs.positions, &self.run, 1);
            }
        });
    }

    /// Calls `run` with whole runs of a range of elements, up to `most` at once, and with the parts of runs at its ends.
    pub(super) fn for_each_rows(&self, elements: Range<usize>, most: usize, run: &mut dyn FnMut(Runs)) {
        let (size, steps) = (self.run.size, self.run.steps);
        let around = self.outer.last().copied().unwrap_or(ONE);
        let mut run = |positions, count, rows| {
            run(Runs { positions, steps, count, rows, row_steps: around.steps });
        };
        let whole = elements.start.div_ceil(size)..elements.end / size;
        if most == 1 || whole.is_empty() {
            return self.for_each_run(elements, &mut |at, count| run(at, count, 1));
        }
        self.for_each_run(elements.start..whole.start * size, &mut |at, count| run(at, count, 1));
        let mut number = whole.start;
        while number < whole.end {
            let rows = (around.size - number % around.size).min(most).min(whole.end - number);
            run(self.positions(number * size), size, rows);
            number += rows;
        }
        self.for_each_run(whole.end * size..elements.end, &mut |at, count| run(at, count, 1));
    }
}

fn advance(positions: &mut [usize; MAX_OPERANDS], dim: &Dim, by: usize) {
    for (position, step) in positions.iter_mut().zip(dim.steps) {
        *position += step * by;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operand(strides: &[usize], offset: usize) -> PlanOperand<'_> {
        PlanOperand { strides, offset, size: 4 }
    }

    fn runs(plan: &Plan, elements: Range<usize>) -> Vec<([usize; 2], usize)> {
        let mut runs = Vec::new();
        plan.for_each_run(elements, &mut |[a, b, ..], count| runs.push(([a, b], count)));
        runs
    }

    #[test]
    fn dimensions_without_gaps_are_joined() {
        let order = Layout::contiguous(&[2, 1, 3, 4]);
        let plan = Plan::new(&order, &[operand(&[12, 12, 4, 1], 0), operand(&[12, 0, 4, 1], 5)]);
        assert_eq!(runs(&plan, 0..24), [([0, 20], 24)]);
        assert_eq!((plan.steps()[..2].to_vec(), plan.required_bytes(1, 4)), (vec![4, 4], 116));
    }

    #[test]
    fn every_range_visits_its_elements_in_order() {
        let order = Layout { shape: vec![2, 3, 4], strides: vec![1, 8, 2], offset: 0 };
        let shapes = [
            (Layout::contiguous(&[2, 3, 4]), [[12, 4, 1], [1, 8, 2]]),
            (Layout::contiguous(&[2, 3, 4]), [[12, 4, 1], [0, 5, 1]]),
            (order, [[1, 8, 2], [0, 5, 1]]),
        ];
        for (order, [own, other]) in shapes {
            let plan = Plan::new(&order, &[operand(&own, 0), operand(&other, 3)]);
            let all: Vec<[usize; 2]> = elements(&plan, 0..24);
            // In the order of memory of the first operand.
            assert_eq!(
                all.iter().map(|[at, _]| *at).collect::<Vec<_>>(),
                (0..24).map(|i| 4 * i).collect::<Vec<_>>()
            );
            for start in 0..=24 {
                for end in start..=24 {
                    assert_eq!(elements(&plan, start..end), all[start..end]);
                }
            }
            let single =
                |element| -> [usize; 2] { std::array::from_fn(|operand| plan.positions(element)[operand]) };
            assert_eq!((0..24).map(single).collect::<Vec<_>>(), all);
        }
    }

    fn elements(plan: &Plan, range: Range<usize>) -> Vec<[usize; 2]> {
        let [step, other, ..] = plan.steps();
        let of_run =
            |([a, b], count): ([usize; 2], usize)| (0..count).map(move |i| [a + i * step, b + i * other]);
        runs(plan, range).into_iter().flat_map(of_run).collect()
    }

    #[test]
    fn blocks_visit_the_elements_of_each_range_once() {
        let transposed =
            Plan::new(&Layout::contiguous(&[40, 300]), &[operand(&[300, 1], 0), operand(&[1, 40], 2)]);
        let short = Plan::new(
            &Layout::contiguous(&[4, 1000, 3]),
            &[operand(&[3000, 3, 1], 0), operand(&[0, 0, 1], 2)],
        );
        assert!(transposed.crosses_lines() && short.has_short_runs());
        for plan in [transposed, short] {
            let ranges = [0..12_000, 7..11_990, 250..900, 299..301, 5..9, 3..6, 4..5];
            for (range, most) in ranges.into_iter().flat_map(|range| [(range.clone(), 1), (range, 5)]) {
                let mut visited = Vec::new();
                plan.for_each_run_in_blocks(range.clone(), most, &mut |runs| {
                    for row in 0..runs.rows {
                        let Runs { positions: [a, b, ..], steps: [step, other, ..], count, .. } =
                            runs.part(row, 0..runs.count);
                        visited.extend((0..count).map(|i| [a + i * step, b + i * other]));
                    }
                });
                visited.sort_unstable();
                let mut expected = elements(&plan, range);
                expected.sort_unstable();
                assert_eq!(visited, expected);
            }
        }
    }

    #[test]
    fn part_narrows_one_dimension_of_the_sources() {
        let order = Layout::contiguous(&[4, 3]);
        let plan = Plan::new(&order, &[operand(&[3, 1], 0), operand(&[1, 8], 5)]);
        let dims: Vec<_> = plan.dims().map(|(size, [own, other, ..])| (size, own / 4, other / 4)).collect();
        assert_eq!(dims, [(4, 3, 1), (3, 1, 8)]);
        let positions = |plan: Plan| -> Vec<[usize; 2]> {
            elements(&plan, 0..plan.numel()).into_iter().map(|at| at.map(|bytes| bytes / 4)).collect()
        };
        assert_eq!(positions(plan.part(0, 3..4)), [[0, 8], [1, 16], [2, 24]]);
        assert_eq!(positions(plan.part(1, 1..2)), [[0, 13], [3, 14], [6, 15], [9, 16]]);
    }

    #[test]
    fn shapes_without_dimensions_have_one_element_and_empty_ones_none() {
        let plan = Plan::new(&Layout::contiguous(&[]), &[operand(&[], 0), operand(&[], 7)]);
        assert_eq!((plan.numel(), runs(&plan, 0..1)), (1, vec![([0, 28], 1)]));
        let empty =
            Plan::new(&Layout::contiguous(&[3, 0]), &[operand(&[1, 1], 0), operand(&[1, 1], usize::MAX)]);
        assert_eq!((empty.numel(), runs(&empty, 0..0), empty.required_bytes(1, 4)), (0, vec![], 0));
    }
}
