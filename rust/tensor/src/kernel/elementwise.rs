//! One result for each element.

use super::Plan;
use super::launch::{Nothing, beside, build_as, build_from, change, place_of};
use crate::dtype::dispatch;
use crate::shape::Layout;
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

/// A walk over operands in the order in which the elements of a dense layout are in memory.
fn in_memory_order<const N: usize>(out: &Layout, operands: [(&[usize], usize); N]) -> Plan<N> {
    if out.is_contiguous() {
        return Plan::new(&out.shape, operands);
    }
    let order = out.order();
    let ordered = |values: &[usize]| -> Vec<usize> {
        order.iter().map(|&dim| values.get(dim).copied().unwrap_or(0)).collect()
    };
    let strides = operands.map(|(strides, _)| ordered(strides));
    let mut starts = operands.map(|(_, start)| start).into_iter();
    Plan::new(
        &ordered(&out.shape),
        strides.each_ref().map(|strides| (strides.as_slice(), starts.next().unwrap_or(0))),
    )
}

/// `f` of each element, as a new tensor with the order of dimensions that the source has.
pub(crate) fn map<T: Element, U: Element>(
    op: &'static str,
    source: &Tensor,
    f: impl Fn(T) -> U + Send + Sync + 'static,
) -> Result<Tensor> {
    map_as(op, source, Layout::of_result(source.shape(), &[source.layout()]), f)
}

/// `f` of each element, as a new tensor of a dense layout.
pub(crate) fn map_as<T: Element, U: Element>(
    op: &'static str,
    source: &Tensor,
    layout: Layout,
    f: impl Fn(T) -> U + Send + Sync + 'static,
) -> Result<Tensor> {
    let plan = in_memory_order(&layout, [(source.strides(), source.storage_offset())]);
    build_as(
        op,
        source.place(),
        layout,
        [Some(source), None],
        move |out: &mut [U], data: &[T], _: &[Nothing]| {
            let mut rows = out.chunks_mut(plan.length.max(1));
            let [step] = plan.steps;
            plan.rows(|[start]| {
                if let Some(row) = rows.next() {
                    map_row(row, &Run::new(data, start, step, plan.length), &f);
                }
            });
            Ok(())
        },
    )
}

/// `f` of each pair of elements, both operands broadcast to `shape`, as a new tensor with the order of dimensions that
/// the operands have.
pub(crate) fn zip<A: Element, B: Element, U: Element>(
    op: &'static str,
    shape: &[usize],
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(A, B) -> U + Send + Sync + 'static,
) -> Result<Tensor> {
    let place = place_of(a, b);
    let (a, b) = (beside(op, place, a)?, beside(op, place, b)?);
    let layout = Layout::of_result(shape, &[a.layout(), b.layout()]);
    let strides = (a.layout().strides_as(shape), b.layout().strides_as(shape));
    let plan = in_memory_order(&layout, [(&strides.0, a.storage_offset()), (&strides.1, b.storage_offset())]);
    build_as(op, place, layout, [Some(&a), Some(&b)], move |out: &mut [U], data_a: &[A], data_b: &[B]| {
        let mut rows = out.chunks_mut(plan.length.max(1));
        let [step_a, step_b] = plan.steps;
        plan.rows(|[start_a, start_b]| {
            if let Some(row) = rows.next() {
                let run_a = Run::new(data_a, start_a, step_a, plan.length);
                let run_b = Run::new(data_b, start_b, step_b, plan.length);
                zip_row(row, &run_a, &run_b, &f);
            }
        });
        Ok(())
    })
}

/// Replaces each element of `target` by `f` of it and the element of `source`, which broadcasts to it.
/// Raises no version: the caller does.
pub(crate) fn update<A: Element, B: Element>(
    op: &'static str,
    target: &Tensor,
    source: &Tensor,
    f: impl Fn(A, B) -> A + Send + Sync + 'static,
) -> Result<()> {
    let source = beside(op, target.place(), source)?;
    if target.storage_handle().overlaps(source.storage_handle()) {
        // Both show the same memory: what is read must not change while it is written.
        let copy = map(op, &source, |value: B| value)?;
        return update(op, target, &copy, f);
    }
    let layout = target.layout();
    let strides = source.layout().strides_as(&layout.shape);
    let plan =
        Plan::new(&layout.shape, [(&layout.strides, layout.offset), (&strides, source.storage_offset())]);
    change(op, target, &source, move |data: &mut [A], data_b: &[B]| {
        let [step, step_b] = plan.steps;
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
    })
}

/// The elements as another type; the same tensor if it has that type already.
pub(crate) fn cast(source: &Tensor, dtype: DType) -> Result<Tensor> {
    if source.dtype() == dtype {
        return Ok(source.clone());
    }
    dispatch!(source.dtype(), T => dispatch!(dtype, U => map_as("to", source, source.layout().preserved(), |value: T| value.cast::<U>())))
}

/// The elements of `source` added up in a new tensor of `room` elements, at the places that `layout` gives them.
pub(crate) fn scatter_add<T: Element>(room: usize, layout: &Layout, source: &Tensor) -> Result<Tensor> {
    let strides = source.layout().strides_as(&layout.shape);
    let plan =
        Plan::new(&layout.shape, [(&layout.strides, layout.offset), (&strides, source.storage_offset())]);
    build_from("as_strided", &[room], source, move |target: &mut [T], data: &[T]| {
        let [step, step_b] = plan.steps;
        plan.rows(|[start, start_b]| {
            let run = Run::new(data, start_b, step_b, plan.length);
            let places = std::iter::successors(Some(start), |&place| Some(place + step)).take(plan.length);
            for (place, value) in places.zip(run.values()) {
                if let Some(out) = target.get_mut(place) {
                    *out = out.plus(value);
                }
            }
        });
        Ok(())
    })
}
