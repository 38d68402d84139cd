//! Reductions.

use super::StridedIter;
use crate::iterate::{launch_unary, threads_on};
use crate::iterate::{THREADED_ELEMENTS, TILE, for_each};
use crate::fallible_alloc::{try_from_elem, try_with_capacity};
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

/// The tiles of a large reduction. They depend on the sizes and strides only, so that the order of additions, and
/// with it each bit of the result, does not depend on the number of threads.
#[derive(Debug, PartialEq)]
struct Tiles {
    /// The dimension that is divided.
    dim: usize,
    size: usize,
    /// Positions of the dimension in a tile.
    length: usize,
    /// The elements of the result between two positions; 0 if the dimension is reduced.
    step: usize,
}

impl Tiles {
    /// Returns the tiles of a source whose result has `count` elements, or `None` for one tile.
    fn of(iter: &StridedIter<2>, count: usize) -> Option<Self> {
        /// The maximum and the minimum number of tiles.
        const MOST: usize = 64;
        const LEAST: usize = 8;
        /// The minimum length of a part of a row.
        const ROW: usize = 512;
        /// The maximum number of elements of a partial result.
        const PARTIAL: usize = 4096;
        if iter.numel() < THREADED_ELEMENTS {
            return None;
        }
        let last = iter.dims().count().saturating_sub(1);
        let outermost = |is_reduced: bool| {
            let (dim, (size, [_, step])) =
                iter.dims().enumerate().find(|(_, (_, [_, step]))| (*step == 0) == is_reduced)?;
            let length = size.div_ceil(MOST).max(if dim == last { ROW } else { 1 });
            (size.div_ceil(length) >= LEAST).then_some(Tiles { dim, size, length, step })
        };
        outermost(false).or_else(|| outermost(true).filter(|_| count <= PARTIAL))
    }

    fn count(&self) -> usize {
        self.size.div_ceil(self.length)
    }
}

/// Reduces a source to `totals`, which have their initial value. `accumulate` adds the elements of an iterator to
/// totals, and `combine` adds two totals.
fn reduce<A: Copy + Send>(
    threads: usize,
    iter: &StridedIter<2>,
    totals: &mut [A],
    accumulate: &(dyn Fn(&mut [A], &StridedIter<2>) + Sync),
    combine: &dyn Fn(A, A) -> A,
) -> Result<()> {
    let Some(tiles) = Tiles::of(iter, totals.len()) else {
        accumulate(totals, iter);
        return Ok(());
    };
    let run = |(number, totals): (usize, &mut [A])| {
        let start = number.saturating_mul(tiles.length);
        accumulate(totals, &iter.part(tiles.dim, start..start.saturating_add(tiles.length)));
        Ok(())
    };
    if tiles.step > 0 {
        let parts = totals.chunks_mut(tiles.length.saturating_mul(tiles.step));
        return for_each(threads, parts.enumerate(), &run);
    }
    let mut partial = try_with_capacity(totals.len().saturating_mul(tiles.count()))?;
    (0..tiles.count()).for_each(|_| partial.extend_from_slice(totals));
    for_each(threads, partial.chunks_mut(totals.len().max(1)).enumerate(), &run)?;
    for part in partial.chunks(totals.len().max(1)) {
        totals.iter_mut().zip(part).for_each(|(total, part)| *total = combine(*total, *part));
    }
    Ok(())
}

/// Sums over the dimensions marked in `reduced`. `shape` is the shape of the result.
pub(crate) fn sum<T: Element>(source: &Tensor, reduced: &[bool], shape: &[usize]) -> Result<Tensor> {
    if T::DTYPE.is_floating_point() {
        return rounded_sum::<T>("sum", source, reduced, shape, T::Acc::cast);
    }
    launch_unary("sum", shape, source, summation::<T>(source, reduced))
}

/// Divides the sums of floating-point numbers by `count`. The sums are not rounded: they may be beyond the range of the
/// elements.
pub(crate) fn mean<T: Element>(
    source: &Tensor,
    reduced: &[bool],
    shape: &[usize],
    count: usize,
) -> Result<Tensor> {
    rounded_sum("mean", source, reduced, shape, move |sum: T::Acc| T::from_f64(sum.to_f64() / count as f64))
}

/// Sums floating-point numbers and rounds the sums with `round`.
fn rounded_sum<T: Element>(
    op: &'static str,
    source: &Tensor,
    reduced: &[bool],
    shape: &[usize],
    round: impl Fn(T::Acc) -> T + Send + Sync + 'static,
) -> Result<Tensor> {
    let (sum, (_, count)) = (summation::<T>(source, reduced), output_strides(source.shape(), reduced));
    launch_unary(op, shape, source, move |out: &mut [T], data: &[T]| {
        let mut sums = try_from_elem(T::Acc::default(), count)?;
        sum(&mut sums, data)?;
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out = round(sum));
        Ok(())
    })
}

/// Returns a function that adds the elements to sums, which are zero initially.
fn summation<T: Element>(
    source: &Tensor,
    reduced: &[bool],
) -> impl Fn(&mut [T::Acc], &[T]) -> Result<()> + Send + Sync + 'static {
    let layout = source.layout();
    let (strides, _) = output_strides(&layout.shape, reduced);
    let iter = StridedIter::new(&layout.shape, [(&layout.strides, layout.offset), (&strides, 0)]);
    let threads = threads_on(source.placement(), iter.numel(), THREADED_ELEMENTS);
    move |sums: &mut [T::Acc], data: &[T]| {
        reduce(threads, &iter, sums, &|sums, iter| accumulate(sums, data, iter), &T::Acc::plus)
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
    fold_as(op, source, reduced, shape, (|value| value, f, |value| value))
}

/// Like [`fold`], with values of another type: the first function converts an element to it, and the last one converts
/// a result.
pub(crate) fn fold_as<T: Element, A: Copy + Send + 'static>(
    op: &'static str,
    source: &Tensor,
    reduced: &[bool],
    shape: &[usize],
    (load, f, store): (
        impl Fn(T) -> A + Send + Sync + 'static,
        impl Fn(A, A) -> A + Send + Sync + 'static,
        impl Fn(A) -> T + Send + Sync + 'static,
    ),
) -> Result<Tensor> {
    let layout = source.layout();
    let (strides, count) = output_strides(&layout.shape, reduced);
    let iter = StridedIter::new(&layout.shape, [(&layout.strides, layout.offset), (&strides, 0)]);
    let threads = threads_on(source.placement(), iter.numel(), THREADED_ELEMENTS);
    launch_unary(op, shape, source, move |out: &mut [T], data: &[T]| {
        let choose = |so_far: Option<A>, value: A| Some(so_far.map_or(value, |so_far| f(so_far, value)));
        let mut results: Vec<Option<A>> = try_from_elem(None, count)?;
        let accumulate = |results: &mut [Option<A>], iter: &StridedIter<2>| {
            let [step, step_out] = iter.row_strides;
            iter.for_each_row(|[start, start_out]| {
                for i in 0..iter.row_len {
                    let value = load(data.get(start + i * step).copied().unwrap_or_default());
                    if let Some(slot) = results.get_mut(start_out + i * step_out) {
                        *slot = choose(*slot, value);
                    }
                }
            });
        };
        let combine = |so_far, part: Option<A>| part.map_or(so_far, |value| choose(so_far, value));
        reduce(threads, &iter, &mut results, &accumulate, &combine)?;
        out.iter_mut().zip(&results).for_each(|(o, r)| *o = r.map_or_else(T::default, &store));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn tiles(shape: &[usize], strides: &[usize], reduced: &[bool]) -> Option<Tiles> {
        let (own, count) = output_strides(shape, reduced);
        Tiles::of(&StridedIter::new(shape, [(strides, 0), (&own, 0)]), count)
    }

    #[test]
    fn tiles_depend_on_sizes_and_strides() {
        assert_eq!(tiles(&[1 << 10, 1 << 9], &[1 << 9, 1], &[true, true]), None, "too small");
        let whole = tiles(&[1 << 10, 1 << 11], &[1 << 11, 1], &[true, true]);
        assert_eq!(whole, Some(Tiles { dim: 0, size: 1 << 21, length: 1 << 15, step: 0 }));
        let of_rows = tiles(&[1000, 2000], &[2000, 1], &[false, true]);
        assert_eq!(of_rows, Some(Tiles { dim: 0, size: 1000, length: 16, step: 1 }));
        let of_columns = tiles(&[256, 8192], &[8192, 1], &[true, false]);
        assert_eq!(of_columns, Some(Tiles { dim: 1, size: 8192, length: 512, step: 1 }));
        let of_few_columns = tiles(&[1 << 20, 3], &[3, 1], &[true, false]);
        assert_eq!(of_few_columns, Some(Tiles { dim: 0, size: 1 << 20, length: 1 << 14, step: 0 }));
        assert_eq!(
            tiles(&[2, 3, 1 << 18], &[3 << 18, 1 << 18, 1], &[true, false, false]).map(|it| it.dim),
            Some(1)
        );
    }

    #[test]
    fn reduce_has_equal_bits_for_every_number_of_threads() {
        let mut generator = fastrand::Rng::with_seed(5);
        let data: Vec<f64> = (0..3 << 19).map(|_| generator.f64() - 0.5).collect();
        for (shape, reduced) in [
            (vec![3 << 19], vec![true]),
            (vec![3, 1 << 19], vec![true, false]),
            (vec![1 << 10, 3 << 9], vec![false, true]),
            (vec![1 << 10, 3 << 9], vec![true, false]),
            (vec![1 << 18, 3, 2], vec![true, false, true]),
            (vec![2, 1 << 18, 3], vec![false, true, false]),
        ] {
            let (own, count) = output_strides(&shape, &reduced);
            let strides = crate::shape::Layout::contiguous(&shape).strides;
            let iter = StridedIter::new(&shape, [(&strides, 0), (&own, 0)]);
            let sums = |threads| {
                let mut sums = vec![0.0; count];
                let accumulate = |sums: &mut [f64], iter: &StridedIter<2>| accumulate(sums, &data, iter);
                reduce(threads, &iter, &mut sums, &accumulate, &|a, b| a + b).unwrap();
                sums
            };
            let mut expected = vec![0.0; count];
            for element in 0..data.len() {
                let [at, to] = iter.offsets_at(element);
                expected[to] += data[at];
            }
            let found = sums(1);
            assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-8), "{shape:?} {reduced:?}");
            for threads in [2, 3, 8] {
                assert!(sums(threads) == found, "{shape:?} {reduced:?}, {threads} threads");
            }
        }
    }
}
