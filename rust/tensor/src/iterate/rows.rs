//! Functions of rows of contiguous tensors.

use std::borrow::Cow;
use std::ops::Range;

use super::launch::threads_on;
use super::parallel::{THREADED_ELEMENTS, TILE, for_each};
use super::slices::{Ready, new_result_of};
use crate::shape::Layout;
use crate::storage::{Placement, Span};
use crate::{Element, Error, Result, Tensor};

/// Computes a row of the result at an address from the rows of the sources at other addresses.
type RowFunction<'a> = dyn Fn(*mut u8, [*const u8; 2]) -> Result<()> + Sync + 'a;

/// The rows of a result and of its sources. Sizes are in bytes.
#[derive(Clone, Copy)]
struct Rows {
    op: &'static str,
    placement: Placement,
    count: usize,
    /// The position of the first row of each source.
    starts: [usize; 2],
    source: usize,
    out: usize,
    threads: usize,
    /// The number of rows that a thread takes at once.
    tile: usize,
}

impl Rows {
    /// Describes rows of `length` elements of the sources, and of `out` bytes of the result.
    fn new(op: &'static str, sources: [Option<&Tensor>; 2], length: usize, out: usize) -> Self {
        let (mut starts, mut elements, mut size, mut placement) = ([0; 2], 0, 0, Placement::Cpu);
        for (start, source) in starts.iter_mut().zip(sources.into_iter().flatten()) {
            (elements, size, placement) = (source.numel(), source.dtype().size(), source.placement());
            *start = source.storage_offset().saturating_mul(size);
        }
        let threads = threads_on(placement, elements, THREADED_ELEMENTS);
        let (count, tile) = (elements.checked_div(length).unwrap_or(0), (TILE / length.max(1)).max(1));
        Rows { op, placement, count, starts, source: length.saturating_mul(size), out, threads, tile }
    }

    /// Calls `row` with each row. The locks of the memory are held.
    fn run(&self, spans: &[Span], row: &RowFunction<'_>) -> Result<()> {
        /// Addresses that the threads of an operation use.
        struct Shared(*mut u8, [*const u8; 2]);
        // SAFETY: the locks are held until all threads have ended, and each writes rows of its own.
        unsafe impl Sync for Shared {}
        impl Shared {
            fn row(&self, rows: &Rows, number: usize) -> (*mut u8, [*const u8; 2]) {
                let step = number * rows.source;
                (self.0.wrapping_add(number * rows.out), self.1.map(|source| source.wrapping_add(step)))
            }
        }

        // The sources may have been resized since the shape of the result was read from one of them.
        let resized = Error::Resized { op: self.op };
        let Some((out, sources)) = spans.split_first() else { return Err(resized) };
        let (needed, mut pointers) = (self.count.saturating_mul(self.source), [std::ptr::null(); 2]);
        for ((pointer, source), start) in pointers.iter_mut().zip(sources).zip(self.starts) {
            if self.count > 0 && start.saturating_add(needed) > source.bytes {
                return Err(resized);
            }
            *pointer = source.pointer.wrapping_add(start).cast_const();
        }
        if self.count.saturating_mul(self.out) != out.bytes {
            return Err(resized);
        }
        let shared = Shared(out.pointer, pointers);
        let run = |rows: Range<usize>| {
            rows.into_iter().try_for_each(|number| {
                let (out, sources) = shared.row(self, number);
                row(out, sources)
            })
        };
        if self.threads == 1 {
            return run(0..self.count);
        }
        let tile = |number: usize| number * self.tile..self.count.min((number + 1) * self.tile);
        for_each(self.threads, (0..self.count.div_ceil(self.tile)).map(tile), &run)
    }
}

/// Returns a new contiguous tensor whose rows of `width` elements a function computes from those of `length` elements of
/// contiguous sources of one type.
fn launch<U: Element>(
    op: &'static str,
    sources: [Option<&Tensor>; 2],
    length: usize,
    shape: &[usize],
    width: usize,
    row: impl Fn(*mut u8, [*const u8; 2]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    let rows = Rows::new(op, sources, length, width.saturating_mul(size_of::<U>()));
    let result = (Layout::contiguous(shape), U::DTYPE);
    let mut work = Ready::new(move |spans: &[Span]| rows.run(spans, &row));
    new_result_of(op, rows.placement, result, sources, &mut work)
}

/// Returns a tensor whose elements are aligned in memory: memory of other libraries may begin anywhere.
fn aligned(source: &Tensor) -> Result<Cow<'_, Tensor>> {
    let is_aligned = source.storage_handle().pointer().addr().is_multiple_of(source.dtype().size());
    if is_aligned || source.is_on_device() {
        return Ok(Cow::Borrowed(source));
    }
    source.contiguous_copy().map(Cow::Owned)
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
    try_along_last_dim(op, source, length, shape, width, move |row: &[T], out: &mut [U]| {
        f(row, out);
        Ok(())
    })
}

/// Like [`apply_along_last_dim`], with a function that may fail.
pub(crate) fn try_along_last_dim<T: Element, U: Element>(
    op: &'static str,
    source: &Tensor,
    length: usize,
    shape: &[usize],
    width: usize,
    f: impl Fn(&[T], &mut [U]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    debug_assert_eq!(source.dtype(), T::DTYPE);
    let source = &*aligned(source)?;
    launch::<U>(op, [Some(source), None], length, shape, width, move |out, [row, _]| {
        // SAFETY: `Rows` checked that the rows are within the memory, whose locks are held; the result is zeroed, and no
        // other row shares its memory.
        unsafe { f(slice(row, length), slice_mut(out, width)) }
    })
}

/// Applies `f` to each pair of rows of `length` elements of two contiguous tensors of one shape. Each call writes a row
/// of the result, which has that shape, too.
pub(crate) fn zip_rows<T: Element>(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    length: usize,
    f: impl Fn(&[T], &[T], &mut [T]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    debug_assert_eq!((a.dtype(), b.dtype()), (T::DTYPE, T::DTYPE));
    let (a, b) = (&*aligned(a)?, &*aligned(b)?);
    launch::<T>(op, [Some(a), Some(b)], length, a.shape(), length, move |out, [a, b]| {
        // SAFETY: as in `apply_along_last_dim`.
        unsafe { f(slice(a, length), slice(b, length), slice_mut(out, length)) }
    })
}

/// Returns the elements of a row.
///
/// # Safety
/// They are initialized, and no other code writes them.
unsafe fn slice<'a, T: Element>(row: *const u8, length: usize) -> &'a [T] {
    debug_assert!(row.cast::<T>().is_aligned(), "an unaligned row");
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts(row.cast(), length) }
}

/// Returns the elements of a row, to write them.
///
/// # Safety
/// They are initialized, and no other code uses them.
unsafe fn slice_mut<'a, T: Element>(row: *mut u8, length: usize) -> &'a mut [T] {
    debug_assert!(row.cast::<T>().is_aligned(), "an unaligned row");
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts_mut(row.cast(), length) }
}
