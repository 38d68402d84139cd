//! Kernels of layer normalization.
//!
//! Source: Ba, Kiros and Hinton, "Layer Normalization" (2016). A row x of n elements with the mean m and the biased
//! variance v becomes y = (x - m) r w + b with r = 1 / sqrt(v + eps). For the gradient g of y, with h = (x - m) r, the
//! gradients are dx = r (g w - mean(g w) - h mean(g w h)), dw = sum of g h and db = sum of g over the rows.

use std::ops::Range;

use crate::iterate::parts::{part, rest, rest_mut, source, take};
use crate::iterate::{
    PartedKernel, THREADED_ELEMENTS, TensorPart, check_count, for_each, launch_several, rows_with_statistics,
    threads_on,
};
use crate::loops::real::Real;
use crate::storage::fallible_alloc::{try_from_elem, try_push};
use crate::{Result, Tensor, loops};

/// The number of elements from which on rows are normalized on several threads.
const THREADED: usize = THREADED_ELEMENTS / 4;

/// The rows of a tensor that is normalized. They are divided into tiles, which depend on the sizes only, so that results
/// do not depend on the number of threads.
#[derive(Clone, Copy)]
pub(crate) struct NormRows {
    pub rows: usize,
    pub length: usize,
}

impl NormRows {
    /// Returns the number of rows of a tile.
    fn tile(self) -> usize {
        /// The maximum number of tiles.
        const MOST: usize = 64;
        /// The minimum number of elements of a tile.
        const LEAST: usize = 1 << 12;
        self.rows.div_ceil(MOST).max(LEAST / self.length.max(1)).max(1)
    }

    /// Returns the number of tiles.
    pub(crate) fn tiles(self) -> usize {
        self.rows.div_ceil(self.tile())
    }

    /// Returns the first row and the number of rows of a tile.
    fn rows_of(self, tile: usize) -> (usize, usize) {
        let first = tile.saturating_mul(self.tile());
        (first, self.rows.saturating_sub(first).min(self.tile()))
    }

    /// Returns the number of tiles between two checks for interrupts.
    fn chunk(self, threads: usize) -> usize {
        const CHUNK_ELEMENTS: usize = 1 << 23;
        let elements = self.tile().saturating_mul(self.length).max(1);
        (CHUNK_ELEMENTS / elements).max(1).saturating_mul(threads)
    }

    /// Returns the elements of some rows of a tensor.
    fn slice<T>(self, data: &[T], (first, count): (usize, usize)) -> &[T] {
        part(data, first.saturating_mul(self.length), count.saturating_mul(self.length))
    }

    /// Returns the number of elements of the tensor.
    fn count(self) -> usize {
        self.rows.saturating_mul(self.length)
    }
}

/// Returns the normalized rows, their means and the reciprocals of their standard deviations. All tensors are
/// contiguous and of type `T`.
pub(crate) fn layer_norm<T: Real>(
    op: &'static str,
    rows: NormRows,
    input: &Tensor,
    parameters: [Option<&Tensor>; 2],
    eps: f64,
) -> Result<[Tensor; 3]> {
    rows_with_statistics(
        op,
        input,
        parameters,
        (rows.rows, rows.length),
        THREADED,
        move |row: &[T], parameters, out| {
            let (out, statistics) = loops::normalize(row, parameters, eps, out);
            (out, statistics.map(T::from_f64))
        },
    )
}

/// The saved results of the forward pass, and the gradient of its result.
pub(crate) struct NormResults<'a> {
    pub gradient: &'a Tensor,
    pub mean: &'a Tensor,
    pub rstd: &'a Tensor,
}

struct Backward {
    rows: NormRows,
    threads: usize,
}

/// A tile of the gradients. The sums over its rows are added up by the caller.
struct BackwardTile<'a, T> {
    rows: (usize, usize),
    input: &'a mut [T],
    weight: &'a mut [T],
    bias: &'a mut [T],
}

impl Backward {
    fn run_tile<T: Real>(&self, tile: BackwardTile<'_, T>, sources: &[&[T]], weight: &[T]) {
        let length = self.rows.length.max(1);
        let inputs = self.rows.slice(source(sources, 0), tile.rows).chunks_exact(length);
        let gradients = self.rows.slice(source(sources, 1), tile.rows).chunks_exact(length);
        let one = |data: usize| rest(source(sources, data), tile.rows.0).iter();
        let statistics = one(2).zip(one(3));
        for (((row, gradient), (mean, rstd)), out) in
            inputs.zip(gradients).zip(statistics).zip(tile.input.chunks_exact_mut(length))
        {
            let statistics = [mean.to_f64(), rstd.to_f64()];
            let sums = [&mut *tile.weight, &mut *tile.bias];
            loops::normalize_backward((row, gradient, weight), statistics, out, sums);
        }
    }
}

impl<T: Real> PartedKernel<T, 3> for Backward {
    fn parts(&self) -> usize {
        self.rows.tiles()
    }

    fn chunk(&self) -> usize {
        self.rows.chunk(self.threads)
    }

    fn run(&self, parts: Range<usize>, [input, weight, bias]: [&mut [T]; 3], sources: &[&[T]]) -> Result<()> {
        let length = self.rows.length;
        let first = self.rows.rows_of(parts.start).0;
        let mut input = rest_mut(input, first.saturating_mul(length));
        let [mut weight, mut bias] =
            [weight, bias].map(|sums| sums.get_mut(parts.start.saturating_mul(length)..).unwrap_or_default());
        let mut tiles = Vec::new();
        for part in parts {
            let rows = self.rows.rows_of(part);
            let tile = BackwardTile {
                rows,
                input: take(&mut input, rows.1.saturating_mul(length)),
                weight: take(&mut weight, length),
                bias: take(&mut bias, length),
            };
            try_push(&mut tiles, tile)?;
        }
        let weight = source(sources, 4);
        let ones = try_from_elem(T::from_f64(1.0), if weight.is_empty() { length } else { 0 })?;
        let weight = if weight.is_empty() { &*ones } else { weight };
        for_each(self.threads, tiles.into_iter(), &|tile| {
            self.run_tile(tile, sources, weight);
            Ok(())
        })
    }
}

/// Returns the gradient of the input, and those of the weight and the bias for each tile of rows if `needs` them, else
/// empty tensors.
pub(crate) fn layer_norm_backward<T: Real>(
    op: &'static str,
    rows: NormRows,
    input: &Tensor,
    weight: Option<&Tensor>,
    saved: &NormResults<'_>,
    needs: [bool; 2],
) -> Result<[Tensor; 3]> {
    let (placement, shape) = (input.placement(), input.shape());
    check_count(op, shape, rows.count())?;
    let kernel = Backward { rows, threads: threads_on(placement, rows.count(), THREADED) };
    let [of_weight, of_bias] = needs.map(|needs| [if needs { rows.tiles() } else { 0 }, rows.length]);
    let mut sources: Vec<_> = [
        (input, rows.count()),
        (saved.gradient, rows.count()),
        (saved.mean, rows.rows),
        (saved.rstd, rows.rows),
    ]
    .map(|(source, count)| TensorPart::contiguous(source, count))
    .into();
    sources.extend(weight.map(|weight| TensorPart::contiguous(weight, rows.length)));
    launch_several::<T, 3>(op, placement, [shape, &of_weight, &of_bias], &sources, kernel)
}
