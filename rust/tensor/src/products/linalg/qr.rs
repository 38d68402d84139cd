//! The QR factorization.
//!
//! Source: Golub and Van Loan, "Matrix Computations" (2013), section 5.2: Householder reflections `I - tau v v^T`, with the
//! signs of LAPACK's `dlarfg`, so that the factors have the signs of PyTorch's.

use super::matrix::{Matrix, add_scaled, norm};
use crate::Result;
use crate::iterate::parts::{item, rest, rest_mut};
use crate::storage::fallible_alloc::{try_collect, try_from_elem, try_with_capacity};

/// A reflection of the rows from `first` on. The first element of `vector` is 1.
struct Reflection {
    first: usize,
    vector: Vec<f64>,
    tau: f64,
}

impl Reflection {
    /// Returns the reflection that makes a column of the matrix zero below a row, and the element that remains there.
    fn of_column(matrix: &Matrix<'_>, rows: usize, first: usize) -> Result<(Self, f64)> {
        let mut vector = try_with_capacity(rows - first)?;
        vector.extend((first..rows).map(|row| matrix.at(row, first)));
        let (pivot, below) = (item(&vector, 0), norm(rest(&vector, 1)));
        if below == 0.0 {
            return Ok((Reflection { first, vector, tau: 0.0 }, pivot));
        }
        let length = pivot.hypot(below);
        let left = if pivot < 0.0 { length } else { -length };
        vector.iter_mut().for_each(|element| *element /= pivot - left);
        vector.iter_mut().take(1).for_each(|element| *element = 1.0);
        Ok((Reflection { first, vector, tau: (left - pivot) / left }, left))
    }

    /// Applies the reflection to the columns of a matrix from `column` on. `products` has an element for each column.
    fn apply(&self, matrix: &mut Matrix<'_>, column: usize, products: &mut [f64]) {
        if self.tau == 0.0 {
            return;
        }
        let products = rest_mut(products, column);
        products.fill(0.0);
        for (row, &factor) in (self.first..).zip(&self.vector) {
            add_scaled(products, factor, rest(matrix.row(row), column));
        }
        for (row, &factor) in (self.first..).zip(&self.vector) {
            add_scaled(rest_mut(matrix.row_mut(row), column), -self.tau * factor, products);
        }
    }
}

/// Writes the factors of a matrix into zeros: the first columns of the orthogonal one, as many as `q` has, and the first rows
/// of the triangular one, as many as `r` has.
pub(super) fn factor(
    rows: usize,
    columns: usize,
    matrix: &[f64],
    q: &mut [f64],
    r: &mut [f64],
) -> Result<()> {
    let mut elements = try_collect(matrix.len(), matrix.iter().copied())?;
    let mut work = Matrix::new(&mut elements, columns);
    let (steps, q_columns) = (rows.min(columns), q.len() / rows.max(1));
    let mut products = try_from_elem(0.0, columns.max(q_columns))?;
    let mut reflections = try_with_capacity(steps)?;
    for step in 0..steps {
        let (reflection, left) = Reflection::of_column(&work, rows, step)?;
        reflection.apply(&mut work, step.saturating_add(1), products.get_mut(..columns).unwrap_or_default());
        work.replace_at(step, step, left);
        reflections.push(reflection);
    }
    for (row, out) in r.chunks_exact_mut(columns.max(1)).enumerate().take(steps) {
        rest_mut(out, row).copy_from_slice(rest(work.row(row), row));
    }
    if q_columns > 0 {
        let mut q = Matrix::new(q, q_columns);
        q.add_ones();
        for reflection in reflections.iter().rev() {
            reflection.apply(&mut q, reflection.first, products.get_mut(..q_columns).unwrap_or_default());
        }
    }
    Ok(())
}
