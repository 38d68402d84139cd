//! Reductions of tensors.

use crate::iterate::{THREADED_ELEMENTS, TILE, for_each, launch_unary, reduce, threads_on};
use crate::loops;
use crate::{DType, Element, Result, Tensor};

/// Sums over the dimensions marked in `reduced`, in the type `T` of its arithmetic. `shape` is the shape of the result, which
/// has the type of the source.
pub(crate) fn sum<T: Element>(source: &Tensor, reduced: &[bool], shape: &[usize]) -> Result<Tensor> {
    let to = (shape, if T::DTYPE.is_floating_point() { source.dtype() } else { DType::Int64 });
    if source.dtype().is_half() {
        return reduce("sum", source, reduced, to, &summation::<T, f32, f32>(|sum| sum));
    }
    if !T::DTYPE.is_floating_point() {
        return reduce("sum", source, reduced, to, &summation::<T, i64, i64>(|sum| sum));
    }
    reduce("sum", source, reduced, to, &summation::<T, f64, T>(T::from_f64))
}

/// Divides the sums of floating-point numbers by `count`. The sums are not rounded: they may be beyond the range of the
/// elements.
pub(crate) fn mean<T: Element>(
    source: &Tensor,
    reduced: &[bool],
    shape: &[usize],
    count: usize,
) -> Result<Tensor> {
    let mean = move |sum: f64| T::from_f64(sum / count as f64);
    reduce("mean", source, reduced, (shape, source.dtype()), &summation::<T, f64, T>(mean))
}

/// Returns the loop that adds elements in the type `A`, and computes the result from the sum.
fn summation<T: Element, A: Element, U: Element>(
    finish: impl Fn(A) -> U + Copy + Send + Sync + 'static,
) -> impl loops::ReduceLoop {
    loops::fold(A::default(), |sum: A, value: T| sum.plus(value.cast()), A::plus, finish)
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
    let (length, width) = (length.max(1), width.max(1));
    let threads = threads_on(source.placement(), count, THREADED_ELEMENTS);
    launch_unary(op, shape, source, move |out: &mut [U], data: &[T]| {
        let values = data.get(start..start.saturating_add(count)).unwrap_or_default();
        let rows = if threads == 1 { usize::MAX } else { (TILE / length).max(1) };
        let tiles = values.chunks(rows.saturating_mul(length));
        for_each(threads, tiles.zip(out.chunks_mut(rows.saturating_mul(width))), &|(values, out): (
            &[T],
            &mut [U],
        )| {
            let rows = values.chunks_exact(length);
            rows.zip(out.chunks_exact_mut(width)).for_each(|(row, out)| f(row, out));
            Ok(())
        })
    })
}
