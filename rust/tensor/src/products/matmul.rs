//! Batched matrix multiplication.

use std::sync::atomic::{AtomicBool, Ordering};

use gemm::Parallelism;
use interlock_core::base::fork::initialize_without_forks;

use super::multiplier::{MultiplyBy, Native};
use super::{int_matmul, workspace};
use crate::iterate::parts::{item, rest_mut, split_mut};
use crate::iterate::{
    ChunkedKernel, Plan, TensorPart, check_count, launch_chunked, on_device_of, parallel, result_placement,
    threads_on,
};
use crate::loops::real::Real;
use crate::storage::fallible_alloc::try_push;
use crate::{Element, Error, Result, Tensor};

/// The offset, sizes and strides of a matrix in memory.
#[derive(Clone, Copy)]
pub(crate) struct Matrix {
    pub start: usize,
    pub rows: usize,
    pub columns: usize,
    pub row_stride: usize,
    pub column_stride: usize,
}

impl Matrix {
    /// Returns an element.
    #[inline]
    pub fn element<T: Element>(&self, memory: &[T], row: usize, column: usize) -> T {
        item(memory, self.position(row, column))
    }

    /// Returns the position of an element in memory.
    #[inline]
    fn position(&self, row: usize, column: usize) -> usize {
        let offset =
            row.saturating_mul(self.row_stride).saturating_add(column.saturating_mul(self.column_stride));
        self.start.saturating_add(offset)
    }

    /// Returns the number of elements.
    pub(super) fn count(&self) -> usize {
        self.rows.saturating_mul(self.columns)
    }

    /// Returns the order of the elements in memory, as BLAS describes it; `None` if neither rows nor columns are contiguous.
    pub(crate) fn order(&self) -> Option<Order> {
        let is_contiguous = |stride: usize, count: usize| stride == 1 || count <= 1;
        let outer = |stride: usize, count: usize, length: usize| {
            let least = length.max(1);
            if count <= 1 { Some(stride.max(least)) } else { Some(stride).filter(|stride| *stride >= least) }
        };
        let of_rows = || outer(self.row_stride, self.rows, self.columns);
        let of_columns = || outer(self.column_stride, self.columns, self.rows);
        if is_contiguous(self.column_stride, self.columns)
            && let Some(stride) = of_rows()
        {
            return Some(Order { is_transposed: false, stride });
        }
        let stride = if is_contiguous(self.row_stride, self.rows) { of_columns() } else { None };
        stride.map(|stride| Order { is_transposed: true, stride })
    }

    /// Returns whether every element is inside a memory of `length` elements.
    fn is_within(&self, length: usize) -> bool {
        (1..=length).contains(&self.end())
    }

    /// Returns the number of elements of a memory up to the last element: 0 if there are none.
    pub(super) fn end(&self) -> usize {
        let span = |count: usize, step: usize| Some(count.checked_sub(1)?.saturating_mul(step));
        let last = || {
            let rows = span(self.rows, self.row_stride)?;
            Some(self.start.saturating_add(rows).saturating_add(span(self.columns, self.column_stride)?))
        };
        last().map_or(0, |last| last.saturating_add(1))
    }

    /// Returns a matrix without gaps between the elements of a row, whose rows begin every `stride` elements.
    pub fn from_rows(rows: usize, columns: usize, stride: usize) -> Self {
        Matrix { start: 0, rows, columns, row_stride: stride, column_stride: 1 }
    }

    /// Returns a matrix of equal sizes and strides that begins at `start`.
    pub fn at(self, start: usize) -> Self {
        Matrix { start, ..self }
    }

    /// Returns the matrix of `rows` rows from `first` on.
    pub fn rows_from(self, (first, rows): (usize, usize)) -> Self {
        self.submatrix((first, rows), (0, self.columns))
    }

    /// Returns the transposed matrix, over the same elements.
    pub fn transposed(self) -> Self {
        let Matrix { start, rows, columns, row_stride, column_stride } = self;
        Matrix { start, rows: columns, columns: rows, row_stride: column_stride, column_stride: row_stride }
    }

    /// Returns the matrix at an offset that is counted from `by`.
    fn moved(self, by: usize) -> Self {
        Matrix { start: self.start.saturating_add(by), ..self }
    }

    /// Returns the submatrix of `rows` rows from `row` on and `columns` columns from `column` on.
    fn submatrix(self, (row, rows): (usize, usize), (column, columns): (usize, usize)) -> Self {
        Matrix { start: self.position(row, column), rows, columns, ..self }
    }
}

/// Returns whether two matrices can be multiplied, and every element of them and of the product is inside memory of this many
/// elements. Rows of the product begin every `step` elements and must not overlap.
pub(super) fn is_product(
    (out, step): (usize, usize),
    (a, left): (usize, Matrix),
    (b, right): (usize, Matrix),
) -> bool {
    let target = Matrix::from_rows(left.rows, right.columns, step);
    let fits = left.is_within(a) && right.is_within(b) && target.is_within(out);
    fits && right.rows == left.columns && step >= right.columns
}

/// The order of the elements of a matrix in memory: by rows or, transposed, by columns, which do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub is_transposed: bool,
    /// The elements between two rows or columns.
    pub stride: usize,
}

/// An element type with matrix multiplication.
pub(crate) trait MatmulElement: Element {
    /// The type in which sums of products are added, as ATen's `acc_type`.
    type Total: Element;

    /// The number of multiplications between two checks for interrupts.
    const CHUNK_WORK: usize;

    /// Returns the rows, columns and depth of the tiles into which a product of this size is divided.
    fn tile(rows: usize, columns: usize, depth: usize) -> [usize; 3];

    /// Adds the product of `a` and `b` to the rows of `out`, whose stride is `step`.
    fn add_product(out: &mut [Self], step: usize, a: (&[Self], Matrix), b: (&[Self], Matrix)) -> Result<()>;
}

impl MatmulElement for i64 {
    type Total = i64;

    const CHUNK_WORK: usize = 1 << 26;

    fn tile(rows: usize, columns: usize, depth: usize) -> [usize; 3] {
        let [_, width, height] = int_matmul::TILE;
        [row_block(rows, columns, depth).min(int_matmul::TILE[0]), width, height]
    }

    fn add_product(out: &mut [i64], step: usize, a: (&[i64], Matrix), b: (&[i64], Matrix)) -> Result<()> {
        int_matmul::add(out, step, a, b)
    }
}

/// The number of multiplications from which on a product runs on several threads: about 0.2 ms, many times what it takes to
/// hand over a part.
pub(super) const THREADED_WORK: usize = 1 << 23;

/// Returns the rows of a block of a product, which one thread computes. They depend on the shape only, so that results
/// do not depend on the number of threads.
fn row_block(rows: usize, columns: usize, depth: usize) -> usize {
    /// Blocks of this many rows take at most a tenth longer than the product without blocks.
    const ROWS: usize = 256;
    /// A multiple of the rows that every microkernel computes at once.
    const UNIT: usize = 32;
    /// Products with fewer rows are one block. Two blocks of 32 rows take a third longer than one of 64.
    const LEAST: usize = 128;
    let work = rows.saturating_mul(columns).saturating_mul(depth);
    if work < THREADED_WORK || rows < LEAST {
        rows
    } else if rows < 2 * ROWS {
        rows.div_ceil(2).next_multiple_of(UNIT)
    } else {
        ROWS
    }
}

/// Makes gemm read the cache sizes once, while no fork happens. gemm blocks other threads meanwhile, so a child that
/// is forked at that time would wait forever at its first product.
#[inline]
fn read_caches() {
    static READ: AtomicBool = AtomicBool::new(false);
    if !READ.load(Ordering::Acquire) {
        initialize_without_forks(|| {
            let _ = gemm_common::cache::CACHE_INFO.len();
        });
        READ.store(true, Ordering::Release);
    }
}

/// The number of multiplications of the largest product that [`add_small`] computes: for more gemm is as fast.
const SMALL: usize = 128;

/// Adds a product in ascending order. gemm packs matrices and chooses a microkernel first, which for small ones takes several
/// times as long as the product.
fn add_small<T: Real>(out: &mut [T], step: usize, (a, left): (&[T], Matrix), (b, right): (&[T], Matrix)) {
    for (row, out) in out.chunks_mut(step.max(1)).take(left.rows).enumerate() {
        for (column, sum) in out.iter_mut().take(right.columns).enumerate() {
            let first = left.start + row * left.row_stride;
            let second = right.start + column * right.column_stride;
            let products = (0..left.columns)
                .map(|k| item(a, first + k * left.column_stride) * item(b, second + k * right.row_stride));
            *sum = products.fold(*sum, |sum, product| sum + product);
        }
    }
}

macro_rules! matmul_with_gemm {
    ($($float:ident),*) => {
        $(impl MatmulElement for $float {
            type Total = f64;

            const CHUNK_WORK: usize = 1 << 31;

            fn tile(rows: usize, columns: usize, depth: usize) -> [usize; 3] {
                /// Tiles with fewer rows or columns are slow.
                const LEAST: usize = 64;
                let depth = depth.min(Self::CHUNK_WORK / (LEAST * LEAST));
                let most = |other: usize| (Self::CHUNK_WORK / other.saturating_mul(depth).max(1)).max(LEAST);
                let rows = row_block(rows, columns, depth);
                let columns = columns.min(most(rows));
                [rows.min(most(columns)), columns, depth]
            }

            fn add_product(
                out: &mut [$float],
                step: usize,
                (a, left): (&[$float], Matrix),
                (b, right): (&[$float], Matrix),
            ) -> Result<()> {
                let (rows, columns, depth) = (left.rows, right.columns, left.columns);
                // If the depth is 0 the product is zero, which is the initial content of `out`.
                if !is_product((out.len(), step), (a.len(), left), (b.len(), right)) {
                    return Ok(());
                }
                if rows * columns * depth <= SMALL {
                    add_small(out, step, (a, left), (b, right));
                    return Ok(());
                }
                read_caches();
                workspace::check(rows, columns, depth, size_of::<$float>())?;
                // SAFETY: `is_product` has checked that every element of all matrices is inside its slice. Rows of `out` do
                // not overlap, because their stride is at least their length, and `out` is borrowed exclusively.
                // Strides inside a slice fit an isize.
                unsafe {
                    gemm::gemm(
                        rows, columns, depth,
                        out.as_mut_ptr(), 1, step as isize, true,
                        a.as_ptr().add(left.start), left.column_stride as isize, left.row_stride as isize,
                        b.as_ptr().add(right.start), right.column_stride as isize, right.row_stride as isize,
                        1.0, 1.0, false, false, false, Parallelism::None,
                    );
                }
                Ok(())
            }
        })*
    };
}

matmul_with_gemm!(f32, f64);

/// A batch of pairs of matrices, all of the same sizes. The plan has the positions of each pair.
#[derive(Clone)]
pub(crate) struct MatrixBatch {
    pub pairs: Plan,
    pub left: Matrix,
    pub right: Matrix,
}

impl MatrixBatch {
    /// Returns the products of the first and of the second half of the columns of the left matrices with the rows of
    /// the right matrices. Their sum is the product.
    pub fn halves(&self) -> [Self; 2] {
        let MatrixBatch { left, right, .. } = self;
        let (rows, depth, columns) = (left.rows, left.columns, right.columns);
        let middle = depth / 2;
        [(0, middle), (middle, depth - middle)].map(|part| MatrixBatch {
            pairs: self.pairs.clone(),
            left: left.submatrix((0, rows), part),
            right: right.submatrix(part, (0, columns)),
        })
    }

    /// Returns the sizes of all tiles that have at most these rows, columns and depth.
    pub fn tiles(
        &self,
        [most_rows, most_columns, most_depth]: [usize; 3],
    ) -> impl Iterator<Item = [usize; 3]> {
        // The last tile of a dimension has the rest.
        let parts = |size: usize, most: usize| {
            let most = most.clamp(1, size.max(1));
            [most, size % most].into_iter().filter(|part| *part != 0)
        };
        let (rows, columns, depth) = (self.left.rows, self.right.columns, self.left.columns);
        let (rows, columns, depths) =
            (parts(rows, most_rows), parts(columns, most_columns), parts(depth, most_depth));
        rows.flat_map(move |rows| {
            let depths = depths.clone();
            columns.clone().flat_map(move |columns| depths.clone().map(move |depth| [rows, columns, depth]))
        })
    }

    /// Returns the number of multiplications.
    fn work(&self) -> usize {
        let MatrixBatch { pairs, left, right } = self;
        [left.rows, left.columns, right.columns].into_iter().fold(pairs.numel(), usize::saturating_mul)
    }
}

/// A batched product that is computed tile by tile.
#[derive(Clone)]
struct TiledMatmul<T: Element, A: Element, B: Element> {
    batch: MatrixBatch,
    by: MultiplyBy<T, A, B>,
    threads: usize,
    /// The next tile: its position in the batch, and its row, column and depth.
    index: usize,
    row: usize,
    column: usize,
    depth: usize,
}

/// A part of a product: the product of two submatrices, which is added to the elements of the result from `first` on.
struct Tile {
    first: usize,
    left: Matrix,
    right: Matrix,
}

impl Tile {
    /// Returns the number of multiplications.
    fn work(&self) -> usize {
        self.left.rows.saturating_mul(self.left.columns).saturating_mul(self.right.columns)
    }
}

impl<T: Element, A: Element, B: Element> TiledMatmul<T, A, B> {
    fn new(batch: MatrixBatch, by: MultiplyBy<T, A, B>, threads: usize) -> Self {
        TiledMatmul { batch, by, threads, index: 0, row: 0, column: 0, depth: 0 }
    }

    /// Returns the next tile, or `None` after the last one.
    fn next_tile(&self) -> Option<Tile> {
        let MatrixBatch { pairs, left, right } = &self.batch;
        let (rows, columns, depth) = (left.rows, right.columns, left.columns);
        let size = rows.saturating_mul(columns);
        if size == 0 || depth == 0 || self.index >= pairs.numel() {
            return None;
        }
        let [start_a, start_b, ..] = pairs.positions(self.index);
        let tile = self.by.tile(rows, columns, depth);
        let part = |from: usize, count: usize, most: usize| (from, most.clamp(1, count - from));
        let [row_part, column_part, depth_part] = [
            part(self.row, rows, tile[0]),
            part(self.column, columns, tile[1]),
            part(self.depth, depth, tile[2]),
        ];
        Some(Tile {
            first: self.index.saturating_mul(size).saturating_add(self.row * columns + self.column),
            left: left.moved(start_a).submatrix(row_part, depth_part),
            right: right.moved(start_b).submatrix(depth_part, column_part),
        })
    }

    /// Moves from the next tile to the one after it. Order of tiles: rows, then depth, then columns, then the next
    /// pair of matrices, so that a part of `b` is used while it is in the cache.
    fn advance(&mut self, tile: &Tile) {
        let MatrixBatch { left, right, .. } = &self.batch;
        for (cursor, count, end) in [
            (&mut self.row, tile.left.rows, left.rows),
            (&mut self.depth, tile.left.columns, left.columns),
            (&mut self.column, tile.right.columns, right.columns),
        ] {
            *cursor += count;
            if *cursor < end {
                return;
            }
            *cursor = 0;
        }
        self.index += 1;
    }

    /// Computes the next tiles, which add to different rows of the result, on several threads: about `work`
    /// multiplications of each. Returns the number of multiplications, which is 0 after the last tile.
    fn run_group(&mut self, work: usize, out: &mut [T], a: &[A], b: &[B]) -> Result<usize> {
        let (mut tiles, mut done, mut end) = (Vec::new(), 0usize, 0);
        while done < work.saturating_mul(self.threads)
            && let Some(tile) = self.next_tile()
            && tile.first >= end
        {
            self.advance(&tile);
            done = done.saturating_add(tile.work());
            end = tile.first.saturating_add(tile.left.rows.saturating_mul(self.batch.right.columns));
            try_push(&mut tiles, (<&mut [T]>::default(), tile))?;
        }
        let mut rest = out;
        for (out, tile) in tiles.iter_mut().rev() {
            (rest, *out) = split_mut(rest, tile.first);
        }
        parallel::for_each(self.threads, tiles.into_iter(), &|(out, tile)| {
            self.by.add_product(out, self.batch.right.columns, (a, tile.left), (b, tile.right))
        })?;
        Ok(done)
    }
}

impl<T: Element, A: Element, B: Element> ChunkedKernel<T, A, B> for TiledMatmul<T, A, B> {
    fn run_chunk(&mut self, work: usize, out: &mut [T], a: &[A], b: &[B]) -> Result<bool> {
        let mut done = 0usize;
        while done < work {
            if self.threads > 1 {
                match self.run_group(work, out, a, b)? {
                    0 => return Ok(true),
                    group => done = done.saturating_add(group / self.threads),
                }
                continue;
            }
            let Some(tile) = self.next_tile() else { return Ok(true) };
            let rows = rest_mut(out, tile.first);
            self.by.add_product(rows, self.batch.right.columns, (a, tile.left), (b, tile.right))?;
            self.advance(&tile);
            done = done.saturating_add(tile.work());
        }
        Ok(false)
    }
}

/// Multiplies the pairs of a batch into a contiguous tensor of `shape`, one product after the other, by this crate.
pub(crate) fn matmul<T: MatmulElement>(
    shape: &[usize],
    a: &Tensor,
    b: &Tensor,
    batch: MatrixBatch,
) -> Result<Tensor> {
    matmul_by::<T, T, T>(shape, a, b, batch, MultiplyBy::Static(&Native))
}

/// Multiplies the pairs of a batch as [`matmul`] does, by any implementation.
pub(crate) fn matmul_by<T: Element, A: Element, B: Element>(
    shape: &[usize],
    a: &Tensor,
    b: &Tensor,
    batch: MatrixBatch,
    by: MultiplyBy<T, A, B>,
) -> Result<Tensor> {
    const OP: &str = "matmul";
    let placement = result_placement(a, b);
    let (a, b) = (on_device_of(OP, placement, a)?, on_device_of(OP, placement, b)?);
    let threads = threads_on(placement, batch.work(), THREADED_WORK);
    let MatrixBatch { pairs, left, right } = &batch;
    let count = pairs.numel().saturating_mul(left.rows).saturating_mul(right.columns);
    // Another thread may have resized an operand since its sizes were checked.
    Error::when(left.columns != right.rows, || Error::resized(OP))?;
    let [end_a, end_b] = [(0, left), (1, right)].map(|(operand, matrix)| pairs.end(operand, matrix.end()));
    let chunk_work = by.chunk_work();
    let parts = TiledMatmul::new(batch, by, threads);
    check_count(OP, shape, count)?;
    let sources = [TensorPart::up_to(&a, end_a), TensorPart::up_to(&b, end_b)].map(Some);
    launch_chunked::<T, A, B>(OP, placement, shape, sources, chunk_work, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_block_depends_on_the_shape_only() {
        assert_eq!(row_block(400, 16, 16), 400, "too small for threads");
        assert_eq!(row_block(127, 4096, 4096), 127);
        assert_eq!(row_block(128, 4096, 4096), 64);
        assert_eq!(row_block(400, 1024, 1024), 224);
        assert_eq!(row_block(512, 1024, 1024), 256);
        assert_eq!(row_block(usize::MAX, usize::MAX, 2), 256);
    }
}
