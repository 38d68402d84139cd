//! Matrices of image patches, as `im2col` of Caffe: one row for each channel and tap of the kernel, and one column for each
//! output position.

use std::ops::Range;

use super::{ConvGeometry, at, chunk, elements_of, operand, part};
use crate::dtype::dispatch_size;
use crate::iterate::parallel::{self, THREADED_ELEMENTS};
use crate::iterate::parts::{part_mut, rest, rest_mut, source, split_mut};
use crate::iterate::{PartedKernel, bits, launch_several, reinterpret, threads_on};
use crate::{Element, Result, Tensor};

/// Consecutive output positions of a tile for which a tap of the kernel is inside of the image.
struct Run {
    /// The first element in a row of the matrix.
    start: usize,
    /// The first element in a channel of the image.
    source: usize,
    length: usize,
}

/// Calls `work` with the runs of a tap: at most one for each output row.
fn for_each_run(
    g: &ConvGeometry,
    [tap_row, tap_column]: [usize; 2],
    positions: &Range<usize>,
    work: &mut dyn FnMut(Run),
) {
    let ([_, width], [_, output_width]) = (g.input, g.output);
    let (lines, inside) = (g.inside(0, tap_row), g.inside(1, tap_column));
    let first = (positions.start / output_width.max(1)).max(lines.start);
    let end = positions.end.div_ceil(output_width.max(1)).min(lines.end);
    for line in first..end {
        let begin = line.saturating_mul(output_width);
        let start = begin.saturating_add(inside.start).max(positions.start);
        let end = begin.saturating_add(inside.end).min(positions.end);
        if start < end {
            let source = g.source(0, tap_row, line).saturating_mul(width);
            let column = g.source(1, tap_column, start - begin);
            let source = source.saturating_add(column);
            work(Run { start: start - positions.start, source, length: end - start });
        }
    }
}

/// Writes the patches of some output positions, in rows of as many elements as positions. `image` has the channels of a
/// group.
pub(super) fn write_columns<T: Element>(
    geometry: &ConvGeometry,
    image: &[T],
    positions: &Range<usize>,
    matrix: &mut [T],
) {
    let (plane, step, count) = (geometry.plane().max(1), geometry.stride[1].max(1), positions.len().max(1));
    for (number, tap) in geometry.taps().enumerate() {
        let of_tap = geometry.rows_of_tap(number, geometry.channels);
        if geometry.input == geometry.output && geometry.stride == [1, 1] {
            write_shifted(geometry, tap, (image, plane), positions, (matrix, of_tap));
            continue;
        }
        let mut written = 0;
        for_each_run(geometry, tap, positions, &mut |run| written += run.length);
        if written < count {
            let rows = rows_mut(matrix, count, of_tap).take(geometry.channels);
            rows.for_each(|row| row.fill(T::default()));
        }
        for_each_run(geometry, tap, positions, &mut |Run { start, source, length }| {
            for (plane, row) in image.chunks_exact(plane).zip(rows_mut(matrix, count, of_tap)) {
                let out = part_mut(row, start, length).iter_mut();
                if step == 1 {
                    out.zip(part(plane, source, length)).for_each(|(out, value)| *out = *value);
                } else {
                    let values = rest(plane, source).iter().step_by(step);
                    out.zip(values).for_each(|(out, value)| *out = *value);
                }
            }
        });
    }
}

/// Iterates over the rows of `count` elements of a tap: the first row, and the distance between two of them.
fn rows_mut<T>(
    matrix: &mut [T],
    count: usize,
    (first, distance): (usize, usize),
) -> impl Iterator<Item = &mut [T]> {
    matrix.chunks_exact_mut(count).skip(first).step_by(distance)
}

/// Writes the rows of a tap if the output has the rows and columns of the image: they are the image, moved.
fn write_shifted<T: Element>(
    geometry: &ConvGeometry,
    [tap_row, tap_column]: [usize; 2],
    (image, plane): (&[T], usize),
    positions: &Range<usize>,
    (matrix, of_tap): (&mut [T], (usize, usize)),
) {
    let ([_, width], g, count) = (geometry.input, geometry, positions.len().max(1));
    // How far the tap is ahead of a position, and how far the padding is behind it, in elements.
    let [rows_ahead, columns_ahead] =
        [(tap_row, 0), (tap_column, 1)].map(|(tap, axis)| tap.saturating_mul(at(axis)(g.dilation)));
    let ahead = rows_ahead.saturating_mul(width).saturating_add(columns_ahead);
    let behind = g.padding[0].saturating_mul(width).saturating_add(g.padding[1]);
    let (lines, inside) = (g.inside(0, tap_row), g.inside(1, tap_column));
    let first = lines.start.saturating_mul(width).max(behind.saturating_sub(ahead));
    let first = first.clamp(positions.start, positions.end);
    let end = lines.end.saturating_mul(width).min(plane.saturating_add(behind).saturating_sub(ahead));
    let end = end.clamp(first, positions.end);
    let (source, length) = (first.saturating_add(ahead).saturating_sub(behind), end - first);
    for (plane, row) in image.chunks_exact(plane).zip(rows_mut(matrix, count, of_tap)) {
        let (before, rest) = split_mut(row, first.saturating_sub(positions.start));
        let (middle, after) = split_mut(rest, length);
        before.fill(T::default());
        after.fill(T::default());
        if let Some(source) = plane.get(source..source.saturating_add(length)) {
            middle.copy_from_slice(source);
        }
    }
    // The elements beside the image, which belong to the rows above and below it.
    for column in (0..inside.start).chain(inside.end..width) {
        for row in rows_mut(matrix, count, of_tap).take(g.channels) {
            let first = (column + width - positions.start % width) % width;
            row.iter_mut().skip(first).step_by(width).for_each(|out| *out = T::default());
        }
    }
}

/// Adds the elements of a matrix of patches to the elements of `image` that they are copies of.
pub(super) fn add_patches<T: Element>(
    geometry: &ConvGeometry,
    matrix: &[T],
    positions: &Range<usize>,
    image: &mut [T],
) {
    let (plane, step, count) = (geometry.plane().max(1), geometry.stride[1].max(1), positions.len().max(1));
    // A block of channels has fewer than the group.
    let channels = image.len() / plane;
    for (number, tap) in geometry.taps().enumerate() {
        let (first, distance) = geometry.rows_of_tap(number, channels);
        for_each_run(geometry, tap, positions, &mut |Run { start, source, length }| {
            let rows = matrix.chunks_exact(count).skip(first).step_by(distance);
            for (plane, row) in image.chunks_exact_mut(plane).zip(rows) {
                let values = part(row, start, length);
                let out = rest_mut(plane, source);
                match out.get_mut(..length) {
                    Some(out) if step == 1 => {
                        out.iter_mut().zip(values).for_each(|(out, value)| *out = out.plus(*value));
                    }
                    _ => {
                        let out = out.iter_mut().step_by(step);
                        out.zip(values).for_each(|(out, value)| *out = out.plus(*value));
                    }
                }
            }
        });
    }
}

/// A function that converts a group of an image to a matrix of patches, or back: the geometry, the elements, the output
/// positions, and the result, which is zeroed.
type Conversion<T> = fn(&ConvGeometry, &[T], &Range<usize>, &mut [T]);

/// Converts the groups of images. A part is a group of an image.
struct Convert<T> {
    geometry: ConvGeometry,
    convert: Conversion<T>,
    /// The elements of a part, before and after the conversion.
    sizes: [usize; 2],
    threads: usize,
}

impl<T: Element> PartedKernel<T, 1> for Convert<T> {
    fn parts(&self) -> usize {
        self.geometry.batch.saturating_mul(self.geometry.groups)
    }

    fn chunk(&self) -> usize {
        chunk(&self.geometry, self.geometry.batch.saturating_mul(self.geometry.groups), self.threads)
    }

    fn run(&self, parts: Range<usize>, [out]: [&mut [T]; 1], sources: &[&[T]]) -> Result<()> {
        let (positions, [from, to]) = (0..self.geometry.positions(), self.sizes);
        let (source, tasks) = (source(sources, 0), elements_of(out, to, parts)?);
        parallel::for_each(self.threads, tasks.into_iter(), &|(number, out)| {
            let source = part(source, number.saturating_mul(from), from);
            (self.convert)(&self.geometry, source, &positions, out);
            Ok(())
        })
    }
}

fn convert<T: Element>(
    op: &'static str,
    geometry: ConvGeometry,
    source: &Tensor,
    (convert, sizes): (Conversion<T>, [usize; 2]),
    shape: &[usize],
) -> Result<Tensor> {
    let placement = source.placement();
    let work = geometry.work() / geometry.filters.max(1);
    let threads = threads_on(placement, work, THREADED_ELEMENTS);
    let kernel = Convert { geometry, convert, sizes, threads };
    let source = operand(source, &[geometry.batch, geometry.groups, sizes[0]]);
    let [out] = launch_several::<T, 1>(op, placement, [shape], &[source], kernel)?;
    Ok(out)
}

/// Returns the elements of a group of an image, and of its matrix.
fn sizes(geometry: &ConvGeometry) -> [usize; 2] {
    let matrix = geometry.depth().saturating_mul(geometry.positions());
    [geometry.channels.saturating_mul(geometry.plane()), matrix]
}

/// Returns the matrices of patches of contiguous images, of shape (batch, groups, depth, positions).
pub(crate) fn columns(op: &'static str, geometry: ConvGeometry, images: &Tensor) -> Result<Tensor> {
    let ConvGeometry { batch, groups, .. } = geometry;
    let (shape, bits) = ([batch, groups, geometry.depth(), geometry.positions()], bits(images));
    let out = dispatch_size!(bits.dtype(), T => {
        convert::<T>(op, geometry, &bits, (write_columns, sizes(&geometry)), &shape)
    })?;
    Ok(reinterpret(&out, images.dtype()))
}

/// Returns images to which the elements of contiguous matrices of patches are added, in a type of arithmetic.
pub(crate) fn add_columns<T: Element>(
    op: &'static str,
    geometry: ConvGeometry,
    matrices: &Tensor,
) -> Result<Tensor> {
    let [image, matrix] = sizes(&geometry);
    convert::<T>(op, geometry, matrices, (add_patches, [matrix, image]), &geometry.input_shape())
}
