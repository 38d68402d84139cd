//! Systems of equations with a triangular matrix.
//!
//! Source: Golub and Van Loan, "Matrix Computations" (2013), section 3.1: substitution, on rows of the right side.

use super::matrix::{Matrix, add_scaled};
use crate::iterate::parts::item;

/// Replaces the right sides, the columns of `sides`, by the solutions. The other triangle of the matrix is not read, nor its
/// diagonal if it `is_unit`, which means ones.
pub(super) fn solve(
    size: usize,
    (is_upper, is_unit): (bool, bool),
    matrix: &[f64],
    (sides, columns): (&mut [f64], usize),
) {
    let mut sides = Matrix::new(sides, columns);
    for step in 0..size {
        let row = if is_upper { size - 1 - step } else { step };
        let start = row.saturating_mul(size);
        let solved = if is_upper { row.saturating_add(1)..size } else { 0..row };
        for other in solved {
            let factor = -item(matrix, start.saturating_add(other));
            let (first, second) = sides.two_rows(row.min(other), row.max(other));
            let (target, source) = if is_upper { (first, second) } else { (second, first) };
            add_scaled(target, factor, source);
        }
        if !is_unit {
            let pivot = item(matrix, start.saturating_add(row));
            sides.row_mut(row).iter_mut().for_each(|element| *element /= pivot);
        }
    }
}
