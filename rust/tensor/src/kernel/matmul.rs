//! Matrix products.

use gemm::Parallelism;

use super::launch::{beside, build, place_of};
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
}

/// An element type that matrices can be multiplied in.
pub(crate) trait Product: Element {
    /// Writes the product of `a` and `b` to `out`, row-major.
    fn product(out: &mut [Self], a: (&[Self], Matrix), b: (&[Self], Matrix));
}

impl Product for i64 {
    fn product(out: &mut [i64], (a, left): (&[i64], Matrix), (b, right): (&[i64], Matrix)) {
        for (i, row) in out.chunks_exact_mut(right.columns.max(1)).enumerate() {
            for (j, out) in row.iter_mut().enumerate() {
                *out = (0..left.columns).fold(0i64, |sum, k| {
                    let x = a.get(left.start + i * left.row_step + k * left.column_step);
                    let y = b.get(right.start + k * right.row_step + j * right.column_step);
                    sum.plus(x.copied().unwrap_or(0).times(y.copied().unwrap_or(0)))
                });
            }
        }
    }
}

macro_rules! product_with_gemm {
    ($($float:ident),*) => {
        $(impl Product for $float {
            fn product(out: &mut [$float], (a, left): (&[$float], Matrix), (b, right): (&[$float], Matrix)) {
                let (rows, columns, depth) = (left.rows, right.columns, left.columns);
                let fits = left.fits(a.len()) && right.fits(b.len()) && out.len() == rows * columns;
                // Without depth the product is zero, which `out` holds already.
                if out.is_empty() || !fits || right.rows != depth {
                    return;
                }
                // SAFETY: `fits` has checked that every element of both matrices lies in its slice and
                // that `out` holds the row-major result; `out` is borrowed exclusively, so nothing
                // overlaps it. Steps of elements inside a slice fit an isize.
                unsafe {
                    gemm::gemm(
                        rows, columns, depth,
                        out.as_mut_ptr(), 1, columns as isize, false,
                        a.as_ptr().add(left.start), left.column_step as isize, left.row_step as isize,
                        b.as_ptr().add(right.start), right.column_step as isize, right.row_step as isize,
                        0.0, 1.0, false, false, false, Parallelism::None,
                    );
                }
            }
        })*
    };
}

product_with_gemm!(f32, f64);

/// The products of pairs of matrices, one after the other in a contiguous tensor of `shape`.
pub(crate) fn product<T: Product>(
    shape: &[usize],
    (a, lefts): (&Tensor, Vec<Matrix>),
    (b, rights): (&Tensor, Vec<Matrix>),
) -> Result<Tensor> {
    const OP: &str = "matmul";
    let size = lefts.first().zip(rights.first()).map_or(0, |(left, right)| left.rows * right.columns);
    let place = place_of(a, b);
    let (a, b) = (beside(OP, place, a)?, beside(OP, place, b)?);
    build(OP, place, shape, [Some(&a), Some(&b)], move |out: &mut [T], data_a: &[T], data_b: &[T]| {
        for (out, (&left, &right)) in out.chunks_exact_mut(size.max(1)).zip(lefts.iter().zip(&rights)) {
            T::product(out, (data_a, left), (data_b, right));
        }
        Ok(())
    })
}
