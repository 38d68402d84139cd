//! Reductions.

use super::StridedIter;
use super::launch::launch_unary;
use crate::fallible_alloc::try_from_elem;
use crate::{Element, Result, Tensor};

/// Returns the strides of the result for the shape of the source (0 for reduced dimensions), and the number of
/// elements of the result.
fn output_strides(shape: &[usize], reduced: &[bool]) -> (Vec<usize>, usize) {
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

/// Sums over the dimensions marked in `reduced`. `shape` is the shape of the result.
pub(crate) fn sum<T: Element>(source: &Tensor, reduced: &[bool], shape: &[usize]) -> Result<Tensor> {
    let layout = source.layout();
    let (strides, count) = output_strides(&layout.shape, reduced);
    let iter = StridedIter::new(&layout.shape, [(&layout.strides, layout.offset), (&strides, 0)]);
    if T::DTYPE.is_floating_point() {
        launch_unary("sum", shape, source, move |out: &mut [T], data: &[T]| {
            let mut sums = try_from_elem(T::Acc::default(), count)?;
            accumulate(&mut sums, data, &iter);
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum.cast());
            Ok(())
        })
    } else {
        launch_unary("sum", shape, source, move |out: &mut [T::Acc], data: &[T]| {
            accumulate(out, data, &iter);
            Ok(())
        })
    }
}

/// Adds the elements to `sums`, which are zero initially.
fn accumulate<T: Element>(sums: &mut [T::Acc], data: &[T], iter: &StridedIter<2>) {
    let [step, step_out] = iter.row_strides;
    iter.for_each_row(|[start, start_out]| {
        let values = data.get(start..).unwrap_or_default();
        let out = sums.get_mut(start_out..).unwrap_or_default();
        match (step, step_out) {
            (1, 0) => {
                if let Some(total) = out.first_mut() {
                    *total = total.plus(sum_slice(values.get(..iter.row_len).unwrap_or_default()));
                }
            }
            (1, 1) => {
                let pairs = out.iter_mut().zip(values).take(iter.row_len);
                pairs.for_each(|(total, value)| *total = total.plus(value.cast()));
            }
            (_, 0) => {
                if let Some(total) = out.first_mut() {
                    let values = values.iter().step_by(step.max(1)).take(iter.row_len);
                    // A stride of 0 repeats one value.
                    if step == 0 {
                        let one = data.get(start).copied().unwrap_or_default();
                        let times = T::Acc::from_i64(i64::try_from(iter.row_len).unwrap_or(i64::MAX));
                        *total = total.plus(one.cast::<T::Acc>().times(times));
                    } else {
                        values.for_each(|value| *total = total.plus(value.cast()));
                    }
                }
            }
            _ => {
                let mut at = 0;
                for total in out.iter_mut().step_by(step_out).take(iter.row_len) {
                    *total = total.plus(values.get(at).copied().unwrap_or_default().cast());
                    at += step;
                }
            }
        }
    });
}

/// Sums a slice with eight accumulators: they fill a vector register and reduce rounding errors.
fn sum_slice<T: Element>(values: &[T]) -> T::Acc {
    let mut sums = [T::Acc::default(); 8];
    let chunks = values.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum = sum.plus(value.cast());
        }
    }
    let sums = sums.into_iter().chain(rest.iter().map(|value| value.cast()));
    sums.fold(T::Acc::default(), T::Acc::plus)
}

/// Folds each group of reduced elements into one with `f`, in row-major order.
pub(crate) fn fold<T: Element>(
    op: &'static str,
    source: &Tensor,
    reduced: &[bool],
    shape: &[usize],
    f: impl Fn(T, T) -> T + Send + Sync + 'static,
) -> Result<Tensor> {
    let layout = source.layout();
    let (strides, count) = output_strides(&layout.shape, reduced);
    let iter = StridedIter::new(&layout.shape, [(&layout.strides, layout.offset), (&strides, 0)]);
    launch_unary(op, shape, source, move |out: &mut [T], data: &[T]| {
        let [step, step_out] = iter.row_strides;
        let mut results: Vec<Option<T>> = try_from_elem(None, count)?;
        iter.for_each_row(|[start, start_out]| {
            for i in 0..iter.row_len {
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

/// Applies `f` to each row of `length` elements of a contiguous tensor. Each call writes `width` elements of the
/// result.
pub(crate) fn apply_along_last_dim<T: Element, U: Element>(
    op: &'static str,
    source: &Tensor,
    length: usize,
    shape: &[usize],
    width: usize,
    f: impl Fn(&[T], &mut [U]) + Send + Sync + 'static,
) -> Result<Tensor> {
    let (start, count) = (source.storage_offset(), source.numel());
    launch_unary(op, shape, source, move |out: &mut [U], data: &[T]| {
        let values = data.get(start..start.saturating_add(count)).unwrap_or_default();
        let rows = values.chunks_exact(length.max(1));
        rows.zip(out.chunks_exact_mut(width.max(1))).for_each(|(row, out)| f(row, out));
        Ok(())
    })
}
