//! Matrix products.

use std::sync::atomic::{AtomicBool, Ordering};

use gemm::Parallelism;
use interlock::base::fork::initialize_without_forks;

use super::launch::{ChunkedKernel, launch_chunked, on_device_of, result_placement};
use super::{StridedIter, int_matmul, workspace};
use crate::{Element, Result, Tensor};

/// One matrix in memory: where it starts and how far apart its rows and columns are.
#[derive(Clone, Copy)]
pub(crate) struct Matrix {
    pub start: usize,
    pub rows: usize,
    pub columns: usize,
    pub row_stride: usize,
    pub column_stride: usize,
}

impl Matrix {
    /// Whether every element lies in a memory of `length` elements.
    fn is_within(&self, length: usize) -> bool {
        let span = |count: usize, step: usize| count.checked_sub(1)?.checked_mul(step);
        let last = || {
            let rows = span(self.rows, self.row_stride)?;
            self.start.checked_add(rows)?.checked_add(span(self.columns, self.column_stride)?)
        };
        last().is_some_and(|last| last < length)
    }

    /// A part: `rows` rows from one on, and `columns` columns from one on.
    fn submatrix(self, (row, rows): (usize, usize), (column, columns): (usize, usize)) -> Self {
        let offset =
            row.saturating_mul(self.row_stride).saturating_add(column.saturating_mul(self.column_stride));
        Matrix { start: self.start.saturating_add(offset), rows, columns, ..self }
    }
}

/// An element type that matrices can be multiplied in.
pub(crate) trait MatmulElement: Element {
    /// How many multiplications are done before an interrupt is looked for.
    const CHUNK_WORK: usize;

    /// Into which tiles a product of so many rows, columns and depth is divided.
    fn tile(rows: usize, columns: usize, depth: usize) -> [usize; 3];

    /// Adds the product of `a` and `b` to rows of `out` that are `step` apart.
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

/// Has gemm read the sizes of the caches, once, while no fork happens. gemm blocks the other threads meanwhile, so a
/// child that is forked in the middle would wait for ever at its first product.
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
                /// Fewer rows or columns at once would be slow.
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
                // Without depth the product is zero, which `out` holds already.
                if !fits || right.rows != depth || step < columns {
                    return Ok(());
                }
                read_caches();
                workspace::check(rows, columns, depth, size_of::<$float>())?;
                // SAFETY: `fits` has checked that every element of all matrices lies in its slice; rows of `out` do
                // not overlap, as they are at least their length apart; `out` is borrowed exclusively, so nothing
                // overlaps it. Steps of elements inside a slice fit an isize.
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

/// MatrixBatch of matrices, all of the same sizes: the iter says where those of each index start.
#[derive(Clone)]
pub(crate) struct MatrixBatch {
    pub iter: StridedIter<2>,
    pub left: Matrix,
    pub right: Matrix,
}

/// The products of batch of matrices, tile by tile.
#[derive(Clone)]
struct TiledMatmul {
    batch: MatrixBatch,
    /// The index, and the row, column and depth, where the next tile begins.
    index: usize,
    row: usize,
    column: usize,
    depth: usize,
}

impl TiledMatmul {
    /// The next tile; returns how many multiplications it was, or `None` after the last tile.
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
        // RowIndices first, then depth, then columns, and then the next index: a part of `b` is used while it is in the cache.
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

/// The products of batch of matrices, one after the other in a contiguous tensor of `shape`.
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
