//! Reads and writes of the elements that an index tensor addresses along one dimension.

use std::ops::Range;
use std::sync::Arc;

use super::positions::{IndexRule, Order};
use crate::iterate::parts::{part, part_mut, rest, take};
use crate::iterate::{
    Plan, PlanOperand, THREADED_ELEMENTS, TensorPart, for_each, for_each_tile, launch_binary,
    launch_inplace_from, launch_nullary, threads_on,
};
use crate::layout::{Layout, contiguous_strides, signed};
use crate::loops::{IndexedRun, vectorized};
use crate::storage::{AtomicSlice, Placement, TensorOptions};
use crate::{DType, Element, Result, Tensor};

/// The index of an element that is neither read nor written.
pub(crate) const SKIPPED: i64 = -1;

/// The indices that an operation accepts along a dimension.
#[derive(Clone, Copy)]
pub(crate) struct IndexBounds {
    pub rule: IndexRule,
    /// The indexed dimension.
    pub dim: usize,
    /// The size of the dimension.
    pub size: usize,
}

impl IndexBounds {
    /// Returns the index as it counts from the front.
    fn check(self, index: i64) -> Result<i64> {
        let size = signed(self.size);
        let counted = if self.rule.wraps && index < 0 { index.saturating_add(size) } else { index };
        if (0..size).contains(&counted) { Ok(counted) } else { Err((self.rule.error)(self, index)) }
    }

    /// Writes indices as they count from the front, combined with those of the dimensions `before` if there are any. Returns
    /// false if some are missing or out of bounds, or if indices may be skipped.
    fn check_all(self, given: &[i64], before: Option<&[i64]>, out: &mut [i64]) -> bool {
        let size = signed(self.size);
        let wraps = if self.rule.wraps { size } else { 0 };
        let is_given = self.rule.skipped.is_none() && given.len() == out.len();
        vectorized(
            #[inline(always)]
            move || {
                let mut is_checked = is_given;
                for (out, &index) in out.iter_mut().zip(given) {
                    // Without branches, so that the compiler vectorizes it.
                    let counted = index.wrapping_add(if index < 0 { wraps } else { 0 });
                    is_checked &= (0..size).contains(&counted);
                    *out = counted;
                }
                if let Some(before) = before {
                    is_checked &= before.len() == out.len();
                    for (out, &outer) in out.iter_mut().zip(before) {
                        is_checked &= outer >= 0;
                        *out = outer.wrapping_mul(size).wrapping_add(*out);
                    }
                }
                is_checked
            },
        )
    }
}

/// Returns the order in which the elements of a shape are visited, of operands with these strides and offsets. Positions
/// count elements.
fn plan_of(shape: &[usize], operands: &[(&[usize], usize)]) -> Plan {
    let operands: Vec<_> =
        operands.iter().map(|&(strides, offset)| PlanOperand { strides, offset, size: 1 }).collect();
    Plan::new(&Layout::contiguous(shape), &operands)
}

/// Returns an element of an index, as [`item`](crate::iterate::parts::item) does; beyond the memory it is [`SKIPPED`].
fn element(index: &[i64], at: usize) -> i64 {
    debug_assert!(at < index.len(), "element {at} of {}", index.len());
    index.get(at).copied().unwrap_or(SKIPPED)
}

/// Returns the elements of an index tensor, which is broadcast to `shape`, as they count from the front. With the
/// indices of the dimensions before, which have that shape, it counts over all these dimensions in row-major order.
///
/// On the CPU an index out of bounds is an error. On a device the error is asynchronous, and the index is [`SKIPPED`].
pub(crate) fn check_index(
    index: &Tensor,
    before: Option<&Tensor>,
    shape: &[usize],
    bounds: IndexBounds,
) -> Result<Tensor> {
    let layout = index.layout();
    let plan = plan_of(shape, &[(&layout.broadcast_strides(shape), layout.offset)]);
    let sources = [
        Some(TensorPart::up_to(index, plan.end(0, 1))),
        before.map(|before| TensorPart::contiguous(before, plan.numel())),
    ];
    let has_before = before.is_some();
    let size = signed(bounds.size);
    let kernel = move |out: &mut [i64], data: &[i64], before: &[i64]| {
        let (mut result, [step, ..], mut first) = (Ok(()), plan.steps(), 0usize);
        plan.for_each_run(0..plan.numel(), &mut |[start, ..], length| {
            let elements = first..first.saturating_add(length);
            first = elements.end;
            let row = part_mut(out, elements.start, length);
            let outer = if has_before { part(before, elements.start, length) } else { &[] };
            let given = if step == 1 { part(data, start, length) } else { &[] };
            if step == 1 && bounds.check_all(given, has_before.then_some(outer), row) {
                return;
            }
            if step == 0
                && !has_before
                && let Ok(index) = bounds.check(element(data, start))
                && bounds.rule.skipped != Some(index)
            {
                return row.fill(index);
            }
            for (number, out) in row.iter_mut().enumerate() {
                let given = element(data, start.saturating_add(number.saturating_mul(step)));
                *out = match bounds.check(given) {
                    Ok(index) if bounds.rule.skipped == Some(index) => SKIPPED,
                    Ok(index) if !has_before => index,
                    Ok(index) => match element(outer, number) {
                        SKIPPED => SKIPPED,
                        outer => outer.saturating_mul(size).saturating_add(index),
                    },
                    Err(error) => {
                        if result.is_ok() {
                            result = Err(error);
                        }
                        SKIPPED
                    }
                };
            }
        });
        result
    };
    let placement = index.placement();
    launch_binary(bounds.rule.op, placement, shape, sources, kernel)
}

/// Returns indices of the CPU on a device. Their values are fixed when this is called, also in a captured graph.
pub(crate) fn index_on_device(op: &'static str, index: &Tensor, placement: Placement) -> Result<Tensor> {
    let values = Arc::new(index.to_vec::<i64>()?);
    let options = TensorOptions { dtype: DType::Int64, placement };
    launch_nullary(op, options, index.shape(), move |out: &mut [i64]| {
        out.iter_mut().zip(values.iter()).for_each(|(out, &index)| *out = index);
    })
}

/// How the elements of a tensor correspond to those of an index: element `e` is at `base` of `e`, plus the index at
/// `index` of `e` times `step`.
pub(crate) struct IndexedLayout {
    /// The shape of the elements that are read or written.
    pub shape: Vec<usize>,
    /// The strides of the tensor in this shape: 0 in the dimensions of the index.
    pub base: Vec<usize>,
    /// The offset of the tensor.
    pub offset: usize,
    /// The stride of the tensor along the indexed dimension.
    pub step: usize,
    /// The size of the indexed dimension, which bounds each index.
    pub size: usize,
    /// The strides of the contiguous index in this shape.
    pub index: Vec<usize>,
}

impl IndexedLayout {
    /// The elements that an index of shape `wide` addresses: it replaces dimension `dim` of a tensor.
    pub fn rows(tensor: &Layout, dim: usize, wide: &[usize]) -> Self {
        /// Puts `inner` in the place of an item.
        fn replace(
            items: impl Iterator<Item = usize> + Clone,
            at: usize,
            inner: impl IntoIterator<Item = usize>,
        ) -> Vec<usize> {
            items.clone().take(at).chain(inner).chain(items.skip(at.saturating_add(1))).collect()
        }
        let (shape, strides) = (tensor.shape.iter().copied(), tensor.strides.iter().copied());
        let zeros = |count| std::iter::repeat_n(0, count);
        IndexedLayout {
            shape: replace(shape, dim, wide.iter().copied()),
            base: replace(strides, dim, zeros(wide.len())),
            offset: tensor.offset,
            step: tensor.strides.get(dim).copied().unwrap_or(0),
            size: tensor.shape.get(dim).copied().unwrap_or(1),
            index: replace(zeros(tensor.shape.len()), dim, contiguous_strides(wide)),
        }
    }

    /// The elements that an index with the dimensions of the tensor addresses: each element of the index is at its own
    /// position, but along dimension `dim`. A 0-d tensor or index has one element, and an index
    /// without elements may have other dimensions: the strides of those that the tensor does not have are 0.
    pub fn elements(tensor: &Layout, dim: usize, index: &[usize]) -> Self {
        let stride = |own: usize| tensor.strides.get(own).copied().filter(|_| own != dim).unwrap_or(0);
        IndexedLayout {
            shape: index.to_vec(),
            base: (0..index.len()).map(stride).collect(),
            offset: tensor.offset,
            step: tensor.strides.get(dim).copied().unwrap_or(0),
            size: tensor.shape.get(dim).copied().unwrap_or(1),
            index: contiguous_strides(index),
        }
    }

    /// Returns the number of elements of the tensor's memory up to the last that an index may address, in a plan whose first
    /// operand is the tensor.
    fn end(&self, plan: &Plan) -> usize {
        self.size
            .checked_sub(1)
            .map_or(0, |last| plan.end(0, last.saturating_mul(self.step).saturating_add(1)))
    }
}

/// Returns the position that an index selects, or `None` if it is [`SKIPPED`].
fn position(base: usize, index: i64, step: usize) -> Option<usize> {
    // The index was checked, so nothing wraps. The caller checks the position.
    usize::try_from(index).ok().map(|index| base.wrapping_add(index.wrapping_mul(step)))
}

/// Returns the addressed elements in a new contiguous tensor, as `torch.gather`. Skipped elements are 0.
pub(crate) fn gather_at<T: Element>(
    op: &'static str,
    source: &Tensor,
    layout: &IndexedLayout,
    index: &Tensor,
) -> Result<Tensor> {
    let operands = [(layout.base.as_slice(), layout.offset), (&layout.index, 0)];
    let (plan, step, size) = (plan_of(&layout.shape, &operands), layout.step, layout.size);
    let threads = threads_on(source.placement(), plan.numel(), THREADED_ELEMENTS);
    let sources =
        [TensorPart::up_to(source, layout.end(&plan)), TensorPart::contiguous(index, plan.end(1, 1))];
    let kernel = move |out: &mut [T], data: &[T], index: &[i64]| {
        let [base_step, index_step, ..] = plan.steps();
        for_each_tile(threads, out, &|first, mut tile| {
            let elements = first..first.saturating_add(tile.len());
            plan.for_each_run(elements, &mut |[base, at, ..], length| {
                let row = take(&mut tile, length);
                if index_step == 0 {
                    // Skipped elements have no values: they remain 0.
                    let start = position(base, element(index, at), step);
                    let values = start.and_then(|start| data.get(start..)).unwrap_or_default();
                    return read_row(row, values, base_step);
                }
                let index = part(index, at, length);
                IndexedRun { index, index_step, base, base_step, step, size, count: length }.read(data, row);
            });
        })
    };
    launch_binary(op, source.placement(), &layout.shape, sources.map(Some), kernel)
}

/// Copies values at equal distances into a row. The row remains 0 where there are none.
fn read_row<T: Element>(row: &mut [T], values: &[T], step: usize) {
    match (step, values.get(..row.len())) {
        (1, Some(values)) => row.copy_from_slice(values),
        (0, _) => row.fill(values.first().copied().unwrap_or_default()),
        _ => row.iter_mut().zip(values.iter().step_by(step)).for_each(|(out, &value)| *out = value),
    }
}

/// How `scatter` combines a value with the element that it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScatterReduce {
    /// The value replaces the element.
    Replace,
    /// The value is added.
    Add,
    /// The element is multiplied by the value.
    Multiply,
}

impl ScatterReduce {
    fn apply<T: Element>(self, old: T, value: T) -> T {
        match self {
            ScatterReduce::Replace => value,
            ScatterReduce::Add => old.plus(value),
            ScatterReduce::Multiply => old.times(value),
        }
    }
}

/// The iteration over the elements that are written, the indices, and the values.
struct Writes {
    plan: Plan,
    step: usize,
    /// The size of the indexed dimension.
    size: usize,
}

impl Writes {
    /// Returns the iteration, and the elements of the target and of the values and the index that it uses.
    fn new<'a>(
        target: &'a Tensor,
        layout: &IndexedLayout,
        index: &'a Tensor,
        values: &'a Tensor,
    ) -> (Self, TensorPart<'a>, [TensorPart<'a>; 2]) {
        let own = values.layout();
        let strides = own.broadcast_strides(&layout.shape);
        let operands = [(layout.base.as_slice(), layout.offset), (&layout.index, 0), (&strides, own.offset)];
        let plan = plan_of(&layout.shape, &operands);
        let sources =
            [TensorPart::up_to(values, plan.end(2, 1)), TensorPart::contiguous(index, plan.end(1, 1))];
        let target = TensorPart::up_to(target, layout.end(&plan));
        (Writes { plan, step: layout.step, size: layout.size }, target, sources)
    }

    /// Calls `write` with each run of some elements in row-major order, and its values, which are at equal distances.
    fn for_each<'a, T>(
        &self,
        elements: Range<usize>,
        index: &'a [i64],
        values: &'a [T],
        mut write: impl FnMut(IndexedRun<'a>, (&'a [T], usize)),
    ) {
        let [base_step, index_step, value_step, _] = self.plan.steps();
        let (step, size) = (self.step, self.size);
        self.plan.for_each_run(elements, &mut |[base, at, from, _], count| {
            let index = rest(index, at);
            let run = IndexedRun { index, index_step, base, base_step, step, size, count };
            write(run, (rest(values, from), value_step));
        });
    }

    /// Calls `write` with the position and the values of each row, if rows are contiguous and have one index each.
    fn for_each_slice<'a, T>(&self, index: &[i64], values: &'a [T], mut write: impl FnMut(usize, &'a [T])) {
        self.plan.for_each_run(0..self.plan.numel(), &mut |[base, at, from, _], length| {
            let start = position(base, element(index, at), self.step);
            let values = values.get(from..from.saturating_add(length));
            if let (Some(start), Some(values)) = (start, values) {
                write(start, values);
            }
        });
    }
}

/// Writes the values to the addressed elements of `target`. In row-major order the last of several values for one
/// element replaces it. `values` are broadcast, and share no memory with the target. The caller increments the version
/// counter.
pub(crate) fn scatter<T: Element>(
    op: &'static str,
    target: &Tensor,
    layout: &IndexedLayout,
    index: &Tensor,
    values: &Tensor,
    combine: ScatterReduce,
    order: Order,
) -> Result<()> {
    /// The number of elements from which on several threads write: about 1 ms of atomic additions.
    const THREADED: usize = 1 << 17;
    /// The number of elements that a thread takes at once.
    const PART: usize = 1 << 14;
    let (writes, memory, sources) = Writes::new(target, layout, index, values);
    let count = writes.plan.numel();
    let threads = match order {
        Order::RowMajor => 1,
        Order::Any => threads_on(target.placement(), count, THREADED),
    };
    launch_inplace_from(op, memory, sources, move |data: &mut [T], values: &[T], index: &[i64]| {
        if threads > 1 {
            let shared = AtomicSlice::new(data);
            return for_each(threads, (0..count).step_by(PART), &|first| {
                let elements = first..first.saturating_add(PART).min(count);
                writes.for_each(elements, index, values, |run, values| {
                    run.visit(values, |at, value| shared.update(at, |old| combine.apply(old, value)));
                });
                Ok(())
            });
        }
        if matches!(writes.plan.steps(), [1, 0, 1, _]) {
            writes.for_each_slice(index, values, |at, values| {
                let row = data.get_mut(at..).unwrap_or_default();
                match (combine, row.get_mut(..values.len())) {
                    (ScatterReduce::Replace, Some(row)) => row.copy_from_slice(values),
                    _ => {
                        row.iter_mut().zip(values).for_each(|(out, &value)| *out = combine.apply(*out, value))
                    }
                }
            });
            return Ok(());
        }
        writes.for_each(0..count, index, values, |run, values| match combine {
            ScatterReduce::Replace => run.write(data, values, |_, value| value),
            ScatterReduce::Add => run.write(data, values, T::plus),
            ScatterReduce::Multiply => run.write(data, values, T::times),
        });
        Ok(())
    })
}
