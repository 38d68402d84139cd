//! Functions of rows of contiguous tensors.

use std::borrow::Cow;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::copy::copy_as;
use super::launch::{Launch, Target, threads_on};
use super::parallel::{Shared, THREADED_ELEMENTS, TILE, for_each};
use super::slices::new_tensor;
use crate::layout::Layout;
use crate::loops::{COLUMNS, Columns};
use crate::storage::{Placement, Span};
use crate::{DType, Element, Error, Result, Tensor};

/// The maximum number of results, and of sources.
const MOST: usize = 3;

/// The number of elements of the first source between two checks for signals.
const CHUNK: usize = 1 << 24;

/// Computes a row of each result from a row of each source, at these addresses. Those of absent operands are null. The last
/// argument is the number of the block of columns.
type RowFunction = dyn Fn([*mut u8; MOST], [*const u8; MOST], usize) -> Result<()> + Send + Sync;

/// The first source, which determines the number of rows and the device, and the others.
type Sources<'a> = (&'a Tensor, [Option<&'a Tensor>; MOST - 1]);

/// The rows of an operand. Sizes are in bytes.
#[derive(Clone, Copy)]
struct Operand {
    start: usize,
    size: usize,
    /// The distance between two rows; 0 if the operand has one, which belongs to all.
    step: usize,
}

impl Operand {
    /// Returns the number of bytes that some rows need.
    fn required_bytes(&self, count: usize) -> usize {
        let before = count.saturating_sub(1).saturating_mul(self.step);
        if count == 0 { 0 } else { self.start.saturating_add(before).saturating_add(self.size) }
    }
}

/// The rows of results and of their sources.
#[derive(Clone, Copy)]
struct Rows {
    op: &'static str,
    placement: Placement,
    /// The number of rows, or of blocks of all rows.
    count: usize,
    /// The number of blocks of a row, and their distance in bytes. The rows of a matrix are one row with blocks of columns.
    blocks: (usize, usize),
    results: [Option<Operand>; MOST],
    sources: [Option<Operand>; MOST],
    threads: usize,
    /// Each row of the results is zeroed before the function is called with it.
    is_zeroed: bool,
    /// The number of rows that a thread takes at once.
    tile: usize,
    /// The number of rows between two checks for signals.
    chunk: usize,
}

impl Rows {
    /// Describes rows of `length` elements of the sources, and of these numbers of bytes of the results. Other sources than the
    /// first one may have one row for all. There are several threads if it has as many elements as `threaded`.
    fn new(
        op: &'static str,
        sources: Sources<'_>,
        length: usize,
        results: [Option<usize>; MOST],
        threaded: usize,
    ) -> Self {
        let (first, [second, third]) = sources;
        let (elements, placement) = (first.numel(), first.placement());
        let count = elements.checked_div(length).unwrap_or(0);
        let of_source = |source: &Tensor| {
            let size = source.dtype().size().saturating_mul(length);
            let start = source.storage_offset().saturating_mul(source.dtype().size());
            Operand { start, size, step: if source.numel() == elements { size } else { 0 } }
        };
        let of_result = |size: usize| Operand { start: 0, size, step: size };
        Rows {
            op,
            placement,
            count,
            blocks: (1, 0),
            results: results.map(|result| result.map(of_result)),
            sources: [Some(first), second, third].map(|source| source.map(of_source)),
            threads: threads_on(placement, elements, threaded),
            is_zeroed: true,
            tile: (TILE / length.max(1)).max(1),
            chunk: (CHUNK / length.max(1)).max(1),
        }
    }

    /// Returns the addresses of a row of each operand, or of a block of it, from the addresses of the first rows.
    fn row_of(
        &self,
        first: [*mut u8; MOST],
        operands: [Option<Operand>; MOST],
        number: usize,
    ) -> [*mut u8; MOST] {
        let (blocks, size) = self.blocks;
        let (row, block) = (number / blocks, number % blocks);
        let mut rows = first.into_iter().zip(operands).map(|(pointer, operand)| {
            pointer.wrapping_add(row * operand.map_or(0, |operand| operand.step) + block * size)
        });
        [(); MOST].map(|()| rows.next().unwrap_or(std::ptr::null_mut()))
    }

    /// Calls `row` with some rows. The locks of the memory are held.
    fn run(&self, part: Range<usize>, spans: &[Span], row: &RowFunction) -> Result<()> {
        // The sources may have been resized since the shapes of the results were read from them.
        let rows = self.count / self.blocks.0;
        let written = self.results.into_iter().flatten().map(|result| rows.saturating_mul(result.size));
        if self.count > 0 && !spans.iter().zip(written).all(|(span, written)| span.bytes == written) {
            return Err(Error::resized(self.op));
        }
        let mut spans = spans.iter();
        let mut locate = |operands: [Option<Operand>; MOST]| {
            let mut pointers = [std::ptr::null_mut(); MOST];
            for (pointer, operand) in pointers.iter_mut().zip(operands) {
                let Some(operand) = operand else { continue };
                let span = spans.next().filter(|span| operand.required_bytes(rows) <= span.bytes);
                *pointer = span.ok_or_else(|| Error::resized(self.op))?.pointer.wrapping_add(operand.start);
            }
            Ok::<_, Error>(pointers)
        };
        // SAFETY: the locks are held until all threads have ended, and each writes rows of its own.
        let shared = unsafe { Shared::new((locate(self.results)?, locate(self.sources)?)) };
        let run = |rows: Range<usize>| {
            let (results, sources) = shared.get();
            if self.is_zeroed {
                // The results of a tile are zeroed here, so that the function finds them in the cache.
                let first = self.row_of(results, self.results, rows.start);
                for (pointer, operand) in first.into_iter().zip(self.results) {
                    // SAFETY: the rows are within the memory. Absent operands have no bytes.
                    unsafe { pointer.write_bytes(0, rows.len() * operand.map_or(0, |operand| operand.size)) };
                }
            }
            rows.into_iter().try_for_each(|number| {
                let sources = self.row_of(sources, self.sources, number).map(<*mut u8>::cast_const);
                row(self.row_of(results, self.results, number), sources, number % self.blocks.0)
            })
        };
        let (start, end) = (part.start, part.end);
        let tile = |number: usize| start + number * self.tile..end.min(start + (number + 1) * self.tile);
        for_each(self.threads, (0..part.len().div_ceil(self.tile)).map(tile), &run)
    }

    /// Returns new contiguous tensors whose rows a function computes. Rows of no elements have results of 0.
    fn launch<const N: usize>(
        self,
        results: [(&[usize], DType); N],
        sources: Sources<'_>,
        row: Box<RowFunction>,
    ) -> Result<[Tensor; N]> {
        let mut tensors = Vec::with_capacity(N);
        for (shape, dtype) in results {
            tensors.push(new_tensor(self.op, self.placement, Layout::contiguous(shape), dtype)?);
        }
        let targets: Vec<_> =
            tensors.iter().map(|tensor| Target::new_result(tensor.storage_handle())).collect();
        self.launch_into(&targets, sources, row)?;
        drop(targets);
        let Ok(tensors) = <[Tensor; N]>::try_from(tensors) else { std::process::abort() };
        Ok(tensors)
    }

    fn launch_into(self, targets: &[Target<'_>], sources: Sources<'_>, row: Box<RowFunction>) -> Result<()> {
        let (first_source, others) = sources;
        let sources: Vec<_> = [first_source].into_iter().chain(others.into_iter().flatten()).collect();
        let mut launch = Launch { op: self.op, targets, is_zeroed: self.count == 0, sources: &sources };
        if let Some(device) = launch.device() {
            // The program has the result already if the work fails.
            launch.is_zeroed = true;
            return launch.enqueue(device, Box::new(move |spans| self.run(0..self.count, spans, &*row)));
        }
        let is_long = targets.iter().any(Target::is_long);
        launch
            .run_in_chunks(is_long, (self.count, self.chunk), &mut |part, spans| self.run(part, spans, &*row))
    }
}

/// Returns a tensor whose elements are aligned in memory: memory of other libraries may begin anywhere.
fn aligned(source: &Tensor) -> Result<Cow<'_, Tensor>> {
    let is_aligned = source.storage_handle().pointer().addr().is_multiple_of(source.dtype().size());
    if is_aligned || source.is_on_device() {
        return Ok(Cow::Borrowed(source));
    }
    copy_as("clone", source, Layout::contiguous(source.shape())).map(Cow::Owned)
}

/// Applies `f` to each row of `length` elements of a contiguous tensor. Each call writes `width` elements of the
/// result.
pub(crate) fn apply_along_last_dim<T: Element, U: Element>(
    op: &'static str,
    source: &Tensor,
    length: usize,
    shape: &[usize],
    width: usize,
    f: impl Fn(&[T], &mut [U]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    debug_assert_eq!(source.dtype(), T::DTYPE);
    let source = &*aligned(source)?;
    let sources = (source, [None; 2]);
    let size = width.saturating_mul(size_of::<U>());
    let rows = Rows::new(op, sources, length, [Some(size), None, None], THREADED_ELEMENTS);
    let row: Box<RowFunction> = Box::new(move |[out, ..], [row, ..], _| {
        // SAFETY: `Rows` checked that the rows are within the memory, whose locks are held; the result is zeroed, and no
        // other row shares its memory.
        unsafe { f(slice(row, length), slice_mut(out, width)) }
    });
    let [out] = rows.launch([(shape, U::DTYPE)], sources, row)?;
    Ok(out)
}

/// Applies `f` to each row of `length` elements of a contiguous tensor. It writes a row of the result, of the same shape, and
/// returns it.
pub(crate) fn map_rows<T: Element>(
    op: &'static str,
    source: &Tensor,
    length: usize,
    f: impl for<'a> Fn(&[T], &'a mut [MaybeUninit<T>]) -> &'a mut [T] + Send + Sync + 'static,
) -> Result<Tensor> {
    let source = &*aligned(source)?;
    let sources = (source, [None; 2]);
    let size = length.saturating_mul(size_of::<T>());
    let rows = Rows::new(op, sources, length, [Some(size), None, None], THREADED_ELEMENTS);
    let row: Box<RowFunction> = Box::new(move |[out, ..], [row, ..], _| {
        // SAFETY: as in `apply_along_last_dim`; the function returns what it initialized.
        let written = unsafe { f(slice(row, length), slice_mut(out, length)) };
        debug_assert_eq!(written.as_ptr().cast(), out.cast_const(), "the row of the result");
        Ok(())
    });
    let [out] = Rows { is_zeroed: false, ..rows }.launch([(source.shape(), T::DTYPE)], sources, row)?;
    Ok(out)
}

/// Applies `f` to blocks of columns of contiguous tensors of one shape, which consist of matrices with `rows` rows and `width`
/// columns.
///
/// # Safety
/// The function writes each element of the result.
pub(crate) unsafe fn map_columns<T: Element, const N: usize>(
    op: &'static str,
    sources: [&Tensor; N],
    (rows, width): (usize, usize),
    f: impl Fn(Columns<T, N>) + Send + Sync + 'static,
) -> Result<Tensor> {
    let sources = sources.iter().map(|source| aligned(source)).collect::<Result<Vec<_>>>()?;
    let [source, others @ ..] = &*sources else { return Err(Error::resized(op)) };
    Error::when(others.iter().any(|other| other.numel() != source.numel()), || Error::resized(op))?;
    let mut others = others.iter().map(|other| &**other);
    let sources = (&**source, [others.next(), others.next()]);
    let length = rows.saturating_mul(width);
    let size = length.saturating_mul(size_of::<T>());
    let matrices = Rows::new(op, sources, length, [Some(size), None, None], THREADED_ELEMENTS);
    let (blocks, elements) = (width.div_ceil(COLUMNS).max(1), rows.saturating_mul(COLUMNS).max(1));
    let blocks = Rows {
        is_zeroed: false,
        count: matrices.count * blocks,
        blocks: (blocks, COLUMNS * size_of::<T>()),
        tile: (TILE / elements).max(1),
        chunk: (CHUNK / elements).max(1),
        ..matrices
    };
    let function: Box<RowFunction> = Box::new(move |[out, ..], sources, block| {
        let sizes = [rows, COLUMNS.min(width - block * COLUMNS)];
        let sources = std::array::from_fn(|number| {
            sources.get(number).map_or(std::ptr::null(), |source| source.cast())
        });
        // SAFETY: `Rows` checked that the matrices are within the memory, whose locks are held.
        f(unsafe { Columns::new(out.cast(), sources, sizes, width) });
        Ok(())
    });
    let [out] = blocks.launch([(source.shape(), T::DTYPE)], sources, function)?;
    Ok(out)
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
    Error::when(a.numel() != b.numel(), || Error::resized(op))?;
    let sources = (a, [Some(b), None]);
    let size = length.saturating_mul(size_of::<T>());
    let rows = Rows::new(op, sources, length, [Some(size), None, None], THREADED_ELEMENTS);
    let row: Box<RowFunction> = Box::new(move |[out, ..], [a, b, _], _| {
        // SAFETY: as in `apply_along_last_dim`.
        unsafe { f(slice(a, length), slice(b, length), slice_mut(out, length)) }
    });
    let [out] = rows.launch([(a.shape(), T::DTYPE)], sources, row)?;
    Ok(out)
}

/// Applies `f` to each of `count` rows of `length` elements of a contiguous tensor, and to parameters of one row each. Each
/// call writes a row of the first result, which has the shape of the tensor, and returns it with an element of each other
/// result. There are several threads if the tensor has as many elements as `threaded`.
pub(crate) fn rows_with_statistics<T: Element>(
    op: &'static str,
    source: &Tensor,
    parameters: [Option<&Tensor>; 2],
    (count, length): (usize, usize),
    threaded: usize,
    f: impl for<'a> Fn(&[T], [Option<&[T]>; 2], &'a mut [MaybeUninit<T>]) -> (&'a mut [T], [T; 2])
    + Send
    + Sync
    + 'static,
) -> Result<[Tensor; 3]> {
    let source = &*aligned(source)?;
    let [a, b] = parameters.map(|parameter| parameter.map(aligned).transpose());
    let (a, b) = (a?, b?);
    let sources = (source, [a.as_deref(), b.as_deref()]);
    let has_row = |parameter: Option<&Tensor>| parameter.is_none_or(|parameter| parameter.numel() == length);
    if source.numel() != count.saturating_mul(length) || !has_row(a.as_deref()) || !has_row(b.as_deref()) {
        return Err(Error::resized(op));
    }
    let sizes = [length, 1, 1].map(|count| Some(count.saturating_mul(size_of::<T>())));
    let rows = Rows::new(op, sources, length, sizes, threaded);
    let row: Box<RowFunction> = Box::new(move |[out, first_out, second_out], [row, a, b], _| {
        // SAFETY: as in `map_rows`.
        unsafe {
            let parameters = [a, b].map(|pointer| (!pointer.is_null()).then(|| slice(pointer, length)));
            let (written, [first, second]) = f(slice(row, length), parameters, slice_mut(out, length));
            debug_assert_eq!(written.as_ptr().cast(), out.cast_const(), "the row of the result");
            first_out.cast::<T>().write(first);
            second_out.cast::<T>().write(second);
        }
        Ok(())
    });
    let count: &[usize] = &[count];
    let rows = Rows { is_zeroed: false, ..rows };
    rows.launch([(source.shape(), T::DTYPE), (count, T::DTYPE), (count, T::DTYPE)], sources, row)
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
/// They are values of the type, and no other code uses them.
unsafe fn slice_mut<'a, T>(row: *mut u8, length: usize) -> &'a mut [T] {
    debug_assert!(row.cast::<T>().is_aligned(), "an unaligned row");
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts_mut(row.cast(), length) }
}
