//! One result for each element.

use super::Plan;
use crate::dtype::dispatch;
use crate::shape::Layout;
use crate::storage::Storage;
use crate::{DType, Element, Result, Tensor};

/// One row of an operand.
enum Run<'a, T> {
    Slice(&'a [T]),
    Constant(T),
    Strided(&'a [T], usize),
}

impl<'a, T: Element> Run<'a, T> {
    fn new(data: &'a [T], start: usize, step: usize, length: usize) -> Self {
        match step {
            1 => Run::Slice(data.get(start..start.saturating_add(length)).unwrap_or_default()),
            0 => Run::Constant(data.get(start).copied().unwrap_or_default()),
            _ => Run::Strided(data.get(start..).unwrap_or_default(), step),
        }
    }

    fn values(&self) -> Box<dyn Iterator<Item = T> + '_> {
        match self {
            Run::Slice(values) => Box::new(values.iter().copied()),
            Run::Constant(value) => Box::new(std::iter::repeat(*value)),
            Run::Strided(values, step) => Box::new(values.iter().step_by(*step).copied()),
        }
    }
}

fn map_row<T: Element, U: Element>(row: &mut [U], source: &Run<'_, T>, f: impl Fn(T) -> U) {
    match source {
        Run::Slice(values) => row.iter_mut().zip(*values).for_each(|(out, &v)| *out = f(v)),
        Run::Constant(value) => row.fill(f(*value)),
        Run::Strided(values, step) => {
            row.iter_mut().zip(values.iter().step_by(*step)).for_each(|(out, &v)| *out = f(v));
        }
    }
}

fn zip_row<A: Element, B: Element, U: Element>(
    row: &mut [U],
    a: &Run<'_, A>,
    b: &Run<'_, B>,
    f: impl Fn(A, B) -> U,
) {
    match (a, b) {
        (Run::Slice(a), Run::Slice(b)) => {
            row.iter_mut().zip(*a).zip(*b).for_each(|((out, &a), &b)| *out = f(a, b));
        }
        (_, Run::Constant(b)) => map_row(row, a, |a| f(a, *b)),
        (Run::Constant(a), _) => map_row(row, b, |b| f(*a, b)),
        _ => row.iter_mut().zip(a.values().zip(b.values())).for_each(|(out, (a, b))| *out = f(a, b)),
    }
}

/// `f` of each element, as a new contiguous tensor.
pub(crate) fn map<T: Element, U: Element>(source: &Tensor, f: impl Fn(T) -> U) -> Result<Tensor> {
    let layout = source.layout();
    let plan = Plan::new(&layout.shape, [(&layout.strides, layout.offset)]);
    Tensor::build(&layout.shape, |out: &mut [U]| {
        let mut rows = out.chunks_mut(plan.length.max(1));
        let [step] = plan.steps;
        source.storage_handle().with(|data: &[T]| {
            plan.rows(|[start]| {
                if let Some(row) = rows.next() {
                    map_row(row, &Run::new(data, start, step, plan.length), &f);
                }
            });
        });
    })
}

/// `f` of each pair of elements, both operands broadcast to `shape`, as a new contiguous tensor.
pub(crate) fn zip<A: Element, B: Element, U: Element>(
    shape: &[usize],
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(A, B) -> U,
) -> Result<Tensor> {
    let strides = (a.layout().strides_as(shape), b.layout().strides_as(shape));
    let plan = Plan::new(shape, [(&strides.0, a.storage_offset()), (&strides.1, b.storage_offset())]);
    Tensor::build(shape, |out: &mut [U]| {
        let mut rows = out.chunks_mut(plan.length.max(1));
        let [step_a, step_b] = plan.steps;
        Storage::with_pair(a.storage_handle(), b.storage_handle(), |data_a: &[A], data_b: &[B]| {
            plan.rows(|[start_a, start_b]| {
                if let Some(row) = rows.next() {
                    let run_a = Run::new(data_a, start_a, step_a, plan.length);
                    let run_b = Run::new(data_b, start_b, step_b, plan.length);
                    zip_row(row, &run_a, &run_b, &f);
                }
            });
        });
    })
}

/// Replaces each element of `target` by `f` of it and the element of `source`, which broadcasts to it.
/// Raises no version: the caller does.
pub(crate) fn update<A: Element, B: Element>(
    target: &Tensor,
    source: &Tensor,
    f: impl Fn(A, B) -> A,
) -> Result<()> {
    let layout = target.layout();
    let strides = source.layout().strides_as(&layout.shape);
    let plan =
        Plan::new(&layout.shape, [(&layout.strides, layout.offset), (&strides, source.storage_offset())]);
    let [step, step_b] = plan.steps;
    let write = |data: &mut [A], data_b: &[B]| {
        plan.rows(|[start, start_b]| {
            let run = Run::new(data_b, start_b, step_b, plan.length);
            let row = data.get_mut(start..).unwrap_or_default();
            match (step, &run) {
                (1, Run::Slice(values)) => {
                    row.iter_mut().zip(*values).for_each(|(out, &b)| *out = f(*out, b));
                }
                (1, Run::Constant(b)) => row.iter_mut().take(plan.length).for_each(|out| *out = f(*out, *b)),
                _ => {
                    let places = row.iter_mut().step_by(step.max(1)).take(plan.length);
                    places.zip(run.values()).for_each(|(out, b)| *out = f(*out, b));
                }
            }
        });
    };
    if Storage::with_target(target.storage_handle(), source.storage_handle(), write).is_some() {
        return Ok(());
    }
    // Both show the same memory: what is read must not change while it is written.
    let copy = map(source, |value: B| value)?;
    update(target, &copy, f)
}

/// The elements as another type; the same tensor if it has that type already.
pub(crate) fn cast(source: &Tensor, dtype: DType) -> Result<Tensor> {
    if source.dtype() == dtype {
        return Ok(source.clone());
    }
    dispatch!(source.dtype(), T => dispatch!(dtype, U => map(source, |value: T| value.cast::<U>())))
}

/// Rows of `length` elements of a contiguous tensor, taken at `positions` (counted in rows).
pub(crate) fn gather<T: Element>(source: &Tensor, positions: &[usize], length: usize, out: &mut [T]) {
    let offset = source.storage_offset();
    source.storage_handle().with(|data: &[T]| {
        let rows = data.get(offset..).unwrap_or_default();
        for (row, &position) in out.chunks_exact_mut(length.max(1)).zip(positions) {
            let start = position.saturating_mul(length);
            if let Some(values) = rows.get(start..start.saturating_add(length)) {
                row.copy_from_slice(values);
            }
        }
    });
}

/// Adds each element of `source` to the place in `target` (a whole memory) that `layout` gives it.
pub(crate) fn scatter_add<T: Element>(target: &mut [T], layout: &Layout, source: &Tensor) {
    let strides = source.layout().strides_as(&layout.shape);
    let plan =
        Plan::new(&layout.shape, [(&layout.strides, layout.offset), (&strides, source.storage_offset())]);
    let [step, step_b] = plan.steps;
    source.storage_handle().with(|data: &[T]| {
        plan.rows(|[start, start_b]| {
            let run = Run::new(data, start_b, step_b, plan.length);
            let places = std::iter::successors(Some(start), |&place| Some(place + step)).take(plan.length);
            for (place, value) in places.zip(run.values()) {
                if let Some(out) = target.get_mut(place) {
                    *out = out.plus(value);
                }
            }
        });
    });
}
