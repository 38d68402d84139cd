//! The eigenvalues and eigenvectors of symmetric matrices.
//!
//! Source: Golub and Van Loan, "Matrix Computations" (2013), section 8.5: the cyclic Jacobi method, which rotates away one pair
//! of elements after the other, and converges quadratically.

use super::matrix::{Matrix, ascending, largest, rotate, tangent};
use crate::Result;
use crate::storage::fallible_alloc::{try_collect, try_from_elem};

/// The largest number of sweeps over all pairs. About ten are enough for any matrix of numbers.
const SWEEPS: usize = 60;

/// Writes the eigenvalues of a symmetric matrix, of which the lower triangle is read, in ascending order, and, unless there is
/// no memory for them, the eigenvectors as columns. All are NaN if an element is not finite.
pub(super) fn factor(size: usize, matrix: &[f64], values: &mut [f64], vectors: &mut [f64]) -> Result<()> {
    let mut elements = try_collect(matrix.len(), matrix.iter().copied())?;
    let mut work = Matrix::new(&mut elements, size);
    for row in 0..size {
        for column in 0..row {
            work.replace_at(column, row, work.at(row, column));
        }
    }
    let scale = (0..size)
        .map(|row| largest(work.row(row)))
        .fold(0.0, |a: f64, b| if b > a || b.is_nan() { b } else { a });
    if !scale.is_finite() {
        values.fill(f64::NAN);
        vectors.fill(f64::NAN);
        return Ok(());
    }
    // Smaller elements change an eigenvalue by less than its rounding.
    let negligible = scale * f64::EPSILON / 16.0 / size.max(1) as f64;
    // A row is an eigenvector.
    let mut found = try_from_elem(0.0, vectors.len())?;
    let has_vectors = !found.is_empty();
    let mut rows = Matrix::new(&mut found, size);
    if has_vectors {
        rows.add_ones();
    }
    for _ in 0..SWEEPS {
        let mut is_diagonal = true;
        for first in 0..size {
            for second in first.saturating_add(1)..size {
                let other = work.at(first, second);
                if other.abs() <= negligible {
                    continue;
                }
                is_diagonal = false;
                let (a, b) = (work.at(first, first), work.at(second, second));
                let t = tangent(b - a, other);
                let c = 1.0 / t.hypot(1.0);
                let (row, next) = work.two_rows(first, second);
                rotate(row, next, c, t * c);
                // By symmetry the columns are the rows, but for the four elements in which both meet.
                for at in 0..size {
                    work.replace_at(at, first, work.at(first, at));
                    work.replace_at(at, second, work.at(second, at));
                }
                work.replace_at(first, first, a - t * other);
                work.replace_at(second, second, b + t * other);
                work.replace_at(first, second, 0.0);
                work.replace_at(second, first, 0.0);
                if has_vectors {
                    let (row, next) = rows.two_rows(first, second);
                    rotate(row, next, c, t * c);
                }
            }
        }
        if is_diagonal {
            break;
        }
    }
    let order = ascending(size, |at| work.at(at, at))?;
    values.iter_mut().zip(&order).for_each(|(value, &at)| *value = work.at(at, at));
    for (row, out) in vectors.chunks_exact_mut(size.max(1)).enumerate() {
        out.iter_mut().zip(&order).for_each(|(out, &at)| *out = rows.at(at, row));
    }
    Ok(())
}
