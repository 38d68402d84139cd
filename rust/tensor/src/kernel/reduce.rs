//! One result for many elements.

use super::Plan;
use super::launch::build_from;
use crate::room::filled;
use crate::{Element, Result, Tensor};

/// The layout of a reduction: strides of the result (0 where reduced) for the shape of the source.
fn kept_strides(shape: &[usize], reduced: &[bool]) -> (Vec<usize>, usize) {
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

/// Adds up the dimensions marked in `reduced`; `kept` is the result's shape.
pub(crate) fn sum<T: Element>(source: &Tensor, reduced: &[bool], kept: &[usize]) -> Result<Tensor> {
    let layout = source.layout();
    let (strides, count) = kept_strides(&layout.shape, reduced);
    let plan = Plan::new(&layout.shape, [(&layout.strides, layout.offset), (&strides, 0)]);
    if T::DTYPE.is_floating_point() {
        build_from("sum", kept, source, move |out: &mut [T], data: &[T]| {
            let mut sums = filled(T::Sum::default(), count)?;
            add_up(&mut sums, data, &plan);
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum.cast());
            Ok(())
        })
    } else {
        build_from("sum", kept, source, move |out: &mut [T::Sum], data: &[T]| {
            add_up(out, data, &plan);
            Ok(())
        })
    }
}

/// Adds the elements to `sums`, which are zero.
fn add_up<T: Element>(sums: &mut [T::Sum], data: &[T], plan: &Plan<2>) {
    let [step, step_out] = plan.steps;
    plan.rows(|[start, start_out]| {
        let values = data.get(start..).unwrap_or_default();
        let out = sums.get_mut(start_out..).unwrap_or_default();
        match (step, step_out) {
            (1, 0) => {
                if let Some(total) = out.first_mut() {
                    *total = total.plus(sum_slice(values.get(..plan.length).unwrap_or_default()));
                }
            }
            (1, 1) => {
                let pairs = out.iter_mut().zip(values).take(plan.length);
                pairs.for_each(|(total, value)| *total = total.plus(value.cast()));
            }
            (_, 0) => {
                if let Some(total) = out.first_mut() {
                    let values = values.iter().step_by(step.max(1)).take(plan.length);
                    // A step of 0 repeats one value.
                    if step == 0 {
                        let one = data.get(start).copied().unwrap_or_default();
                        let times = T::Sum::from_i64(i64::try_from(plan.length).unwrap_or(i64::MAX));
                        *total = total.plus(one.cast::<T::Sum>().times(times));
                    } else {
                        values.for_each(|value| *total = total.plus(value.cast()));
                    }
                }
            }
            _ => {
                let mut at = 0;
                for total in out.iter_mut().step_by(step_out).take(plan.length) {
                    *total = total.plus(values.get(at).copied().unwrap_or_default().cast());
                    at += step;
                }
            }
        }
    });
}

/// Eight sums side by side: they fit a vector register, and rounding errors stay apart.
fn sum_slice<T: Element>(values: &[T]) -> T::Sum {
    let mut sums = [T::Sum::default(); 8];
    let chunks = values.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum = sum.plus(value.cast());
        }
    }
    let sums = sums.into_iter().chain(rest.iter().map(|value| value.cast()));
    sums.fold(T::Sum::default(), T::Sum::plus)
}

/// Folds each group of a reduction into one element, in row-major order of the group.
pub(crate) fn fold<T: Element>(
    op: &'static str,
    source: &Tensor,
    reduced: &[bool],
    kept: &[usize],
    f: impl Fn(T, T) -> T + Send + Sync + 'static,
) -> Result<Tensor> {
    let layout = source.layout();
    let (strides, count) = kept_strides(&layout.shape, reduced);
    let plan = Plan::new(&layout.shape, [(&layout.strides, layout.offset), (&strides, 0)]);
    build_from(op, kept, source, move |out: &mut [T], data: &[T]| {
        let [step, step_out] = plan.steps;
        let mut results: Vec<Option<T>> = filled(None, count)?;
        plan.rows(|[start, start_out]| {
            for i in 0..plan.length {
                let value = data.get(start + i * step).copied().unwrap_or_default();
                if let Some(slot) = results.get_mut(start_out + i * step_out) {
                    *slot = Some(slot.map_or(value, |so_far| f(so_far, value)));
                }
            }
        });
        out.iter_mut().zip(&results).for_each(|(o, r)| *o = r.unwrap_or_default());
        Ok(())
    })
}

/// `f` of each lane of `length` elements of a contiguous tensor, into as many lanes of `width`.
pub(crate) fn lanes<T: Element, U: Element>(
    op: &'static str,
    source: &Tensor,
    length: usize,
    shape: &[usize],
    width: usize,
    f: impl Fn(&[T], &mut [U]) + Send + Sync + 'static,
) -> Result<Tensor> {
    let (start, count) = (source.storage_offset(), source.numel());
    build_from(op, shape, source, move |out: &mut [U], data: &[T]| {
        let values = data.get(start..start.saturating_add(count)).unwrap_or_default();
        let lanes = values.chunks_exact(length.max(1));
        lanes.zip(out.chunks_exact_mut(width.max(1))).for_each(|(lane, out)| f(lane, out));
        Ok(())
    })
}
