//! Integer matrix multiplication, which `gemm` does not provide.

use super::Matrix;
use crate::Result;
use crate::iterate::parts::{item, part, part_mut, rest};
use crate::loops::vectorized;
use crate::storage::fallible_alloc::try_with_capacity;

/// Rows, columns and depth of a tile. The part of `b` (512 KiB) stays in the L2 cache while all rows of `a` are read,
/// and a row of the result (4 KiB) in the L1 cache.
pub(super) const TILE: [usize; 3] = [1024, 512, 128];

/// Adds the wrapping product of `a` and `b` to the rows of `out`, whose stride is `step`.
pub(super) fn add(
    out: &mut [i64],
    step: usize,
    (a, left): (&[i64], Matrix),
    (b, right): (&[i64], Matrix),
) -> Result<()> {
    let packed = if right.column_stride == 1 { None } else { Some(packed(b, right)?) };
    let (b, b_step) = match &packed {
        Some(packed) => (&**packed, right.columns),
        None => (rest(b, right.start), right.row_stride),
    };
    let tile = Tile { out, step, a, left, b, right, b_step };
    vectorized(
        #[inline(always)]
        move || tile.multiply(),
    );
    Ok(())
}

/// Returns contiguous rows of a matrix: they are read many times.
fn packed(b: &[i64], right: Matrix) -> Result<Vec<i64>> {
    let mut packed = try_with_capacity(right.rows.saturating_mul(right.columns))?;
    for k in 0..right.rows {
        let row = right.start.saturating_add(k.saturating_mul(right.row_stride));
        packed.extend(
            (0..right.columns).map(|j| item(b, row.saturating_add(j.saturating_mul(right.column_stride)))),
        );
    }
    Ok(packed)
}

struct Tile<'a> {
    out: &'a mut [i64],
    step: usize,
    a: &'a [i64],
    left: Matrix,
    /// Contiguous rows with stride `b_step`, from the first row on.
    b: &'a [i64],
    right: Matrix,
    b_step: usize,
}

impl Tile<'_> {
    // Inlined where the instruction set is chosen.
    #[inline(always)]
    fn multiply(self) {
        /// Rows of `b` that are added at once, to load and store the result less often.
        const ROWS: usize = 4;
        let Tile { out, step, a, left, b, right, b_step } = self;
        let columns = right.columns;
        let row = |k: usize| {
            let start = k.saturating_mul(b_step);
            part(b, start, columns)
        };
        for i in 0..left.rows {
            let start = i.saturating_mul(step);
            let out = part_mut(out, start, columns);
            let first = left.start.saturating_add(i.saturating_mul(left.row_stride));
            let value = |k: usize| item(a, first.saturating_add(k.saturating_mul(left.column_stride)));
            let mut k = 0;
            while k + ROWS <= left.columns {
                let [a0, a1, a2, a3] = [value(k), value(k + 1), value(k + 2), value(k + 3)];
                let pairs = row(k).iter().zip(row(k + 1)).zip(row(k + 2).iter().zip(row(k + 3)));
                for (out, ((b0, b1), (b2, b3))) in out.iter_mut().zip(pairs) {
                    let low = a0.wrapping_mul(*b0).wrapping_add(a1.wrapping_mul(*b1));
                    let high = a2.wrapping_mul(*b2).wrapping_add(a3.wrapping_mul(*b3));
                    *out = out.wrapping_add(low).wrapping_add(high);
                }
                k += ROWS;
            }
            while k < left.columns {
                let factor = value(k);
                for (out, b) in out.iter_mut().zip(row(k)) {
                    *out = out.wrapping_add(factor.wrapping_mul(*b));
                }
                k += 1;
            }
        }
    }
}
