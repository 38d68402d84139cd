//! The output of a convolution and the gradient of its input, as products of the weight and matrices of patches.

use std::ops::Range;

use super::columns::{add_patches, write_columns};
use super::{ConvGeometry, ConvPass, area, chunk, for_each_task, part, scratch_shape};
use crate::iterate::parts::{part_mut, rest_mut, source};
use crate::iterate::{PartedKernel, launch_several, threads_on};
use crate::products::matmul::{MatmulElement, Matrix, THREADED_WORK};
use crate::storage::fallible_alloc::try_push;
use crate::{Result, Tensor};

/// A block of channels of the result of a group of an image.
struct Block<'a, T> {
    image: usize,
    group: usize,
    /// The channels, counted from the first of the group.
    channels: Range<usize>,
    out: &'a mut [T],
}

/// Computes the output, or the gradient of the input. A part is a block of channels of the result.
struct Products {
    geometry: ConvGeometry,
    pass: ConvPass,
    /// The channels of the result in each group.
    channels: usize,
    /// The elements of a channel.
    plane: usize,
    threads: usize,
}

impl Products {
    /// Returns the number of channels of a block.
    fn block_size(&self) -> usize {
        self.geometry.block(self.channels)
    }

    /// Returns the number of blocks of a group of an image.
    fn block_count(&self) -> usize {
        self.channels.div_ceil(self.block_size())
    }

    fn part_count(&self) -> usize {
        self.geometry.batch.saturating_mul(self.geometry.groups).saturating_mul(self.block_count())
    }

    /// Returns the blocks with these numbers.
    fn blocks<'a, T>(&self, parts: Range<usize>, out: &'a mut [T]) -> Result<Vec<Block<'a, T>>> {
        let (count, size, groups) =
            (self.block_count().max(1), self.block_size(), self.geometry.groups.max(1));
        let mut blocks = Vec::new();
        let images = out.chunks_mut(self.channels.saturating_mul(self.plane).max(1)).enumerate();
        let first = parts.start / count;
        for (number, out) in images.skip(first).take(parts.end.div_ceil(count).saturating_sub(first)) {
            for (block, out) in out.chunks_mut(size.saturating_mul(self.plane).max(1)).enumerate() {
                if parts.contains(&(number * count + block)) {
                    let start = block * size;
                    let channels = start..start.saturating_add(size).min(self.channels);
                    let (image, group) = (number / groups, number % groups);
                    try_push(&mut blocks, Block { image, group, channels, out })?;
                }
            }
        }
        Ok(blocks)
    }

    /// Computes a block of the output.
    fn forward<T: MatmulElement>(
        &self,
        block: &mut Block<'_, T>,
        [input, weight, bias]: [&[T]; 3],
        scratch: &mut [T],
    ) -> Result<()> {
        let g = &self.geometry;
        let (depth, positions) = (g.depth(), g.positions());
        let first = block.group * g.filters + block.channels.start;
        let image_start = (block.image * g.groups + block.group) * g.channels * g.plane();
        let image = part(input, image_start, g.channels * g.plane());
        let rows = Matrix::from_rows(block.channels.len(), depth, depth).at(first * depth);
        if g.is_pointwise() {
            let image_matrix = Matrix::from_rows(depth, positions, positions);
            T::add_product(block.out, positions, (weight, rows), (image, image_matrix))?;
        } else {
            for tile in g.tiles() {
                write_columns(g, image, &tile, scratch);
                let patches = Matrix::from_rows(depth, tile.len(), tile.len());
                let out = rest_mut(block.out, tile.start);
                T::add_product(out, positions, (weight, rows), (&*scratch, patches))?;
            }
        }
        // Added last, as by oneDNN: its rounding is that of a separate addition.
        for (out, bias) in block.out.chunks_mut(positions.max(1)).zip(bias.iter().skip(first)) {
            out.iter_mut().for_each(|out| *out = out.plus(*bias));
        }
        Ok(())
    }

    /// Computes a block of the gradient of the input.
    fn input_gradient<T: MatmulElement>(
        &self,
        block: &mut Block<'_, T>,
        [gradient, weight, _]: [&[T]; 3],
        scratch: &mut [T],
    ) -> Result<()> {
        let g = &self.geometry;
        let (depth, positions, channels) = (g.depth(), g.positions(), block.channels.len());
        let weights = Matrix::from_rows(g.filters, depth, depth).at(block.group * g.filters * depth);
        let image = (block.image * g.groups + block.group) * g.filters * positions;
        let gradients =
            |tile: &Range<usize>| Matrix::from_rows(g.filters, tile.len(), positions).at(image + tile.start);
        // The rows of a block are consecutive, unless those of each tap are.
        let taps = area(g.kernel);
        let is_split = g.has_channels_last() && channels < g.channels;
        let (products, rows) = if is_split { (taps, channels) } else { (1, taps * channels) };
        let start = block.channels.start * if g.has_channels_last() { 1 } else { taps };
        let factors = |product: usize| {
            let first = product * g.channels + start;
            let rows = Matrix { columns: rows, ..weights.at(weights.start + first) };
            (weight, rows.transposed())
        };
        if g.is_pointwise() {
            return T::add_product(block.out, positions, factors(0), (gradient, gradients(&(0..positions))));
        }
        for tile in g.tiles() {
            let patches = part_mut(scratch, 0, taps * channels * tile.len());
            patches.fill(T::default());
            for (product, patches) in patches.chunks_mut(rows * tile.len()).take(products).enumerate() {
                T::add_product(patches, tile.len(), factors(product), (gradient, gradients(&tile)))?;
            }
            add_patches(g, patches, &tile, block.out);
        }
        Ok(())
    }
}

impl<T: MatmulElement> PartedKernel<T, 2> for Products {
    fn parts(&self) -> usize {
        self.part_count()
    }

    fn chunk(&self) -> usize {
        chunk(&self.geometry, self.part_count(), self.threads)
    }

    fn run(&self, parts: Range<usize>, [out, scratch]: [&mut [T]; 2], sources: &[&[T]]) -> Result<()> {
        let sources = [0, 1, 2].map(|index| source(sources, index));
        let blocks = self.blocks(parts, out)?;
        for_each_task(self.threads, blocks, scratch, self.geometry.scratch(), &|block, scratch| match self
            .pass
        {
            ConvPass::InputGradient => self.input_gradient(block, sources, scratch),
            _ => self.forward(block, sources, scratch),
        })
    }
}

/// Returns the output of a convolution, or the gradient of its input.
pub(super) fn run<T: MatmulElement>(
    op: &'static str,
    pass: ConvPass,
    geometry: ConvGeometry,
    operands: [&Tensor; 2],
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let placement = operands[0].placement();
    let threads = threads_on(placement, geometry.work(), THREADED_WORK);
    let (channels, plane) = match pass {
        ConvPass::InputGradient => (geometry.channels, geometry.plane()),
        _ => (geometry.filters, geometry.positions()),
    };
    let sources = geometry.sources(pass, operands, bias);
    let shapes = [&geometry.result_shape(pass)[..], &scratch_shape(placement, geometry.scratch())];
    let kernel = Products { geometry, pass, channels, plane, threads };
    let [out, _] = launch_several::<T, 2>(op, placement, shapes, &sources, kernel)?;
    Ok(out)
}
