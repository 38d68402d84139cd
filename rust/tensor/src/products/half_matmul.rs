//! Products of float16 matrices with float16 accumulators.

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::matmul::{MatmulElement, Matrix};
use crate::Result;
use crate::iterate::parts::part_mut;
use crate::storage::fallible_alloc::try_from_elem;

impl MatmulElement for f16 {
    type Total = f32;

    const CHUNK_WORK: usize = 1 << 26;

    fn tile(rows: usize, columns: usize, depth: usize) -> [usize; 3] {
        /// Rows of a part of the right operand that fits the cache.
        const DEPTH: usize = 256;
        [rows.min(64), columns.min(512), depth.min(DEPTH)]
    }

    /// Adds the products in ascending order. Each sum is rounded to float16.
    fn add_product(out: &mut [f16], step: usize, a: (&[f16], Matrix), b: (&[f16], Matrix)) -> Result<()> {
        let ((a, left), (b, right)) = (a, b);
        let mut sums = try_from_elem(0f32, right.columns)?;
        for (row, out) in out.chunks_mut(step.max(1)).take(left.rows).enumerate() {
            let out = part_mut(out, 0, right.columns);
            out.convert_to_f32_slice(&mut sums);
            for k in 0..left.columns {
                let factor = left.element(a, row, k).to_f32();
                for (column, sum) in sums.iter_mut().enumerate() {
                    *sum += factor * right.element(b, k, column).to_f32();
                }
                out.convert_from_f32_slice(&sums);
                out.convert_to_f32_slice(&mut sums);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_matmul_rounds_each_sum() {
        let row: Vec<f16> = [2048.0, 1.0, 1.0, 60000.0, 60000.0, -60000.0].map(f16::from_f32).to_vec();
        let ones = vec![f16::ONE; 6];
        for (depth, expected) in [(3, 2048.0), (4, 62048.0), (6, f32::INFINITY)] {
            let (left, right) = (Matrix::from_rows(1, depth, 6), Matrix::from_rows(depth, 1, 1));
            let mut out = [f16::ZERO];
            f16::add_product(&mut out, 1, (&row, left), (&ones, right)).unwrap();
            assert_eq!(out[0].to_f32(), f16::from_f32(expected).to_f32(), "{depth}");
        }
    }
}
