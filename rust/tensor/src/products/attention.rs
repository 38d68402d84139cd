//! Attention in blocks of keys. The scores of all keys never exist together, so memory grows linearly with the
//! sequence.
//!
//! Sources: Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness" (2022), for the
//! blocks and the backward pass that recomputes them; Milakov and Gimelshein, "Online normalizer calculation for
//! softmax" (2018), for the softmax of a row that arrives in blocks.

use std::ops::Range;

use super::chunk_of_parts;
use super::matmul::{MatmulElement, Matrix, THREADED_WORK};
use crate::iterate::Plan;
use crate::iterate::parts::{item, part_mut, rest, rest_mut, source, take};
use crate::iterate::{PartedKernel, TensorPart, check_count, launch_several, parallel, threads_on};
use crate::loops::real::Real;
use crate::storage::Placement;
use crate::storage::fallible_alloc::{try_from_elem, try_push};
use crate::{Error, Result, Tensor, loops};

/// The rows of queries of a tile. Tiles depend on the shapes only, so results do not depend on the number of threads.
const ROWS: usize = 128;

/// The keys of a block.
const KEYS: usize = 128;

/// The numbers that the backward pass needs of a row of scores: the largest score, and the sum of the exponentials of
/// the differences from it. Their combination, the logarithm of the sum of the exponentials of the scores, would lose
/// the sum in rounding where scores are large.
const NORMALIZERS: usize = 2;

/// The matrices of queries, keys and values, and the options of an attention.
#[derive(Clone)]
pub(crate) struct AttentionHeads {
    /// Has an element for each matrix of queries. The positions are those of its queries, keys, values and mask.
    pub plan: Plan,
    /// The number of consecutive matrices of queries that share their keys and values.
    pub group: usize,
    pub query: Matrix,
    pub key: Matrix,
    pub value: Matrix,
    /// The strides of rows and columns of the mask, which is added to the scores.
    pub mask: Option<[usize; 2]>,
    pub scale: f64,
    /// Whether a row sees only the keys up to its own position.
    pub is_causal: bool,
}

impl AttentionHeads {
    /// Returns the numbers of the tiles of rows of one matrix of queries.
    fn tiles(&self) -> usize {
        self.query.rows.div_ceil(ROWS)
    }

    /// Returns the first row and the number of rows of a tile.
    fn rows(&self, tile: usize) -> (usize, usize) {
        let first = tile.saturating_mul(ROWS);
        (first, self.query.rows.saturating_sub(first).min(ROWS))
    }

    /// Iterates over the blocks of keys that some of these rows see.
    fn blocks(&self, (first, rows): (usize, usize)) -> impl Iterator<Item = (usize, usize)> {
        let keys = self.key.rows;
        let end = if self.is_causal { keys.min(first.saturating_add(rows)) } else { keys };
        (0..end).step_by(KEYS).map(move |first| (first, KEYS.min(keys - first)))
    }

    /// Returns the sources of both passes: the queries, the keys, the values and, if there is one, the mask last.
    ///
    /// # Errors
    /// Fails if the matrices do not fit each other: another thread may have resized one of their tensors.
    fn sources<'a>(
        &self,
        op: &'static str,
        tensors: [&'a Tensor; 3],
        mask: Option<&'a Tensor>,
    ) -> Result<(Vec<TensorPart<'a>>, Option<TensorPart<'a>>)> {
        if self.query.columns != self.key.columns || self.key.rows != self.value.rows {
            return Err(Error::resized(op));
        }
        let part = |(operand, (tensor, matrix)): (usize, (&'a Tensor, Matrix))| {
            TensorPart::up_to(tensor, self.plan.end(operand, matrix.end()))
        };
        let matrices = [self.query, self.key, self.value];
        let sources = tensors.into_iter().zip(matrices).enumerate().map(part).collect();
        debug_assert_eq!(mask.is_some(), self.mask.is_some(), "strides of the mask");
        let mask = mask.zip(self.mask).map(|(mask, [row_stride, column_stride])| {
            let (rows, columns) = (self.query.rows, self.key.rows);
            part((3, (mask, Matrix { start: 0, rows, columns, row_stride, column_stride })))
        });
        Ok((sources, mask))
    }

    /// Returns the number of groups of matrices of queries that share their keys and values.
    fn groups(&self) -> usize {
        self.plan.numel() / self.group.max(1)
    }

    /// Returns the number of rows of all matrices of queries.
    fn all_rows(&self) -> usize {
        self.plan.numel().saturating_mul(self.query.rows)
    }

    /// Returns the number of multiplications of one row of queries.
    fn row_work(&self) -> usize {
        self.key.rows.saturating_mul(self.key.columns.saturating_add(self.value.columns))
    }

    /// Returns the number of threads on which all rows are computed.
    fn threads(&self, placement: Placement) -> usize {
        threads_on(placement, self.all_rows().saturating_mul(self.row_work()), THREADED_WORK)
    }

    /// Returns the shape of scratch memory of `blocks` blocks of scores for every row of a matrix. On the CPU each
    /// tile allocates its own, because tiles of several threads exist at one time.
    fn scratch(&self, placement: Placement, blocks: usize) -> [usize; 2] {
        match placement {
            Placement::Device(_) => [self.query.rows.saturating_mul(blocks), KEYS],
            Placement::Cpu | Placement::Pinned => [0, KEYS],
        }
    }

    /// Writes the scores of a tile of rows and a block of keys, in rows of [`KEYS`] elements.
    fn write_scores<T: MatmulElement + Real>(
        &self,
        [start_q, start_k, _, start_mask]: [usize; 4],
        rows: (usize, usize),
        keys: (usize, usize),
        [query, key]: [&[T]; 2],
        mask: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let scores = part_mut(out, 0, rows.1.saturating_mul(KEYS));
        scores.fill(T::default());
        let queries = self.query.at(start_q).rows_from(rows);
        let transposed = self.key.at(start_k).rows_from(keys).transposed();
        T::add_product(scores, KEYS, (query, queries), (key, transposed))?;
        let scale = T::from_f64(self.scale);
        let minus_infinity = T::from_f64(f64::NEG_INFINITY);
        for (row, scores) in (rows.0..).zip(scores.chunks_mut(KEYS)) {
            for (column, score) in (keys.0..).zip(scores.iter_mut().take(keys.1)) {
                *score = *score * scale;
                if let Some([row_stride, column_stride]) = self.mask {
                    let at = start_mask + row * row_stride + column * column_stride;
                    *score = *score + item(mask, at);
                }
                if self.is_causal && column > row {
                    *score = minus_infinity;
                }
            }
        }
        Ok(())
    }
}

/// The forward pass. A part is a tile of rows.
struct Forward {
    heads: AttentionHeads,
    threads: usize,
}

/// A tile of rows and its results.
struct RowTile<'a, T> {
    offsets: [usize; 4],
    rows: (usize, usize),
    out: &'a mut [T],
    normalizers: &'a mut [T],
}

impl Forward {
    fn run_tile<T: MatmulElement + Real>(
        &self,
        tile: RowTile<'_, T>,
        [query, key, value, mask]: [&[T]; 4],
        scratch: &mut [T],
    ) -> Result<()> {
        let RowTile { offsets, rows, out, normalizers } = tile;
        let [_, _, start_value, _] = offsets;
        let heads = &self.heads;
        let columns = heads.value.columns;
        let minus_infinity = T::from_f64(f64::NEG_INFINITY);
        // The largest score of each row so far, and the sum of the exponentials of the differences from it.
        let mut rows_so_far = [(minus_infinity, 0.0f64); ROWS];
        for keys in heads.blocks(rows) {
            heads.write_scores(offsets, rows, keys, [query, key], mask, scratch)?;
            let lines = scratch.chunks_mut(KEYS).zip(out.chunks_mut(columns.max(1)));
            for ((scores, out), (largest, sum)) in lines.zip(&mut rows_so_far) {
                let scores = part_mut(scores, 0, keys.1);
                let of_block = loops::largest_in(scores);
                let new = if of_block > *largest { of_block } else { *largest };
                // A row that sees no key yet has no largest score.
                let base = if new == minus_infinity { T::default() } else { new };
                let correction = T::from_f64((*largest - base).to_f64().exp());
                let block_sum = loops::exponentials(scores, base);
                *sum = *sum * correction.to_f64() + block_sum;
                *largest = new;
                out.iter_mut().for_each(|out| *out = *out * correction);
            }
            let shares = Matrix::from_rows(rows.1, keys.1, KEYS);
            let values = heads.value.at(start_value).rows_from(keys);
            T::add_product(out, columns, (scratch, shares), (value, values))?;
        }
        let results = out.chunks_mut(columns.max(1)).zip(normalizers.as_chunks_mut::<NORMALIZERS>().0);
        for ((out, normalizers), (largest, sum)) in results.zip(rows_so_far) {
            // A row that sees no key is zero, as in PyTorch, and so are all its shares in the backward pass.
            let is_masked = sum == 0.0;
            let base = if is_masked { T::default() } else { largest };
            let divisor = T::from_f64(if is_masked { 1.0 } else { sum });
            *normalizers = [base, divisor];
            out.iter_mut().for_each(|out| *out = *out / divisor);
        }
        Ok(())
    }
}

impl<T: MatmulElement + Real> PartedKernel<T, 3> for Forward {
    fn parts(&self) -> usize {
        self.heads.plan.numel().saturating_mul(self.heads.tiles())
    }

    fn chunk(&self) -> usize {
        chunk_of_parts(self.heads.row_work().saturating_mul(ROWS), self.threads)
    }

    fn run(
        &self,
        parts: Range<usize>,
        [out, normalizers, scratch]: [&mut [T]; 3],
        sources: &[&[T]],
    ) -> Result<()> {
        let heads = &self.heads;
        let sources = [0, 1, 2, 3].map(|index| source(sources, index));
        let position = |part: usize| (part / heads.tiles().max(1), heads.rows(part % heads.tiles().max(1)));
        let first_row = |part: usize| {
            let (head, (first, _)) = position(part);
            head.saturating_mul(heads.query.rows).saturating_add(first)
        };
        let mut out = rest_mut(out, first_row(parts.start).saturating_mul(heads.value.columns));
        let mut normalizers = rest_mut(normalizers, first_row(parts.start).saturating_mul(NORMALIZERS));
        let mut tiles = Vec::new();
        for part in parts {
            let (head, rows) = position(part);
            let tile = RowTile {
                offsets: heads.plan.positions(head),
                rows,
                out: take(&mut out, rows.1.saturating_mul(heads.value.columns)),
                normalizers: take(&mut normalizers, rows.1.saturating_mul(NORMALIZERS)),
            };
            try_push(&mut tiles, tile)?;
        }
        if scratch.is_empty() {
            return parallel::for_each(self.threads, tiles.into_iter(), &|tile| {
                let mut scratch = try_from_elem(T::default(), tile.rows.1.saturating_mul(KEYS))?;
                self.run_tile(tile, sources, &mut scratch)
            });
        }
        tiles.into_iter().try_for_each(|tile| {
            let part = rest_mut(scratch, tile.rows.0.saturating_mul(KEYS));
            self.run_tile(tile, sources, part)
        })
    }
}

/// The backward pass. A part is a group of matrices of queries that share their keys and values, so that parts write
/// to different gradients.
struct Backward {
    heads: AttentionHeads,
    threads: usize,
}

/// The gradients of a group.
struct Gradients<'a, T> {
    group: usize,
    query: &'a mut [T],
    key: &'a mut [T],
    value: &'a mut [T],
}

/// The operands of the forward pass, its results, and the gradient of the first one.
#[derive(Clone, Copy)]
struct Saved<'a, T> {
    query: &'a [T],
    key: &'a [T],
    value: &'a [T],
    out: &'a [T],
    normalizers: &'a [T],
    gradient: &'a [T],
    mask: &'a [T],
}

impl Backward {
    /// Adds the gradients of a tile of rows of matrix `head`. `shares` and `slopes` are scratch memory.
    fn run_tile<T: MatmulElement + Real>(
        &self,
        head: usize,
        rows: (usize, usize),
        saved: Saved<'_, T>,
        gradients: &mut Gradients<'_, T>,
        [shares, slopes]: [&mut [T]; 2],
    ) -> Result<()> {
        let heads = &self.heads;
        let (depth, columns) = (heads.key.columns, heads.value.columns);
        let offsets = heads.plan.positions(head);
        let [start_query, start_key, start_value, _] = offsets;
        let first_row = head * heads.query.rows + rows.0;
        let queries = heads.query.at(start_query).rows_from(rows);
        let out_gradient = Matrix::from_rows(rows.1, columns, columns).at(first_row * columns);
        // The gradient of a score is its share times the difference of its own gradient from this weighted mean.
        let mut means = [T::default(); ROWS];
        let [outs, out_gradients] =
            [saved.out, saved.gradient].map(|data| rest(data, first_row * columns).chunks(columns.max(1)));
        for ((mean, out), gradient) in means.iter_mut().zip(outs).zip(out_gradients) {
            let products = out.iter().zip(gradient).map(|(out, gradient)| out.to_f64() * gradient.to_f64());
            *mean = T::from_f64(products.sum());
        }
        let normalizers = rest(saved.normalizers, first_row * NORMALIZERS);
        let (normalizers, _) = normalizers.as_chunks::<NORMALIZERS>();
        let scale = T::from_f64(heads.scale);
        let first_query = (head % heads.group.max(1) * heads.query.rows + rows.0) * depth;
        for keys in heads.blocks(rows) {
            heads.write_scores(offsets, rows, keys, [saved.query, saved.key], saved.mask, shares)?;
            let key = heads.key.at(start_key).rows_from(keys);
            let value = heads.value.at(start_value).rows_from(keys);
            let slopes = part_mut(slopes, 0, rows.1 * KEYS);
            slopes.fill(T::default());
            T::add_product(slopes, KEYS, (saved.gradient, out_gradient), (saved.value, value.transposed()))?;
            let lines = shares.chunks_mut(KEYS).zip(slopes.chunks_mut(KEYS));
            for (((shares, slopes), &[base, divisor]), &mean) in lines.zip(normalizers).zip(&means) {
                let shares = part_mut(shares, 0, keys.1);
                loops::exponentials(shares, base);
                for (share, slope) in shares.iter_mut().zip(slopes) {
                    *share = *share / divisor;
                    *slope = *share * (*slope - mean) * scale;
                }
            }
            let block = Matrix::from_rows(rows.1, keys.1, KEYS);
            let of_value = rest_mut(gradients.value, keys.0 * columns);
            T::add_product(of_value, columns, (shares, block.transposed()), (saved.gradient, out_gradient))?;
            let of_query = rest_mut(gradients.query, first_query);
            T::add_product(of_query, depth, (slopes, block), (saved.key, key))?;
            let of_key = rest_mut(gradients.key, keys.0 * depth);
            T::add_product(of_key, depth, (slopes, block.transposed()), (saved.query, queries))?;
        }
        Ok(())
    }

    /// Computes the gradients of a group. `scratch` has two blocks of scores for each row of a tile, or for each row of
    /// a matrix if `has_all_rows`.
    fn run_group<T: MatmulElement + Real>(
        &self,
        mut gradients: Gradients<'_, T>,
        saved: Saved<'_, T>,
        scratch: &mut [T],
        has_all_rows: bool,
    ) -> Result<()> {
        let heads = &self.heads;
        let (shares, slopes) = scratch.split_at_mut(scratch.len() / 2);
        let first = gradients.group.saturating_mul(heads.group);
        for head in first..first.saturating_add(heads.group) {
            for rows in (0..heads.tiles()).map(|tile| heads.rows(tile)) {
                let start = if has_all_rows { rows.0 * KEYS } else { 0 };
                let part = [&mut *shares, &mut *slopes].map(|all| rest_mut(all, start));
                self.run_tile(head, rows, saved, &mut gradients, part)?;
            }
        }
        Ok(())
    }
}

impl<T: MatmulElement + Real> PartedKernel<T, 4> for Backward {
    fn parts(&self) -> usize {
        self.heads.groups()
    }

    fn chunk(&self) -> usize {
        let rows = self.heads.query.rows.saturating_mul(self.heads.group);
        chunk_of_parts(self.heads.row_work().saturating_mul(rows), self.threads)
    }

    fn run(&self, parts: Range<usize>, out: [&mut [T]; 4], sources: &[&[T]]) -> Result<()> {
        let heads = &self.heads;
        let [query, key, value, scratch] = out;
        let of_queries = heads.query.count().saturating_mul(heads.group);
        let sizes = [of_queries, heads.key.count(), heads.value.count()];
        let [mut query, mut key, mut value] = [(query, sizes[0]), (key, sizes[1]), (value, sizes[2])]
            .map(|(out, size)| rest_mut(out, parts.start.saturating_mul(size)));
        let saved = Saved {
            query: source(sources, 0),
            key: source(sources, 1),
            value: source(sources, 2),
            out: source(sources, 3),
            normalizers: source(sources, 4),
            gradient: source(sources, 5),
            mask: source(sources, 6),
        };
        let mut groups = Vec::new();
        for group in parts {
            let gradients = Gradients {
                group,
                query: take(&mut query, sizes[0]),
                key: take(&mut key, sizes[1]),
                value: take(&mut value, sizes[2]),
            };
            try_push(&mut groups, gradients)?;
        }
        if scratch.is_empty() {
            return parallel::for_each(self.threads, groups.into_iter(), &|gradients| {
                let mut scratch = try_from_elem(T::default(), 2 * ROWS * KEYS)?;
                self.run_group(gradients, saved, &mut scratch, false)
            });
        }
        groups.into_iter().try_for_each(|gradients| self.run_group(gradients, saved, scratch, true))
    }
}

/// Returns the attention of `query`, `key` and `value` with the shape `batch` and two more dimensions, and the
/// [normalizers](NORMALIZERS) of each row.
pub(crate) fn attention<T: MatmulElement + Real>(
    op: &'static str,
    heads: AttentionHeads,
    batch: &[usize],
    tensors: [&Tensor; 3],
    mask: Option<&Tensor>,
) -> Result<[Tensor; 2]> {
    let placement = tensors[0].placement();
    let rows_of = |size: usize| [batch, &[heads.query.rows, size]].concat();
    let (out, normalizers) = (rows_of(heads.value.columns), rows_of(NORMALIZERS));
    let scratch = heads.scratch(placement, 1);
    let (mut sources, mask) = heads.sources(op, tensors, mask)?;
    sources.extend(mask);
    check_count(op, &out, heads.all_rows().saturating_mul(heads.value.columns))?;
    let threads = heads.threads(placement);
    let kernel = Forward { heads, threads };
    let [out, normalizers, _] =
        launch_several::<T, 3>(op, placement, [&out, &normalizers, &scratch], &sources, kernel)?;
    Ok([out, normalizers])
}

/// The results of the forward pass and the gradient of the first one. All are contiguous.
#[derive(Clone, Copy)]
pub(crate) struct AttentionResults<'a> {
    pub out: &'a Tensor,
    pub normalizers: &'a Tensor,
    pub gradient: &'a Tensor,
}

/// Returns the gradients of `query`, `key` and `value`.
pub(crate) fn attention_backward<T: MatmulElement + Real>(
    op: &'static str,
    heads: AttentionHeads,
    tensors: [&Tensor; 3],
    mask: Option<&Tensor>,
    results: AttentionResults<'_>,
) -> Result<[Tensor; 3]> {
    let [query, key, value] = tensors;
    let placement = query.placement();
    let scratch = heads.scratch(placement, 2);
    let (mut sources, mask) = heads.sources(op, tensors, mask)?;
    let elements = heads.all_rows().saturating_mul(heads.value.columns);
    sources.push(TensorPart::contiguous(results.out, elements));
    sources.push(TensorPart::contiguous(results.normalizers, heads.all_rows().saturating_mul(NORMALIZERS)));
    sources.push(TensorPart::contiguous(results.gradient, elements));
    sources.extend(mask);
    let shapes = [query.shape(), key.shape(), value.shape(), &scratch];
    check_count(op, shapes[0], heads.plan.numel().saturating_mul(heads.query.count()))?;
    check_count(op, shapes[1], heads.groups().saturating_mul(heads.key.count()))?;
    check_count(op, shapes[2], heads.groups().saturating_mul(heads.value.count()))?;
    let threads = heads.threads(placement);
    let kernel = Backward { heads, threads };
    let [query, key, value, _] = launch_several::<T, 4>(op, placement, shapes, &sources, kernel)?;
    Ok([query, key, value])
}
