//! Matrices of image patches, as `im2col` of Caffe: one row for each tap of the kernel and channel, and one column for each
//! output position. The channels of a tap are consecutive, unlike those of `torch.nn.functional.unfold`, so that products
//! are summed in the order of oneDNN.

use std::ops::Range;

use super::{ConvGeometry, chunk, operand, part};
use crate::fallible_alloc::try_push;
use crate::kernel::launch::{PartedKernel, launch_several, threads_on};
use crate::kernel::parallel::{self, THREADED_ELEMENTS};
use crate::{Element, Result, Tensor};

/// A part of an output row that is in a tile.
struct Segment {
    /// The output row.
    row: usize,
    /// The output columns.
    columns: Range<usize>,
    /// The first element in a row of the matrix.
    start: usize,
}

/// Iterates over the parts of output rows in a range of positions.
fn segments(geometry: &ConvGeometry, positions: &Range<usize>) -> impl Iterator<Item = Segment> + use<> {
    let ([_, width], begin, end) = (geometry.output, positions.start, positions.end);
    let mut next = begin;
    std::iter::from_fn(move || {
        if next >= end || width == 0 {
            return None;
        }
        let (row, column) = (next / width, next % width);
        let count = (width - column).min(end - next);
        let segment = Segment { row, columns: column..column + count, start: next - begin };
        next += count;
        Some(segment)
    })
}

/// Writes the patches of some output positions, in rows of as many elements as positions. `image` has the channels of a
/// group.
pub(super) fn write_columns<T: Element>(
    geometry: &ConvGeometry,
    image: &[T],
    positions: &Range<usize>,
    matrix: &mut [T],
) {
    let ([_, width], step) = (geometry.input, geometry.stride[1].max(1));
    let mut rows = matrix.chunks_exact_mut(positions.len().max(1));
    for [tap_row, tap_column] in geometry.taps() {
        let (lines, inside) = (geometry.inside(0, tap_row), geometry.inside(1, tap_column));
        for (plane, row) in image.chunks_exact(geometry.plane().max(1)).zip(&mut rows) {
            for Segment { row: line, columns, start } in segments(geometry, positions) {
                let Some(out) = row.get_mut(start..start.saturating_add(columns.len())) else { continue };
                let first = inside.start.clamp(columns.start, columns.end);
                let end = inside.end.clamp(first, columns.end);
                if !lines.contains(&line) || first == end {
                    out.fill(T::default());
                    continue;
                }
                let (before, rest) = out.split_at_mut_checked(first - columns.start).unwrap_or_default();
                let (middle, after) = rest.split_at_mut_checked(end - first).unwrap_or_default();
                before.fill(T::default());
                after.fill(T::default());
                let begin = geometry.source(0, tap_row, line).saturating_mul(width);
                let source = plane.get(begin.saturating_add(geometry.source(1, tap_column, first))..);
                let source = source.unwrap_or_default();
                match source.get(..middle.len()) {
                    Some(source) if step == 1 => middle.copy_from_slice(source),
                    _ => middle
                        .iter_mut()
                        .zip(source.iter().step_by(step))
                        .for_each(|(out, value)| *out = *value),
                }
            }
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
    let ([_, width], step) = (geometry.input, geometry.stride[1].max(1));
    let mut rows = matrix.chunks_exact(positions.len().max(1));
    for [tap_row, tap_column] in geometry.taps() {
        let (lines, inside) = (geometry.inside(0, tap_row), geometry.inside(1, tap_column));
        for (plane, row) in image.chunks_exact_mut(geometry.plane().max(1)).zip(&mut rows) {
            for Segment { row: line, columns, start } in segments(geometry, positions) {
                let first = inside.start.clamp(columns.start, columns.end);
                let end = inside.end.clamp(first, columns.end);
                if !lines.contains(&line) {
                    continue;
                }
                let values = part(row, start + (first - columns.start), end - first);
                let begin = geometry.source(0, tap_row, line).saturating_mul(width);
                let out = plane.get_mut(begin.saturating_add(geometry.source(1, tap_column, first))..);
                let out = out.unwrap_or_default();
                match out.get_mut(..values.len()) {
                    Some(out) if step == 1 => {
                        out.iter_mut().zip(values).for_each(|(out, value)| *out = out.plus(*value));
                    }
                    _ => {
                        let out = out.iter_mut().step_by(step);
                        out.zip(values).for_each(|(out, value)| *out = out.plus(*value));
                    }
                }
            }
        }
    }
}

/// The direction of a conversion between images and matrices of patches.
#[derive(Clone, Copy)]
enum Direction {
    ToColumns,
    ToImages,
}

/// Converts the groups of images. A part is a group of an image.
struct Convert {
    geometry: ConvGeometry,
    direction: Direction,
    start: usize,
    threads: usize,
}

impl Convert {
    /// Returns the elements of a group of an image, and those of its matrix.
    fn sizes(&self) -> [usize; 2] {
        let ConvGeometry { channels, .. } = self.geometry;
        let matrix = self.geometry.depth().saturating_mul(self.geometry.positions());
        [channels.saturating_mul(self.geometry.plane()), matrix]
    }
}

impl<T: Element> PartedKernel<T, 1> for Convert {
    fn parts(&self) -> usize {
        self.geometry.batch.saturating_mul(self.geometry.groups)
    }

    fn chunk(&self) -> usize {
        chunk(&self.geometry, self.geometry.batch.saturating_mul(self.geometry.groups), self.threads)
    }

    fn run(&self, parts: Range<usize>, [out]: [&mut [T]; 1], sources: &[&[T]]) -> Result<()> {
        let ([image, matrix], all) = (self.sizes(), 0..self.geometry.positions());
        let source = operand(sources, 0, self.start);
        let (to, from) = match self.direction {
            Direction::ToColumns => (matrix, image),
            Direction::ToImages => (image, matrix),
        };
        let mut tasks = Vec::new();
        let outs = out.chunks_exact_mut(to.max(1)).enumerate();
        for (number, out) in outs.skip(parts.start).take(parts.len()) {
            try_push(&mut tasks, (part(source, number.saturating_mul(from), from), out))?;
        }
        parallel::for_each(self.threads, tasks.into_iter(), &|(source, out)| {
            match self.direction {
                Direction::ToColumns => write_columns(&self.geometry, source, &all, out),
                Direction::ToImages => add_patches(&self.geometry, source, &all, out),
            }
            Ok(())
        })
    }
}

fn convert<T: Element>(
    op: &'static str,
    geometry: ConvGeometry,
    source: &Tensor,
    direction: Direction,
    shape: &[usize],
) -> Result<Tensor> {
    let placement = source.placement();
    let work = geometry.work() / geometry.filters.max(1);
    let threads = threads_on(placement, work, THREADED_ELEMENTS);
    let kernel = Convert { geometry, direction, start: source.storage_offset(), threads };
    let [out] = launch_several::<T, 1>(op, placement, [shape], &[source], kernel)?;
    Ok(out)
}

/// Returns the matrices of patches of contiguous images, of shape (batch, groups, depth, positions).
pub(crate) fn columns<T: Element>(
    op: &'static str,
    geometry: ConvGeometry,
    images: &Tensor,
) -> Result<Tensor> {
    let ConvGeometry { batch, groups, .. } = geometry;
    let shape = [batch, groups, geometry.depth(), geometry.positions()];
    convert::<T>(op, geometry, images, Direction::ToColumns, &shape)
}

/// Returns images to which the elements of contiguous matrices of patches are added.
pub(crate) fn add_columns<T: Element>(
    op: &'static str,
    geometry: ConvGeometry,
    matrices: &Tensor,
) -> Result<Tensor> {
    convert::<T>(op, geometry, matrices, Direction::ToImages, &geometry.input_shape())
}
