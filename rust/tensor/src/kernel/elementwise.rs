//! Elementwise kernels.

use std::ops::Range;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::StridedIter;
use super::launch::{
    NoInput, launch_inplace, launch_unary, launch_with_layout, on_device_of, result_placement, threads_on,
};
use super::parallel::{THREADED_ELEMENTS, for_each_tile};
use crate::dtype::{dispatch_narrow, dispatch_reduced};
use crate::shape::Layout;
use crate::{DType, Element, Result, Tensor};

/// The elements of an operand along one row of a [`StridedIter`].
pub(super) enum StridedRow<'a, T> {
    Slice(&'a [T]),
    Constant(T),
    Strided(&'a [T], usize),
}

impl<'a, T: Element> StridedRow<'a, T> {
    pub(super) fn new(data: &'a [T], start: usize, step: usize, length: usize) -> Self {
        match step {
            1 => StridedRow::Slice(data.get(start..start.saturating_add(length)).unwrap_or_default()),
            0 => StridedRow::Constant(data.get(start).copied().unwrap_or_default()),
            _ => StridedRow::Strided(data.get(start..).unwrap_or_default(), step),
        }
    }

    pub(super) fn values(&self) -> Box<dyn Iterator<Item = T> + '_> {
        match self {
            StridedRow::Slice(values) => Box::new(values.iter().copied()),
            StridedRow::Constant(value) => Box::new(std::iter::repeat(*value)),
            StridedRow::Strided(values, step) => Box::new(values.iter().step_by(*step).copied()),
        }
    }
}

fn map_row<T: Element, U: Element>(row: &mut [U], source: &StridedRow<'_, T>, f: impl Fn(T) -> U) {
    match source {
        StridedRow::Slice(values) => row.iter_mut().zip(*values).for_each(|(out, &v)| *out = f(v)),
        StridedRow::Constant(value) => row.fill(f(*value)),
        StridedRow::Strided(values, step) => {
            row.iter_mut().zip(values.iter().step_by(*step)).for_each(|(out, &v)| *out = f(v));
        }
    }
}

fn zip_row<A: Element, B: Element, U: Element>(
    row: &mut [U],
    a: &StridedRow<'_, A>,
    b: &StridedRow<'_, B>,
    f: impl Fn(A, B) -> U,
) {
    match (a, b) {
        (StridedRow::Slice(a), StridedRow::Slice(b)) => {
            row.iter_mut().zip(*a).zip(*b).for_each(|((out, &a), &b)| *out = f(a, b));
        }
        (_, StridedRow::Constant(b)) => map_row(row, a, |a| f(a, *b)),
        (StridedRow::Constant(a), _) => map_row(row, b, |b| f(*a, b)),
        _ => row.iter_mut().zip(a.values().zip(b.values())).for_each(|(out, (a, b))| *out = f(a, b)),
    }
}

/// Returns an iterator over the operands in the memory order of a dense layout.
pub(super) fn iter_in_memory_order<const N: usize>(
    out: &Layout,
    operands: [(&[usize], usize); N],
) -> StridedIter<N> {
    if out.is_contiguous() {
        return StridedIter::new(&out.shape, operands);
    }
    let order = out.memory_order();
    let ordered = |values: &[usize]| -> Vec<usize> {
        order.iter().map(|&dim| values.get(dim).copied().unwrap_or(0)).collect()
    };
    let strides = operands.map(|(strides, _)| ordered(strides));
    let mut starts = operands.map(|(_, start)| start).into_iter();
    StridedIter::new(
        &ordered(&out.shape),
        strides.each_ref().map(|strides| (strides.as_slice(), starts.next().unwrap_or(0))),
    )
}

/// Returns the numbers of the elements of a tile.
pub(super) fn range_of<T>(first: usize, tile: &[T]) -> Range<usize> {
    first..first.saturating_add(tile.len())
}

/// Splits the next row off the rest of a tile.
pub(super) fn take_row<'a, T>(rest: &mut &'a mut [T], length: usize) -> &'a mut [T] {
    rest.split_off_mut(..length).unwrap_or_default()
}

/// Applies `f` to each element, in the type in which arithmetic is done. A result of that type is stored as the
/// source is. The result preserves the source's order of dimensions in memory.
pub(crate) fn map<T: Element, U: Element>(
    op: &'static str,
    source: &Tensor,
    f: impl Fn(T) -> U + Send + Sync + 'static,
) -> Result<Tensor> {
    let layout = Layout::of_elementwise_result(source.shape(), &[source.layout()]);
    let stored = if U::DTYPE == T::DTYPE { source.dtype() } else { U::DTYPE };
    convert(op, &map_as(op, &convert(op, source, T::DTYPE)?, layout, f)?, stored)
}

/// Applies `f` to each element. The result has the given dense layout.
pub(crate) fn map_as<T: Element, U: Element>(
    op: &'static str,
    source: &Tensor,
    layout: Layout,
    f: impl Fn(T) -> U + Send + Sync + 'static,
) -> Result<Tensor> {
    map_rows(op, source, layout, move |row, source| map_row(row, source, &f))
}

/// Computes each row with `f`. The result has the given dense layout.
fn map_rows<T: Element, U: Element>(
    op: &'static str,
    source: &Tensor,
    layout: Layout,
    f: impl Fn(&mut [U], &StridedRow<'_, T>) + Send + Sync + 'static,
) -> Result<Tensor> {
    let iter = iter_in_memory_order(&layout, [(source.strides(), source.storage_offset())]);
    let threads = threads_on(source.placement(), iter.numel(), THREADED_ELEMENTS);
    launch_with_layout(
        op,
        source.placement(),
        layout,
        [Some(source), None],
        move |out: &mut [U], data: &[T], _: &[NoInput]| {
            let [step] = iter.row_strides;
            for_each_tile(threads, out, &|first, mut out| {
                iter.for_each_row_in(range_of(first, out), |[start], length| {
                    let row = take_row(&mut out, length);
                    f(row, &StridedRow::new(data, start, step, length));
                });
            })
        },
    )
}

/// Applies `f` to each pair of elements of two operands that are broadcast to `shape`, in the types in which
/// arithmetic is done. The result is stored as `dtype`, in the memory order of the operands.
pub(crate) fn zip<A: Element, B: Element, U: Element>(
    op: &'static str,
    (dtype, shape): (DType, &[usize]),
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(A, B) -> U + Send + Sync + 'static,
) -> Result<Tensor> {
    let placement = result_placement(a, b);
    let (a, b) = (on_device_of(op, placement, a)?, on_device_of(op, placement, b)?);
    let layout = Layout::of_elementwise_result(shape, &[a.layout(), b.layout()]);
    let (a, b) = (convert(op, &a, A::DTYPE)?, convert(op, &b, B::DTYPE)?);
    let strides = (a.layout().broadcast_strides(shape), b.layout().broadcast_strides(shape));
    let iter =
        iter_in_memory_order(&layout, [(&strides.0, a.storage_offset()), (&strides.1, b.storage_offset())]);
    let threads = threads_on(placement, iter.numel(), THREADED_ELEMENTS);
    let out = launch_with_layout(
        op,
        placement,
        layout,
        [Some(&a), Some(&b)],
        move |out: &mut [U], data_a: &[A], data_b: &[B]| {
            let [step_a, step_b] = iter.row_strides;
            for_each_tile(threads, out, &|first, mut out| {
                iter.for_each_row_in(range_of(first, out), |[start_a, start_b], length| {
                    let row_a = StridedRow::new(data_a, start_a, step_a, length);
                    let row_b = StridedRow::new(data_b, start_b, step_b, length);
                    zip_row(take_row(&mut out, length), &row_a, &row_b, &f);
                });
            })
        },
    )?;
    convert(op, &out, dtype)
}

/// Replaces each element of `target` by `f` of it and the element of `source`, which is broadcast. The caller
/// increments the version counter.
pub(crate) fn update<A: Element, B: Element>(
    op: &'static str,
    target: &Tensor,
    source: &Tensor,
    f: impl Fn(A, B) -> A + Send + Sync + 'static,
) -> Result<()> {
    let source = on_device_of(op, target.placement(), source)?;
    if target.storage_handle().overlaps(source.storage_handle()) {
        // Source and target share memory: the source is copied before it is overwritten.
        let copy = map(op, &source, |value: B| value)?;
        return update(op, target, &copy, f);
    }
    let layout = target.layout();
    let strides = source.layout().broadcast_strides(&layout.shape);
    let iter = StridedIter::new(
        &layout.shape,
        [(&layout.strides, layout.offset), (&strides, source.storage_offset())],
    );
    // Tiles of a contiguous target do not overlap.
    let dense = layout.offset..layout.offset.saturating_add(iter.numel());
    let work = if layout.is_contiguous() { iter.numel() } else { 0 };
    let threads = threads_on(target.placement(), work, THREADED_ELEMENTS);
    launch_inplace(op, target, &source, move |data: &mut [A], data_b: &[B]| {
        let [step, step_b] = iter.row_strides;
        let is_tiled = threads > 1;
        let memory = if is_tiled { data.get_mut(dense.clone()).unwrap_or_default() } else { data };
        for_each_tile(threads, memory, &|first, tile| {
            let (elements, offset) = if is_tiled {
                (range_of(first, tile), dense.start.saturating_add(first))
            } else {
                (0..iter.numel(), 0)
            };
            iter.for_each_row_in(elements, |[start, start_b], length| {
                let values = StridedRow::new(data_b, start_b, step_b, length);
                let row = tile.get_mut(start.saturating_sub(offset)..).unwrap_or_default();
                match (step, &values) {
                    (1, StridedRow::Slice(values)) => {
                        row.iter_mut().zip(*values).for_each(|(out, &b)| *out = f(*out, b));
                    }
                    (1, StridedRow::Constant(b)) => {
                        row.iter_mut().take(length).for_each(|out| *out = f(*out, *b));
                    }
                    _ => {
                        let targets = row.iter_mut().step_by(step.max(1)).take(length);
                        targets.zip(values.values()).for_each(|(out, b)| *out = f(*out, b));
                    }
                }
            });
        })
    })
}

/// Converts the elements to another type. Returns the same tensor if it has that type already.
pub(crate) fn cast(source: &Tensor, dtype: DType) -> Result<Tensor> {
    convert("to", source, dtype)
}

/// Converts the elements like [`cast`], for an operation that errors name.
pub(super) fn convert(op: &'static str, source: &Tensor, dtype: DType) -> Result<Tensor> {
    if source.dtype() == dtype {
        return Ok(source.clone());
    }
    let layout = source.layout().preserve_format();
    match (source.dtype(), dtype) {
        (DType::Float16, DType::Float32) => map_rows(op, source, layout, load_row::<f16>),
        (DType::BFloat16, DType::Float32) => map_rows(op, source, layout, load_row::<bf16>),
        (DType::Float32, DType::Float16) => map_rows(op, source, layout, store_row::<f16>),
        (DType::Float32, DType::BFloat16) => map_rows(op, source, layout, store_row::<bf16>),
        // Most pairs with a narrow integer are converted by way of the type of its arithmetic.
        (from, DType::Int64 | DType::Float32) if from.is_narrow_integer() => {
            convert_elements(op, source, dtype)
        }
        (DType::Int64 | DType::Float32, to) if to.is_narrow_integer() => convert_elements(op, source, dtype),
        (from, to) if from.is_narrow_integer() || to.is_narrow_integer() => {
            convert(op, &convert(op, source, DType::Int64)?, dtype)
        }
        (from, to) => {
            dispatch_reduced!(from, T => dispatch_reduced!(to, U => map_as(op, source, layout, |value: T| value.cast::<U>())))
        }
    }
}

/// Converts `int64` or `float32` elements from or to a narrow integer type.
fn convert_elements(op: &'static str, source: &Tensor, dtype: DType) -> Result<Tensor> {
    let layout = source.layout().preserve_format();
    match (source.dtype(), dtype) {
        (from, DType::Int64) => {
            dispatch_narrow!(from, T => map_as(op, source, layout, |value: T| value.cast::<i64>()))
        }
        (from, DType::Float32) => {
            dispatch_narrow!(from, T => map_as(op, source, layout, |value: T| value.cast::<f32>()))
        }
        (DType::Float32, to) => {
            dispatch_narrow!(to, T => map_as(op, source, layout, |value: f32| value.cast::<T>()))
        }
        (_, to) => dispatch_narrow!(to, T => map_as(op, source, layout, |value: i64| value.cast::<T>())),
    }
}

/// Converts a row of 16-bit floats. Several are converted by one instruction of the CPU.
fn load_row<H: Element>(row: &mut [f32], source: &StridedRow<'_, H>)
where
    [H]: HalfFloatSliceExt,
{
    match source {
        StridedRow::Slice(values) if values.len() == row.len() => values.convert_to_f32_slice(row),
        _ => map_row(row, source, H::cast),
    }
}

/// Rounds a row to 16-bit floats, like [`load_row`].
fn store_row<H: Element>(row: &mut [H], source: &StridedRow<'_, f32>)
where
    [H]: HalfFloatSliceExt,
{
    match source {
        StridedRow::Slice(values) if values.len() == row.len() => row.convert_from_f32_slice(values),
        _ => map_row(row, source, f32::cast),
    }
}

/// Returns a new tensor of `capacity` elements to which the elements of `source` are added at the positions of
/// `layout`.
pub(crate) fn add_strided<T: Element>(capacity: usize, layout: &Layout, source: &Tensor) -> Result<Tensor> {
    let strides = source.layout().broadcast_strides(&layout.shape);
    let iter = StridedIter::new(
        &layout.shape,
        [(&layout.strides, layout.offset), (&strides, source.storage_offset())],
    );
    launch_unary("as_strided", &[capacity], source, move |target: &mut [T], data: &[T]| {
        let [step, step_b] = iter.row_strides;
        iter.for_each_row(|[start, start_b]| {
            let values = StridedRow::new(data, start_b, step_b, iter.row_len);
            let targets =
                std::iter::successors(Some(start), |&position| Some(position + step)).take(iter.row_len);
            for (position, value) in targets.zip(values.values()) {
                if let Some(out) = target.get_mut(position) {
                    *out = out.plus(value);
                }
            }
        });
        Ok(())
    })
}
