//! Two-dimensional convolutions and their gradients: as products of matrices, and as loops.
//!
//! A convolution and its two gradients are sums of the same products, each of an element of the input, of the weight and
//! of the output, so one [`ConvGeometry`] describes all three.

mod columns;
mod direct;
mod gemm;
mod weight;

use std::ops::Range;

pub(crate) use columns::{add_columns, columns};

use super::chunk_of_parts;
use super::matmul::{MatmulElement, THREADED_WORK};
use crate::iterate::parts::part;
use crate::iterate::{TensorPart, parallel};
use crate::storage::Placement;
use crate::storage::fallible_alloc::{try_collect, try_from_elem};
use crate::{Result, Tensor};

/// The result that is computed from the two other tensors of a convolution.
///
/// ```
/// use interlock_tensor::ConvPass;
///
/// assert_ne!(ConvPass::Forward, ConvPass::WeightGradient);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConvPass {
    /// The output, from the input and the weight.
    Forward,
    /// The gradient of the input, from that of the output and the weight.
    InputGradient,
    /// The gradient of the weight, from that of the output and the input.
    WeightGradient,
}

impl ConvPass {
    /// Returns the properties of both operands, of those of the input, the weight and the output.
    pub(super) fn operands<T>(self, [input, weight, output]: [T; 3]) -> [T; 2] {
        match self {
            ConvPass::Forward => [input, weight],
            ConvPass::InputGradient => [output, weight],
            ConvPass::WeightGradient => [output, input],
        }
    }
}

/// The algorithm of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConvAlgorithm {
    /// Products of the weight and matrices of image patches, which exist for a tile of the output at a time.
    Gemm,
    /// Like `Gemm`; the parts of a gradient of the weight are added in the order in which threads complete them.
    Unordered,
    /// Loops over the elements, without scratch memory.
    Direct,
}

/// The sizes and options of a convolution. Pairs are of rows and columns. Every size and product of sizes of its tensors
/// fits a `usize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConvGeometry {
    /// The number of images.
    pub batch: usize,
    pub groups: usize,
    /// The input channels of a group.
    pub channels: usize,
    /// The output channels of a group.
    pub filters: usize,
    pub input: [usize; 2],
    pub kernel: [usize; 2],
    pub output: [usize; 2],
    pub stride: [usize; 2],
    pub dilation: [usize; 2],
    /// Zeros before the first row and column. Those after the last are implied by the output.
    pub padding: [usize; 2],
}

/// Returns the product of two sizes of a tensor.
fn area([rows, columns]: [usize; 2]) -> usize {
    rows.saturating_mul(columns)
}

impl ConvGeometry {
    /// Returns the shape of the input.
    pub fn input_shape(&self) -> [usize; 4] {
        let [rows, columns] = self.input;
        [self.batch, self.groups.saturating_mul(self.channels), rows, columns]
    }

    /// Returns the shape of the weight.
    pub fn weight_shape(&self) -> [usize; 4] {
        let [rows, columns] = self.kernel;
        [self.groups.saturating_mul(self.filters), self.channels, rows, columns]
    }

    /// Returns the shape of the output.
    pub fn output_shape(&self) -> [usize; 4] {
        let [rows, columns] = self.output;
        [self.batch, self.groups.saturating_mul(self.filters), rows, columns]
    }

    /// Returns the shape of the result of a pass.
    pub fn result_shape(&self, pass: ConvPass) -> [usize; 4] {
        match pass {
            ConvPass::Forward => self.output_shape(),
            ConvPass::InputGradient => self.input_shape(),
            ConvPass::WeightGradient => self.weight_shape(),
        }
    }

    /// Returns the sources of a pass: its operands, which are contiguous, and the bias.
    pub fn sources<'a>(
        &self,
        pass: ConvPass,
        [first, second]: [&'a Tensor; 2],
        bias: Option<&'a Tensor>,
    ) -> Vec<TensorPart<'a>> {
        let weight = self.weight_shape();
        let [first_shape, second_shape] = pass.operands([self.input_shape(), weight, self.output_shape()]);
        let mut sources = vec![operand(first, &first_shape), operand(second, &second_shape)];
        sources.extend(bias.map(|bias| operand(bias, &weight[..1])));
        sources
    }

    /// Returns whether each input channel is a group of its own.
    pub fn is_depthwise(&self) -> bool {
        self.groups > 1 && self.channels == 1
    }

    /// Returns the number of multiplications.
    pub fn work(&self) -> usize {
        let images = self.batch.saturating_mul(self.groups).saturating_mul(self.filters);
        images.saturating_mul(self.depth()).saturating_mul(self.positions())
    }

    /// Returns whether the channels of a tap are consecutive rows of a matrix of patches, else the taps of a channel are.
    /// Products are summed in the order of the rows, which is that of oneDNN.
    pub fn has_channels_last(&self) -> bool {
        self.groups == 1
    }

    /// Returns the shape of the weight as products of matrices read it.
    pub fn product_weight_shape(&self) -> [usize; 4] {
        let [filters, channels, rows, columns] = self.weight_shape();
        if self.has_channels_last() { [filters, rows, columns, channels] } else { self.weight_shape() }
    }

    /// Returns the first row of a tap in a matrix of patches of some channels, and the distance between two.
    fn rows_of_tap(&self, tap: usize, channels: usize) -> (usize, usize) {
        if self.has_channels_last() {
            (tap.saturating_mul(channels), 1)
        } else {
            (tap, area(self.kernel).max(1))
        }
    }

    /// Returns the number of products in an element of the output: the rows of a matrix of patches.
    pub fn depth(&self) -> usize {
        self.channels.saturating_mul(area(self.kernel))
    }

    /// Returns the elements of an output channel: the columns of a matrix of patches.
    pub fn positions(&self) -> usize {
        area(self.output)
    }

    /// Returns the elements of an input channel.
    fn plane(&self) -> usize {
        area(self.input)
    }

    /// Returns whether a matrix of patches equals the image.
    fn is_pointwise(&self) -> bool {
        self.kernel == [1, 1] && self.stride == [1, 1] && self.padding == [0, 0] && self.output == self.input
    }

    /// Returns the output rows (axis 0) or columns (axis 1) for which a tap of the kernel is inside of the image.
    fn inside(&self, axis: usize, tap: usize) -> Range<usize> {
        let [size, output, stride, padding] =
            [self.input, self.output, self.stride, self.padding].map(at(axis));
        let shift = tap.saturating_mul(at(axis)(self.dilation));
        let first = padding.saturating_sub(shift).div_ceil(stride.max(1)).min(output);
        let end = padding.saturating_add(size).saturating_sub(shift).div_ceil(stride.max(1)).min(output);
        first..end.max(first)
    }

    /// Returns the zeros after the last row (axis 0) or column (axis 1) that the output reads.
    pub(super) fn padding_after(&self, axis: usize) -> usize {
        let [kernel, dilation, output, stride, input, padding] =
            [self.kernel, self.dilation, self.output, self.stride, self.input, self.padding].map(at(axis));
        let taps = kernel.saturating_sub(1).saturating_mul(dilation).saturating_add(1);
        let read = output.saturating_sub(1).saturating_mul(stride).saturating_add(taps);
        read.saturating_sub(input.saturating_add(padding))
    }

    /// Returns the input row or column at which a tap is for an output row or column that is [`inside`].
    ///
    /// [`inside`]: ConvGeometry::inside
    fn source(&self, axis: usize, tap: usize, position: usize) -> usize {
        let [stride, padding, dilation] = [self.stride, self.padding, self.dilation].map(at(axis));
        position.saturating_mul(stride).saturating_add(tap.saturating_mul(dilation)).saturating_sub(padding)
    }

    /// Iterates over the elements of the kernel, row by row.
    fn taps(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let [rows, columns] = self.kernel;
        (0..rows).flat_map(move |row| (0..columns).map(move |column| [row, column]))
    }

    /// Returns the output positions of a tile of patches. They depend on the shape only, so that results do not depend on
    /// the number of threads.
    fn tile(&self) -> usize {
        /// Elements of a tile: half of a usual L2 cache.
        const ELEMENTS: usize = 1 << 17;
        /// Narrower tiles are slow.
        const LEAST: usize = 64;
        if self.is_pointwise() {
            return self.positions();
        }
        (ELEMENTS / self.depth().max(1)).max(LEAST).min(self.positions())
    }

    /// Returns the elements of scratch memory for a tile.
    fn scratch(&self) -> usize {
        if self.is_pointwise() { 0 } else { self.tile().saturating_mul(self.depth()) }
    }

    /// Iterates over the tiles of output positions.
    fn tiles(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (tile, positions) = (self.tile().max(1), self.positions());
        (0..positions).step_by(tile).map(move |first| first..first.saturating_add(tile).min(positions))
    }

    /// Returns the number of channels of `count` that a part computes. Parts of a few large images are divided, so that
    /// threads can share them; the size depends on the shape only.
    fn block(&self, count: usize) -> usize {
        /// Parts that occupy usual numbers of threads.
        const PARTS: usize = 8;
        /// Blocks of fewer channels are slow.
        const LEAST: usize = 32;
        let images = self.batch.saturating_mul(self.groups).max(1);
        if self.work() < THREADED_WORK || images >= PARTS {
            return count.max(1);
        }
        count.div_ceil(PARTS.div_ceil(images)).max(LEAST).min(count.max(1))
    }
}

/// Returns a function that returns the size of an axis of a pair.
fn at(axis: usize) -> impl Fn([usize; 2]) -> usize + use<> {
    move |[rows, columns]| if axis == 0 { rows } else { columns }
}

/// Returns the number of parts between two checks for interrupts.
pub(super) fn chunk(geometry: &ConvGeometry, parts: usize, threads: usize) -> usize {
    chunk_of_parts(geometry.work() / parts.max(1), threads)
}

/// Returns a contiguous operand of a shape that the geometry has.
fn operand<'a>(tensor: &'a Tensor, shape: &[usize]) -> TensorPart<'a> {
    TensorPart::contiguous(tensor, shape.iter().product())
}

/// Returns the shape of scratch memory of a device, which its allocator provides. On the CPU each thread allocates its
/// own.
fn scratch_shape(placement: Placement, length: usize) -> [usize; 1] {
    match placement {
        Placement::Device(_) => [length],
        Placement::Cpu | Placement::Pinned => [0],
    }
}

/// Returns the elements of some parts of a result whose parts have `size` elements each, with the numbers of the parts.
fn elements_of<T>(out: &mut [T], size: usize, parts: Range<usize>) -> Result<Vec<(usize, &mut [T])>> {
    let all = out.chunks_mut(size.max(1)).enumerate();
    try_collect(parts.len(), all.skip(parts.start))
}

/// Calls `work` with each task and scratch memory of `length` elements: `scratch` if it is there, else memory of the
/// thread.
fn for_each_task<T: MatmulElement, I: Send>(
    threads: usize,
    mut tasks: Vec<I>,
    scratch: &mut [T],
    length: usize,
    work: &(dyn Fn(&mut I, &mut [T]) -> Result<()> + Sync),
) -> Result<()> {
    if !scratch.is_empty() {
        return tasks.iter_mut().try_for_each(|task| work(task, scratch));
    }
    // Several tasks use the scratch memory of one allocation. More lots than threads balance their speeds.
    let lots = if threads == 1 { 1 } else { threads.saturating_mul(4) };
    let lot = tasks.len().div_ceil(lots).max(1);
    parallel::for_each(threads, tasks.chunks_mut(lot), &|tasks| {
        let mut scratch = try_from_elem(T::default(), length)?;
        tasks.iter_mut().try_for_each(|task| work(task, &mut scratch))
    })
}

/// Computes a pass of a convolution from contiguous operands of one type. All algorithms but `Direct` have weights, and
/// return gradients of them, of the shape `product_weight_shape`. `bias` has an element for each output channel
/// and is added by the pass [`Forward`](ConvPass::Forward).
pub(crate) fn convolve<T: MatmulElement>(
    op: &'static str,
    algorithm: ConvAlgorithm,
    pass: ConvPass,
    geometry: ConvGeometry,
    operands: [&Tensor; 2],
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    match (algorithm, pass) {
        (ConvAlgorithm::Direct, _) => direct::run::<T>(op, pass, geometry, operands, bias),
        (_, ConvPass::WeightGradient) => {
            weight::run::<T>(op, geometry, operands, algorithm == ConvAlgorithm::Unordered)
        }
        _ => gemm::run::<T>(op, pass, geometry, operands, bias),
    }
}
