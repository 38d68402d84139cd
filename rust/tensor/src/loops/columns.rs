//! Functions of columns of matrices. They compute a block of columns row by row.

use std::mem::MaybeUninit;

use super::real::Real;
use super::rows::divided;
use super::vectorized::vectorized;

/// The largest number of columns of a block.
pub(crate) const COLUMNS: usize = 256;

/// A block of at most [`COLUMNS`] columns of a result and of `N` sources, which are matrices of one layout.
#[derive(Clone, Copy)]
pub(crate) struct Columns<T, const N: usize> {
    out: *mut T,
    sources: [*const T; N],
    rows: usize,
    columns: usize,
    /// The number of elements from one row to the next.
    step: usize,
}

impl<T, const N: usize> Columns<T, N> {
    /// Creates a block.
    ///
    /// # Safety
    /// While it is used no other code writes the elements of the sources, which are initialized, or uses those of the result.
    pub unsafe fn new(out: *mut T, sources: [*const T; N], [rows, columns]: [usize; 2], step: usize) -> Self {
        debug_assert!(columns <= COLUMNS, "{columns} columns");
        Columns { out, sources, rows, columns: columns.min(COLUMNS), step }
    }

    /// Returns a row of each source.
    #[inline(always)]
    fn rows<'a>(self, number: usize) -> [&'a [T]; N] {
        // SAFETY: guaranteed by the caller of `new`.
        self.sources
            .map(|source| unsafe { std::slice::from_raw_parts(source.add(number * self.step), self.columns) })
    }

    /// Returns a row of the result, whose elements may not be initialized.
    #[inline(always)]
    fn out<'a>(self, number: usize) -> &'a mut [MaybeUninit<T>] {
        // SAFETY: guaranteed by the caller of `new`; no function uses two rows of the result at once.
        unsafe { std::slice::from_raw_parts_mut(self.out.add(number * self.step).cast(), self.columns) }
    }
}

/// Replaces numbers by their logarithms. Not generic: it is compiled once.
#[inline(never)]
fn logarithms_of(numbers: &mut [f64; COLUMNS]) {
    vectorized(
        #[inline(always)]
        move || {
            for number in numbers {
                *number = Real::ln(*number);
            }
        },
    );
}

/// Writes the softmax of columns, or its logarithm if it `is_log`, like [`softmax`](super::softmax) of rows.
pub(crate) fn softmax_of_columns<T: Real>(columns: Columns<T, 1>, is_log: bool) {
    vectorized(
        #[inline(always)]
        move || {
            let row = move |number: usize| {
                let [row] = columns.rows(number);
                row
            };
            let (mut largest, mut sums) = ([T::from_f64(f64::NEG_INFINITY); COLUMNS], [0.0; COLUMNS]);
            for number in 0..columns.rows {
                for (largest, &value) in largest.iter_mut().zip(row(number)) {
                    *largest = if value > *largest { value } else { *largest };
                }
            }
            for number in 0..columns.rows {
                let states = largest.iter().zip(&mut sums);
                for ((&largest, sum), (&value, out)) in
                    states.zip(row(number).iter().zip(columns.out(number)))
                {
                    let power = (value - largest).exp();
                    *sum += power.to_f64();
                    out.write(power);
                }
            }
            if is_log {
                let mut logarithms = [T::default(); COLUMNS];
                logarithms_of(&mut sums);
                logarithms.iter_mut().zip(sums).for_each(|(to, logarithm)| *to = T::from_f64(logarithm));
                for number in 0..columns.rows {
                    let states = largest.iter().zip(&logarithms);
                    for ((&largest, &logarithm), (&value, out)) in
                        states.zip(row(number).iter().zip(columns.out(number)))
                    {
                        out.write((value - largest) - logarithm);
                    }
                }
                return;
            }
            let (mut divisors, mut reciprocals) = ([T::default(); COLUMNS], [T::default(); COLUMNS]);
            for ((divisor, reciprocal), sum) in divisors.iter_mut().zip(&mut reciprocals).zip(sums) {
                *divisor = T::from_f64(sum);
                *reciprocal = T::from_f64(1.0) / *divisor;
            }
            for number in 0..columns.rows {
                for ((&sum, &reciprocal), out) in divisors.iter().zip(&reciprocals).zip(columns.out(number)) {
                    // SAFETY: it was written.
                    let power = unsafe { out.assume_init_read() };
                    out.write(divided(power, sum, reciprocal));
                }
            }
        },
    );
}

/// Writes the gradient of the input of [`softmax_of_columns`] from the gradient of its result and the result, which are the
/// sources.
pub(crate) fn softmax_of_columns_backward<T: Real>(columns: Columns<T, 2>, is_log: bool) {
    vectorized(
        #[inline(always)]
        move || {
            let pairs = move |number: usize| {
                let [gradients, results] = columns.rows(number);
                gradients.iter().zip(results)
            };
            let mut sums = [0.0; COLUMNS];
            for number in 0..columns.rows {
                for (sum, (&g, &y)) in sums.iter_mut().zip(pairs(number)) {
                    *sum += if is_log { g } else { g * y }.to_f64();
                }
            }
            let mut totals = [T::default(); COLUMNS];
            totals.iter_mut().zip(sums).for_each(|(total, sum)| *total = T::from_f64(sum));
            for number in 0..columns.rows {
                let elements = totals.iter().zip(pairs(number).zip(columns.out(number)));
                // Two loops, because the compiler would compute the exponentials in both cases.
                if is_log {
                    for (&total, ((&g, &y), out)) in elements {
                        out.write(g - y.exp() * total);
                    }
                } else {
                    for (&total, ((&g, &y), out)) in elements {
                        out.write((g - total) * y);
                    }
                }
            }
        },
    );
}
