//! Matrix products.

use std::sync::atomic::{AtomicBool, Ordering};

use gemm::Parallelism;
use interlock::base::fork::initialize_without_forks;

use super::launch::{Parts, beside, build_in_parts, place_of};
use super::{Plan, integer_product, workspace};
use crate::{Element, Result, Tensor};

/// One matrix in memory: where it starts and how far apart its rows and columns are.
#[derive(Clone, Copy)]
pub(crate) struct Matrix {
    pub start: usize,
    pub rows: usize,
    pub columns: usize,
    pub row_step: usize,
    pub column_step: usize,
}

impl Matrix {
    /// Whether every element lies in a memory of `length` elements.
    fn fits(&self, length: usize) -> bool {
        let reach = |count: usize, step: usize| count.checked_sub(1)?.checked_mul(step);
        let last = || {
            let rows = reach(self.rows, self.row_step)?;
            self.start.checked_add(rows)?.checked_add(reach(self.columns, self.column_step)?)
        };
        last().is_some_and(|last| last < length)
    }

    /// A part: `rows` rows from one on, and `columns` columns from one on.
    fn part(self, (row, rows): (usize, usize), (column, columns): (usize, usize)) -> Self {
        let offset =
            row.saturating_mul(self.row_step).saturating_add(column.saturating_mul(self.column_step));
        Matrix { start: self.start.saturating_add(offset), rows, columns, ..self }
    }
}

/// An element type that matrices can be multiplied in.
pub(crate) trait Product: Element {
    /// How many multiplications are done before an interrupt is looked for.
    const WORK: usize;

    /// Into which tiles a product of so many rows, columns and depth is divided.
    fn tile(rows: usize, columns: usize, depth: usize) -> [usize; 3];

    /// Adds the product of `a` and `b` to rows of `out` that are `step` apart.
    fn add_product(out: &mut [Self], step: usize, a: (&[Self], Matrix), b: (&[Self], Matrix)) -> Result<()>;
}

impl Product for i64 {
    const WORK: usize = 1 << 26;

    fn tile(_: usize, _: usize, _: usize) -> [usize; 3] {
        integer_product::TILE
    }

    fn add_product(out: &mut [i64], step: usize, a: (&[i64], Matrix), b: (&[i64], Matrix)) -> Result<()> {
        integer_product::add(out, step, a, b)
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

macro_rules! product_with_gemm {
    ($($float:ident),*) => {
        $(impl Product for $float {
            const WORK: usize = 1 << 31;

            fn tile(rows: usize, columns: usize, depth: usize) -> [usize; 3] {
                /// Fewer rows or columns at once would be slow.
                const LEAST: usize = 64;
                let depth = depth.min(Self::WORK / (LEAST * LEAST));
                let most = |other: usize| (Self::WORK / other.saturating_mul(depth).max(1)).max(LEAST);
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
                let target = Matrix { start: 0, rows, columns, row_step: step, column_step: 1 };
                let fits = left.fits(a.len()) && right.fits(b.len()) && target.fits(out.len());
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
                        a.as_ptr().add(left.start), left.column_step as isize, left.row_step as isize,
                        b.as_ptr().add(right.start), right.column_step as isize, right.row_step as isize,
                        1.0, 1.0, false, false, false, Parallelism::None,
                    );
                }
                Ok(())
            }
        })*
    };
}

product_with_gemm!(f32, f64);

/// Pairs of matrices, all of the same sizes: the plan says where those of each pair start.
#[derive(Clone)]
pub(crate) struct Pairs {
    pub plan: Plan<2>,
    pub left: Matrix,
    pub right: Matrix,
}

/// The products of pairs of matrices, tile by tile.
#[derive(Clone)]
struct Products {
    pairs: Pairs,
    /// The pair, and the row, column and depth, where the next tile begins.
    pair: usize,
    row: usize,
    column: usize,
    depth: usize,
}

impl Products {
    /// The next tile; returns how many multiplications it was, or `None` after the last tile.
    fn tile<T: Product>(&mut self, out: &mut [T], a: &[T], b: &[T]) -> Result<Option<usize>> {
        let Pairs { plan, left, right } = &self.pairs;
        let (rows, columns, depth) = (left.rows, right.columns, left.columns);
        let size = rows.saturating_mul(columns);
        if size == 0 || depth == 0 || self.pair >= plan.count() {
            return Ok(None);
        }
        let [start_a, start_b] = plan.at(self.pair);
        let tile = T::tile(rows, columns, depth);
        let part = |from: usize, count: usize, most: usize| (from, most.clamp(1, count - from));
        let [row_part, column_part, depth_part] = [
            part(self.row, rows, tile[0]),
            part(self.column, columns, tile[1]),
            part(self.depth, depth, tile[2]),
        ];
        let first = self.pair.saturating_mul(size).saturating_add(self.row * columns + self.column);
        let left = Matrix { start: start_a, ..*left }.part(row_part, depth_part);
        let right = Matrix { start: start_b, ..*right }.part(depth_part, column_part);
        T::add_product(out.get_mut(first..).unwrap_or_default(), columns, (a, left), (b, right))?;
        // Rows first, then depth, then columns, and then the next pair: a part of `b` is used while it is in the cache.
        let places = [(&mut self.row, row_part, rows), (&mut self.depth, depth_part, depth)];
        for (place, (from, count), end) in
            places.into_iter().chain([(&mut self.column, column_part, columns)])
        {
            *place = from + count;
            if *place < end {
                return Ok(Some(row_part.1.saturating_mul(column_part.1).saturating_mul(depth_part.1)));
            }
            *place = 0;
        }
        self.pair += 1;
        Ok(Some(row_part.1.saturating_mul(column_part.1).saturating_mul(depth_part.1)))
    }
}

impl<T: Product> Parts<T, T, T> for Products {
    fn next(&mut self, work: usize, out: &mut [T], a: &[T], b: &[T]) -> Result<bool> {
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

/// The products of pairs of matrices, one after the other in a contiguous tensor of `shape`.
pub(crate) fn product<T: Product>(shape: &[usize], a: &Tensor, b: &Tensor, pairs: Pairs) -> Result<Tensor> {
    const OP: &str = "matmul";
    let place = place_of(a, b);
    let (a, b) = (beside(OP, place, a)?, beside(OP, place, b)?);
    let parts = Products { pairs, pair: 0, row: 0, column: 0, depth: 0 };
    build_in_parts::<T, T, T>(OP, place, shape, [Some(&a), Some(&b)], T::WORK, parts)
}
