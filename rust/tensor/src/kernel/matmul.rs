//! Batched matrix multiplication.

use std::sync::atomic::{AtomicBool, Ordering};

use gemm::Parallelism;
use interlock::base::fork::initialize_without_forks;

use super::launch::{ChunkedKernel, launch_chunked, on_device_of, result_placement};
use super::{StridedIter, int_matmul, workspace};
use crate::{Element, Result, Tensor};

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
    /// Returns whether every element is inside a memory of `length` elements.
    fn is_within(&self, length: usize) -> bool {
        let span = |count: usize, step: usize| count.checked_sub(1)?.checked_mul(step);
        let last = || {
            let rows = span(self.rows, self.row_stride)?;
            self.start.checked_add(rows)?.checked_add(span(self.columns, self.column_stride)?)
        };
        last().is_some_and(|last| last < length)
    }

    /// Returns the submatrix of `rows` rows from `row` on and `columns` columns from `column` on.
    fn submatrix(self, (row, rows): (usize, usize), (column, columns): (usize, usize)) -> Self {
        let offset =
            row.saturating_mul(self.row_stride).saturating_add(column.saturating_mul(self.column_stride));
        Matrix { start: self.start.saturating_add(offset), rows, columns, ..self }
    }
}

/// An element type with matrix multiplication.
pub(crate) trait MatmulElement: Element {
    /// The number of multiplications between two checks for interrupts.
    const CHUNK_WORK: usize;

    /// Returns the rows, columns and depth of the tiles into which a product of this size is divided.
    fn tile(rows: usize, columns: usize, depth: usize) -> [usize; 3];

    /// Adds the product of `a` and `b` to the rows of `out`, whose stride is `step`.
    fn add_product(out: &mut [Self], step: usize, a: (&[Self], Matrix), b: (&[Self], Matrix)) -> Result<()>;
}

impl MatmulElement for i64 {
    const CHUNK_WORK: usize = 1 << 26;

    fn tile(_: usize, _: usize, _: usize) -> [usize; 3] {
        int_matmul::TILE
    }

    fn add_product(out: &mut [i64], step: usize, a: (&[i64], Matrix), b: (&[i64], Matrix)) -> Result<()> {
        int_matmul::add(out, step, a, b)
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

macro_rules! matmul_with_gemm {
    ($($float:ident),*) => {
        $(impl MatmulElement for $float {
            const CHUNK_WORK: usize = 1 << 31;

            fn tile(rows: usize, columns: usize, depth: usize) -> [usize; 3] {
                /// Tiles with fewer rows or columns are slow.
                const LEAST: usize = 64;
                let depth = depth.min(Self::CHUNK_WORK / (LEAST * LEAST));
                let most = |other: usize| (Self::CHUNK_WORK / other.saturating_mul(depth).max(1)).max(LEAST);
                let rows = rows.min(most(columns));
                [rows, columns.min(most(rows)), depth]
            }

            fn add_product(
                out: &mut [$float],
                step: usize,
                (a, left): (&[$float], Matrix),
                (b, right): (&[$float], Matrix),
            ) -> Result<()> {
                let (rows, columns, depth) = (left.rows, right.columns, left.columns);
                let target = Matrix { start: 0, rows, columns, row_stride: step, column_stride: 1 };
                let fits = left.is_within(a.len()) && right.is_within(b.len()) && target.is_within(out.len());
                // If the depth is 0 the product is zero, which is the initial content of `out`.
                if !fits || right.rows != depth || step < columns {
                    return Ok(());
                }
                read_caches();
                workspace::check(rows, columns, depth, size_of::<$float>())?;
                // SAFETY: `fits` has checked that every element of all matrices is inside its slice. Rows of `out` do
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

/// A batch of pairs of matrices, all of the same sizes. The iterator returns the offsets of each pair.
#[derive(Clone)]
pub(crate) struct MatrixBatch {
    pub iter: StridedIter<2>,
    pub left: Matrix,
    pub right: Matrix,
}

/// A batched product that is computed tile by tile.
#[derive(Clone)]
struct TiledMatmul {
    batch: MatrixBatch,
    /// The next tile: its position in the batch, and its row, column and depth.
    index: usize,
    row: usize,
    column: usize,
    depth: usize,
}

impl TiledMatmul {
    /// Computes the next tile. Returns the number of multiplications, or `None` after the last tile.
    fn tile<T: MatmulElement>(&mut self, out: &mut [T], a: &[T], b: &[T]) -> Result<Option<usize>> {
        let MatrixBatch { iter, left, right } = &self.batch;
        let (rows, columns, depth) = (left.rows, right.columns, left.columns);
        let size = rows.saturating_mul(columns);
        if size == 0 || depth == 0 || self.index >= iter.numel() {
            return Ok(None);
        }
        let [start_a, start_b] = iter.offsets_at(self.index);
        let tile = T::tile(rows, columns, depth);
        let part = |from: usize, count: usize, most: usize| (from, most.clamp(1, count - from));
        let [row_part, column_part, depth_part] = [
            part(self.row, rows, tile[0]),
            part(self.column, columns, tile[1]),
            part(self.depth, depth, tile[2]),
        ];
        let first = self.index.saturating_mul(size).saturating_add(self.row * columns + self.column);
        let left = Matrix { start: start_a, ..*left }.submatrix(row_part, depth_part);
        let right = Matrix { start: start_b, ..*right }.submatrix(depth_part, column_part);
        T::add_product(out.get_mut(first..).unwrap_or_default(), columns, (a, left), (b, right))?;
        // Order of tiles: rows, then depth, then columns, then the next pair of matrices, so that a part of `b` is
        // used while it is in the cache.
        let cursors = [(&mut self.row, row_part, rows), (&mut self.depth, depth_part, depth)];
        for (cursor, (from, count), end) in
            cursors.into_iter().chain([(&mut self.column, column_part, columns)])
        {
            *cursor = from + count;
            if *cursor < end {
                return Ok(Some(row_part.1.saturating_mul(column_part.1).saturating_mul(depth_part.1)));
            }
            *cursor = 0;
        }
        self.index += 1;
        Ok(Some(row_part.1.saturating_mul(column_part.1).saturating_mul(depth_part.1)))
    }
}

impl<T: MatmulElement> ChunkedKernel<T, T, T> for TiledMatmul {
    fn run_chunk(&mut self, work: usize, out: &mut [T], a: &[T], b: &[T]) -> Result<bool> {
        let mut done = 0usize;
        while done < work {
            match self.tile(out, a, b)? {
                Some(multiplications) => done = done.saturating_add(multiplications),
                None => return Ok(true),
            }
        }
        Ok(false)
    }
}

/// Multiplies the pairs of a batch into a contiguous tensor of `shape`, one product after the other.
pub(crate) fn matmul<T: MatmulElement>(
    shape: &[usize],
    a: &Tensor,
    b: &Tensor,
    batch: MatrixBatch,
) -> Result<Tensor> {
    const OP: &str = "matmul";
    let placement = result_placement(a, b);
    let (a, b) = (on_device_of(OP, placement, a)?, on_device_of(OP, placement, b)?);
    let parts = TiledMatmul { batch, index: 0, row: 0, column: 0, depth: 0 };
    launch_chunked::<T, T, T>(OP, placement, shape, [Some(&a), Some(&b)], T::CHUNK_WORK, parts)
}
