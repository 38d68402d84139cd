//! Matrices in rows, and functions of rows.

use std::cmp::Ordering;

use crate::Result;
use crate::iterate::parts::{item, part, part_mut, split_mut};
use crate::loops::vectorized;
use crate::storage::fallible_alloc::try_collect;

/// The number of partial sums of a dot product. It is fixed, so that bits do not depend on the CPU.
const LANES: usize = 8;

/// A matrix whose rows are stored one after another.
pub(super) struct Matrix<'a> {
    elements: &'a mut [f64],
    columns: usize,
}

impl<'a> Matrix<'a> {
    pub fn new(elements: &'a mut [f64], columns: usize) -> Self {
        Matrix { elements, columns }
    }

    pub fn row(&self, row: usize) -> &[f64] {
        part(self.elements, row.saturating_mul(self.columns), self.columns)
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        part_mut(self.elements, row.saturating_mul(self.columns), self.columns)
    }

    /// Returns a row, and one of those after it.
    pub fn two_rows(&mut self, first: usize, second: usize) -> (&mut [f64], &mut [f64]) {
        debug_assert!(first < second, "rows {first} and {second}");
        let (before, after) = split_mut(self.elements, second.saturating_mul(self.columns));
        (part_mut(before, first.saturating_mul(self.columns), self.columns), part_mut(after, 0, self.columns))
    }

    pub fn at(&self, row: usize, column: usize) -> f64 {
        item(self.row(row), column)
    }

    pub fn replace_at(&mut self, row: usize, column: usize, value: f64) {
        debug_assert!(column < self.columns, "column {column} of {}", self.columns);
        self.row_mut(row).iter_mut().skip(column).take(1).for_each(|element| *element = value);
    }

    pub fn swap_rows(&mut self, first: usize, second: usize) {
        if first != second {
            let (first, second) = self.two_rows(first.min(second), first.max(second));
            first.swap_with_slice(second);
        }
    }

    /// Sets the elements of the diagonal to 1.
    pub fn add_ones(&mut self) {
        let step = self.columns.saturating_add(1);
        let rows = self.elements.len() / self.columns.max(1);
        let diagonal = self.elements.iter_mut().step_by(step).take(rows.min(self.columns));
        diagonal.for_each(|element| *element = 1.0);
    }
}

/// Writes a matrix in rows as one in columns.
pub(super) fn transpose(columns: usize, matrix: &[f64], out: &mut [f64]) {
    /// Rows and columns whose cache lines are used at once.
    const TILE: usize = 16;
    let rows = matrix.len() / columns.max(1);
    for first_row in (0..rows).step_by(TILE) {
        for first_column in (0..columns).step_by(TILE) {
            for column in first_column..columns.min(first_column + TILE) {
                for row in first_row..rows.min(first_row + TILE) {
                    if let Some(out) = out.get_mut(column * rows + row) {
                        *out = item(matrix, row * columns + column);
                    }
                }
            }
        }
    }
}

/// Returns the sum of the products of elements.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.into_iter().sum::<f64>() + rest
}

/// Adds `factor` times the source to the target.
pub(super) fn add_scaled(target: &mut [f64], factor: f64, source: &[f64]) {
    vectorized(
        #[inline(always)]
        move || {
            for (target, source) in target.iter_mut().zip(source) {
                *target += factor * source;
            }
        },
    );
}

/// Applies a plane rotation to two rows: `(c a - s b, s a + c b)`.
pub(super) fn rotate(a: &mut [f64], b: &mut [f64], c: f64, s: f64) {
    vectorized(
        #[inline(always)]
        move || {
            for (a, b) in a.iter_mut().zip(b) {
                (*a, *b) = (c * *a - s * *b, s * *a + c * *b);
            }
        },
    );
}

/// Returns the numbers below `count` in ascending order of their keys.
pub(super) fn ascending(count: usize, key: impl Fn(usize) -> f64) -> Result<Vec<usize>> {
    fn compare((a, first): &(f64, usize), (b, second): &(f64, usize)) -> Ordering {
        a.total_cmp(b).then(first.cmp(second))
    }
    let mut keyed = try_collect(count, (0..count).map(|number| (key(number), number)))?;
    keyed.sort_unstable_by(compare);
    try_collect(count, keyed.into_iter().map(|(_, number)| number))
}

/// Returns the largest absolute value, or NaN if there is one.
pub(super) fn largest(elements: &[f64]) -> f64 {
    elements.iter().fold(0.0, |largest: f64, element| {
        let size = element.abs();
        if size > largest || size.is_nan() { size } else { largest }
    })
}

/// Returns the euclidean norm, whose squares neither overflow nor underflow.
pub(super) fn norm(elements: &[f64]) -> f64 {
    let scale = largest(elements);
    if scale == 0.0 || !scale.is_finite() {
        return scale;
    }
    let squares: f64 = elements.iter().map(|element| (element / scale) * (element / scale)).sum();
    scale * squares.sqrt()
}

/// Returns the tangent, of at most 1, of the angle of the plane rotation that makes a symmetric 2x2 matrix diagonal whose
/// diagonal elements differ by `difference` and whose other element is `other`.
pub(super) fn tangent(difference: f64, other: f64) -> f64 {
    let zeta = difference / (2.0 * other);
    let sign = if zeta < 0.0 { -1.0 } else { 1.0 };
    sign / (zeta.abs() + zeta.hypot(1.0))
}
