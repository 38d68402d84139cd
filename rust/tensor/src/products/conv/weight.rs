//! The gradient of the weight of a convolution: a sum of products over the images, which is computed in lanes of images
//! and added either in their order or in that of their completion.

use std::ops::Range;

use interlock::num_threads;
use interlock_core::base::mutex::Mutex;

use super::columns::write_columns;
use super::{ConvGeometry, ConvPass, chunk, elements_of, for_each_task, part, scratch_shape};
use crate::iterate::parts::{part_mut, source, split_mut};
use crate::iterate::{PartedKernel, launch_several, parallel, sum, threads_on};
use crate::products::matmul::{MatmulElement, Matrix, THREADED_WORK};
use crate::storage::fallible_alloc::try_from_elem;
use crate::{Result, Tensor};

/// The sums of the images of each lane.
#[derive(Clone, Copy)]
struct Lanes {
    geometry: ConvGeometry,
    /// The number of lanes. It depends on the shape only.
    count: usize,
    threads: usize,
}

impl Lanes {
    /// The most lanes: each has a copy of the gradient.
    const MOST: usize = 4;

    /// Returns the images of a lane.
    fn images(&self, lane: usize) -> Range<usize> {
        let size = self.geometry.batch.div_ceil(self.count.max(1));
        let first = lane.saturating_mul(size).min(self.geometry.batch);
        first..first.saturating_add(size).min(self.geometry.batch)
    }

    /// Returns the elements of the gradient of a group.
    fn group_size(&self) -> usize {
        self.geometry.filters.saturating_mul(self.geometry.depth())
    }

    /// Adds the products of the images of a lane to the gradient of a group.
    fn add_lane<T: MatmulElement>(
        &self,
        (lane, group): (usize, usize),
        out: &mut [T],
        [gradient, input]: [&[T]; 2],
        scratch: &mut [T],
    ) -> Result<()> {
        let g = &self.geometry;
        let (depth, positions) = (g.depth(), g.positions());
        for image in self.images(lane) {
            let number = image * g.groups + group;
            let plane = part(input, number * g.channels * g.plane(), g.channels * g.plane());
            for tile in g.tiles() {
                let first = number * g.filters * positions + tile.start;
                let of_output = Matrix::from_rows(g.filters, tile.len(), positions).at(first);
                let patches = Matrix::from_rows(depth, tile.len(), tile.len()).transposed();
                let columns = if g.is_pointwise() {
                    plane
                } else {
                    write_columns(g, plane, &tile, scratch);
                    &*scratch
                };
                T::add_product(out, depth, (gradient, of_output), (columns, patches))?;
            }
        }
        Ok(())
    }
}

/// Computes the gradient of each lane. A part is a group of a lane.
struct Ordered(Lanes);

impl<T: MatmulElement> PartedKernel<T, 2> for Ordered {
    fn parts(&self) -> usize {
        self.0.count.saturating_mul(self.0.geometry.groups)
    }

    fn chunk(&self) -> usize {
        let parts = self.0.count.saturating_mul(self.0.geometry.groups);
        chunk(&self.0.geometry, parts, self.0.threads)
    }

    fn run(&self, parts: Range<usize>, [out, scratch]: [&mut [T]; 2], sources: &[&[T]]) -> Result<()> {
        let (sources, geometry) = ([0, 1].map(|index| source(sources, index)), &self.0.geometry);
        let (tasks, groups) = (elements_of(out, self.0.group_size(), parts)?, geometry.groups.max(1));
        for_each_task(self.0.threads, tasks, scratch, geometry.scratch(), &|(number, out), scratch| {
            self.0.add_lane((*number / groups, *number % groups), out, sources, scratch)
        })
    }
}

/// Computes lanes on several threads and adds each to the result when it is complete, as atomic additions do.
struct Unordered(Lanes);

impl Unordered {
    /// Returns the elements of scratch memory of a lane: the gradient of a group, and a tile of patches.
    fn lane_size(&self) -> usize {
        self.0.group_size().saturating_add(self.0.geometry.scratch())
    }
}

impl<T: MatmulElement> PartedKernel<T, 2> for Unordered {
    fn parts(&self) -> usize {
        self.0.geometry.groups
    }

    fn chunk(&self) -> usize {
        chunk(&self.0.geometry, self.0.geometry.groups, 1)
    }

    fn run(&self, parts: Range<usize>, [out, scratch]: [&mut [T]; 2], sources: &[&[T]]) -> Result<()> {
        let (sources, size) = ([0, 1].map(|index| source(sources, index)), self.0.group_size());
        let mut own;
        let scratch = if scratch.is_empty() {
            own = try_from_elem(T::default(), self.0.count.saturating_mul(self.lane_size()))?;
            own.as_mut_slice()
        } else {
            scratch
        };
        for group in parts {
            let out = part_mut(out, group.saturating_mul(size), size);
            let total = Mutex::new(out);
            let lanes = scratch.chunks_mut(self.lane_size().max(1)).take(self.0.count).enumerate();
            parallel::for_each(self.0.threads, lanes, &|(lane, scratch)| {
                let (sums, patches) = split_mut(scratch, size);
                sums.fill(T::default());
                self.0.add_lane((lane, group), sums, sources, patches)?;
                let mut total = total.lock();
                total.iter_mut().zip(sums).for_each(|(total, sum)| *total = total.plus(*sum));
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Returns the gradient of the weight of a convolution. Its shape is
/// `product_weight_shape`. If `is_unordered`, the order of additions is not fixed.
pub(super) fn run<T: MatmulElement>(
    op: &'static str,
    geometry: ConvGeometry,
    operands: [&Tensor; 2],
    is_unordered: bool,
) -> Result<Tensor> {
    let (placement, shape) = (operands[0].placement(), geometry.product_weight_shape());
    let is_large = is_unordered || geometry.work() >= THREADED_WORK;
    let count = if is_large { geometry.batch.clamp(1, Lanes::MOST) } else { 1 };
    let threads = if is_unordered {
        num_threads().get()
    } else {
        threads_on(placement, geometry.work(), THREADED_WORK)
    };
    let sources = geometry.sources(ConvPass::WeightGradient, operands, None);
    let lanes = Lanes { geometry, count, threads };
    if is_unordered {
        let kernel = Unordered(lanes);
        let scratch = scratch_shape(placement, count.saturating_mul(kernel.lane_size()));
        let [out, _] = launch_several::<T, 2>(op, placement, [&shape, &scratch], &sources, kernel)?;
        return Ok(out);
    }
    let scratch = scratch_shape(placement, geometry.scratch());
    let [filters, a, b, c] = shape;
    let of_lanes = [count, filters, a, b, c];
    let shapes = [if count == 1 { &shape[..] } else { &of_lanes }, &scratch];
    let [out, _] = launch_several::<T, 2>(op, placement, shapes, &sources, Ordered(lanes))?;
    if count == 1 {
        return Ok(out);
    }
    sum(op, &out, &[true, false, false, false, false], &shape)
}
