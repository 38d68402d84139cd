//! The Cholesky factorization.
//!
//! Source: Golub and Van Loan, "Matrix Computations" (2013), section 4.2: row by row, each element is an inner product of two
//! rows of the factor.

use super::matrix::dot;
use crate::iterate::parts::{item, part, split_mut};

/// Writes the lower factor of a symmetric matrix, of which the lower triangle is read, into zeros. Returns 0, or the order of
/// the leading minor that is not positive.
pub(super) fn factor(size: usize, matrix: &[f64], out: &mut [f64]) -> usize {
    for row in 0..size {
        let start = row.saturating_mul(size);
        let (above, rest) = split_mut(out, start);
        let (done, others) = split_mut(rest, row);
        for (column, (factor, source)) in above.chunks_exact(size).zip(part(matrix, start, row)).enumerate() {
            let value = (source - dot(part(done, 0, column), part(factor, 0, column))) / item(factor, column);
            done.iter_mut().skip(column).take(1).for_each(|element| *element = value);
        }
        let pivot = item(matrix, start.saturating_add(row)) - dot(done, done);
        if pivot.is_nan() || pivot <= 0.0 {
            return row.saturating_add(1);
        }
        others.iter_mut().take(1).for_each(|element| *element = pivot.sqrt());
    }
    0
}
