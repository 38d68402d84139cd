//! The LU factorization with partial pivoting.
//!
//! Source: Golub and Van Loan, "Matrix Computations" (2013), section 3.4: outer products, on rows.

use super::matrix::{Matrix, add_scaled};
use crate::iterate::parts::{item, rest, rest_mut};

/// Replaces a matrix by its factors, the lower one with a diagonal of ones that is not stored, and writes the positions of the
/// swapped rows, counted from 1. Returns 0, or the position of the first pivot that is 0, counted from 1.
pub(super) fn factor(rows: usize, columns: usize, matrix: &mut [f64], pivots: &mut [f64]) -> usize {
    let mut matrix = Matrix::new(matrix, columns);
    let mut first_zero = 0;
    for (step, position) in pivots.iter_mut().enumerate() {
        let (mut chosen, mut largest) = (step, matrix.at(step, step).abs());
        for row in step.saturating_add(1)..rows {
            let size = matrix.at(row, step).abs();
            if size > largest {
                (chosen, largest) = (row, size);
            }
        }
        // Exact: a float64 counts more rows than a matrix in memory has.
        *position = chosen.saturating_add(1) as f64;
        matrix.swap_rows(step, chosen);
        if largest == 0.0 {
            first_zero = if first_zero == 0 { step.saturating_add(1) } else { first_zero };
            continue;
        }
        for row in step.saturating_add(1)..rows {
            let (pivots, row) = matrix.two_rows(step, row);
            let (pivots, row) = (rest(pivots, step), rest_mut(row, step));
            let factor = item(row, 0) / item(pivots, 0);
            add_scaled(rest_mut(row, 1), -factor, rest(pivots, 1));
            row.iter_mut().take(1).for_each(|element| *element = factor);
        }
    }
    first_zero
}
