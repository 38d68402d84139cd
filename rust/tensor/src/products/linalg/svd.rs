//! The singular value decomposition.
//!
//! Sources: Demmel and Veselic, "Jacobi's method is more accurate than QR" (1992): rotations of columns until they are
//! orthogonal, after which their lengths are the singular values; Golub and Van Loan, "Matrix Computations" (2013), section
//! 8.6.

use super::matrix::{Matrix, add_scaled, ascending, dot, largest, norm, rotate, tangent, transpose};
use crate::Result;
use crate::iterate::parts::{item, part};
use crate::storage::fallible_alloc::{try_collect, try_from_elem};

/// The largest number of sweeps over all pairs. About ten are enough for any matrix of numbers.
const SWEEPS: usize = 60;

/// The share of the largest singular value below which another one is 0 for the singular vectors: the squares of its column
/// underflow, so that no rotation has made it orthogonal to the others.
const TINY: f64 = 1e-140;

/// Writes the singular values of a matrix with at least as many rows as columns, in descending order, and, unless there is no
/// memory for them, the left singular vectors as columns of `u`, as many as it has, and the right ones as rows of `vh`. Returns
/// 0, or 1 if an element is not finite.
pub(super) fn factor(
    rows: usize,
    columns: usize,
    matrix: &mut [f64],
    [u, values, vh]: [&mut [f64]; 3],
) -> Result<usize> {
    let scale = largest(matrix);
    if !scale.is_finite() {
        return Ok(1);
    }
    // Numbers near 1, whose squares neither overflow nor underflow. A power of two scales without rounding.
    let unit = if scale == 0.0 { 1.0 } else { scale.log2().floor().clamp(-1000.0, 1000.0).exp2() };
    matrix.iter_mut().for_each(|element| *element /= unit);
    let mut elements = try_from_elem(0.0, matrix.len())?;
    transpose(columns, matrix, &mut elements);
    let mut work = Matrix::new(&mut elements, rows);
    let has_vectors = !vh.is_empty();
    let mut right = try_from_elem(0.0, vh.len())?;
    let mut right = Matrix::new(&mut right, columns);
    if has_vectors {
        right.add_ones();
    }
    make_orthogonal(columns, &mut work, has_vectors.then_some(&mut right));
    let lengths = try_collect(columns, (0..columns).map(|column| norm(work.row(column))))?;
    let order = ascending(columns, |at| -item(&lengths, at))?;
    values.iter_mut().zip(&order).for_each(|(value, &at)| *value = item(&lengths, at) * unit);
    if !has_vectors && u.is_empty() {
        return Ok(0);
    }
    for (out, &at) in vh.chunks_exact_mut(columns.max(1)).zip(&order) {
        out.copy_from_slice(right.row(at));
    }
    let count = u.len() / rows.max(1);
    let mut left = try_from_elem(0.0, u.len())?;
    let least = order.first().map_or(0.0, |&at| item(&lengths, at)) * TINY;
    let mut known = 0;
    for (out, &at) in left.chunks_exact_mut(rows.max(1)).zip(&order) {
        let length = item(&lengths, at);
        if length > least {
            out.iter_mut().zip(work.row(at)).for_each(|(out, element)| *out = element / length);
            known += 1;
        }
    }
    complete(rows, known, count, &mut left)?;
    transpose(rows, &left, u);
    Ok(0)
}

/// Rotates the rows of `work`, and those of `right` likewise, until the former are orthogonal.
fn make_orthogonal(count: usize, work: &mut Matrix<'_>, mut right: Option<&mut Matrix<'_>>) {
    for _ in 0..SWEEPS {
        let mut is_orthogonal = true;
        for first in 0..count {
            for second in first.saturating_add(1)..count {
                let (a, b) = work.two_rows(first, second);
                let (squares_a, squares_b, product) = (dot(a, a), dot(b, b), dot(a, b));
                if product.abs() <= f64::EPSILON * squares_a.sqrt() * squares_b.sqrt() {
                    continue;
                }
                is_orthogonal = false;
                let t = tangent(squares_b - squares_a, product);
                let c = 1.0 / t.hypot(1.0);
                rotate(a, b, c, t * c);
                if let Some(right) = &mut right {
                    let (a, b) = right.two_rows(first, second);
                    rotate(a, b, c, t * c);
                }
            }
        }
        if is_orthogonal {
            return;
        }
    }
}

/// Adds rows to `known` orthonormal ones until there are `count`, all orthonormal.
fn complete(length: usize, known: usize, count: usize, rows: &mut [f64]) -> Result<()> {
    // The squares of the projections of each unit vector on the rows.
    let mut covered = try_from_elem(0.0, length)?;
    let mut rows = Matrix::new(rows, length);
    for row in 0..count {
        if row >= known {
            let free = covered.iter().enumerate().min_by(|(_, a), (_, b)| f64::total_cmp(a, b));
            let unit = free.map_or(0, |(unit, _)| unit);
            rows.row_mut(row).fill(0.0);
            rows.replace_at(row, unit, 1.0);
            // The second pass removes what rounding of the first has left.
            for _ in 0..2 {
                for other in 0..row {
                    let (other, row) = rows.two_rows(other, row);
                    add_scaled(row, -dot(other, row), other);
                }
            }
            let size = norm(rows.row(row));
            rows.row_mut(row).iter_mut().for_each(|element| *element /= size);
        }
        let squares = part(rows.row(row), 0, length).iter().map(|element| element * element);
        covered.iter_mut().zip(squares).for_each(|(covered, square)| *covered += square);
    }
    Ok(())
}
