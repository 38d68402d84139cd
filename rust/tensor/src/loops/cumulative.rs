//! Cumulative products of rows and their gradients. Products of a segment of a row have one exponent, unless a number is so large
//! or small that it has others. They have the bits of [`Scaled`] numbers, because scaling by powers of two rounds nothing.

use std::ops::Range;

use super::elementwise::{load, store};
use super::real::Real;
use super::scaled::Scaled;
use super::vectorized::vectorized;
use crate::DType;

/// The number of elements of a segment.
pub(crate) const SEGMENT: usize = 64;

/// Returns bits for [`are_moderate`].
#[inline(always)]
fn range_bits(number: f64) -> u64 {
    let number = if number == 0.0 { 1.0 } else { number };
    number.to_bits().wrapping_sub((1023 - 512) << 52)
}

/// Returns bits for [`are_moderate`] of a factor. The products of one of `float32` show whether it is moderate.
#[inline(always)]
fn range_bits_of_factor<T: Real>(factor: f64) -> u64 {
    if T::DTYPE == DType::Float64 { range_bits(factor) } else { 0 }
}

/// Returns factors whose product is 2 to the power of an exponent. They are 0 where each result is: the smallest numbers take long.
fn powers(product: Scaled) -> [f64; 2] {
    if product.exponent < -2040 { [0.0; 2] } else { product.powers() }
}

/// Returns whether all numbers, of whose range bits this is the union, are 0 or have exponents from -512 to 511.
fn are_moderate(bits: u64) -> bool {
    bits & (1 << 62) == 0
}

/// `R` rows of equal length, one after the other. They are computed at once: the chain of products of one row would leave most of
/// the processor idle.
#[derive(Clone, Copy)]
struct Rows<'a, T, const R: usize> {
    elements: &'a [T],
    length: usize,
}

impl<T: Real, const R: usize> Rows<'_, T, R> {
    fn segments(self) -> impl DoubleEndedIterator<Item = Range<usize>> + ExactSizeIterator {
        let length = self.length;
        (0..length.div_ceil(SEGMENT)).map(move |number| number * SEGMENT..length.min((number + 1) * SEGMENT))
    }

    /// Returns an element, which must exist.
    #[inline(always)]
    fn at(self, row: usize, position: usize) -> f64 {
        debug_assert!(row < R && position < self.length, "element {position} of row {row}");
        // SAFETY: `R` rows have this length.
        unsafe { load::<T>(self.elements.as_ptr().cast(), row * self.length + position) }.to_f64()
    }

    /// Multiplies mantissas by the factors of a segment, and adds to the range bits. `visit` gets each position with the mantissas
    /// before it and after it.
    #[inline(always)]
    fn multiply(
        self,
        (mut mantissas, mut bits): ([f64; R], [u64; R]),
        segment: Range<usize>,
        mut visit: impl FnMut(usize, &[f64; R], &[f64; R]),
    ) -> ([f64; R], [u64; R]) {
        for position in segment {
            let before = mantissas;
            for (row, (mantissa, bits_of_row)) in mantissas.iter_mut().zip(&mut bits).enumerate() {
                let factor = self.at(row, position);
                *mantissa *= factor;
                *bits_of_row |= range_bits_of_factor::<T>(factor) | range_bits(*mantissa);
            }
            visit(position, &before, &mantissas);
        }
        (mantissas, bits)
    }
}

/// Writes the cumulative products of `R` rows.
pub(crate) fn write_cumulative_products<T: Real, const R: usize>(factors: &[T], out: &mut [T]) {
    let length = factors.len().min(out.len()) / R;
    let rows = Rows::<T, R> { elements: factors, length };
    let out: *mut u8 = out.as_mut_ptr().cast();
    // SAFETY: the results have as many rows of this length.
    let write = move |row: usize, at, value: T| unsafe { store(out, row * length + at, value) };
    let mut products = [Scaled::ONE; R];
    for segment in rows.segments() {
        let (part, powers) = (segment.clone(), products.map(powers));
        let start = (products.map(|product| product.mantissa), [0; R]);
        let (mantissas, bits) = vectorized(
            #[inline(always)]
            move || {
                rows.multiply(start, part, |position, _, products| {
                    for (row, (product, [first, second])) in products.iter().zip(powers).enumerate() {
                        write(row, position, T::from_f64(product * first * second));
                    }
                })
            },
        );
        let states = products.iter_mut().zip(mantissas.into_iter().zip(bits));
        for (row, (product, (mantissa, bits_of_row))) in states.enumerate() {
            if are_moderate(bits_of_row) {
                *product = Scaled { mantissa, ..*product }.within_limits();
                continue;
            }
            for position in segment.clone() {
                *product = *product * Scaled::new(rows.at(row, position));
                write(row, position, product.to_element());
            }
        }
    }
}

/// Writes the gradients of the factors of the cumulative products of `R` rows for the gradients of the products. `before` has
/// room for the product of the factors before each, and `starts` for the products before each segment.
pub(crate) fn write_cumulative_gradients<T: Real, const R: usize>(
    [factors, gradients]: [&[T]; 2],
    before: &mut [f64],
    starts: &mut [[Scaled; R]],
    out: &mut [T],
) {
    let length = factors.len().min(gradients.len()).min(before.len()).min(out.len()) / R;
    let [factors, gradients] = [factors, gradients].map(|elements| Rows::<T, R> { elements, length });
    let out: *mut u8 = out.as_mut_ptr().cast();
    // SAFETY: the results have as many rows of this length.
    let write = move |row: usize, at, value: T| unsafe { store(out, row * length + at, value) };
    let (before, _) = before.as_chunks_mut::<R>();
    let mut products = [Scaled::ONE; R];
    for ((segment, before), start) in factors.segments().zip(before.chunks_mut(SEGMENT)).zip(&mut *starts) {
        *start = products;
        let (part, first) = (segment.clone(), (products.map(|product| product.mantissa), [0; R]));
        let (mantissas, bits) = vectorized(
            #[inline(always)]
            move || {
                let mut before = before.iter_mut();
                factors.multiply(first, part, |_, products, _| {
                    before.next().into_iter().for_each(|before| *before = *products);
                })
            },
        );
        let states = products.iter_mut().zip(mantissas.into_iter().zip(bits));
        for (row, (product, (mantissa, bits_of_row))) in states.enumerate() {
            *product = if are_moderate(bits_of_row) {
                Scaled { mantissa, ..*product }.within_limits()
            } else {
                segment.clone().fold(*product, |product, at| product * Scaled::new(factors.at(row, at)))
            };
        }
    }
    // The sums of the products of the factors after each, multiplied by the gradients of the products.
    let mut sums = [Scaled::ZERO; R];
    for ((segment, before), start) in factors.segments().zip(before.chunks(SEGMENT)).zip(&*starts).rev() {
        let (part, powers) = (segment.clone(), start.map(powers));
        let bits = sums.map(|sum| if sum.exponent == 0 { 0 } else { 1 << 62 });
        let first = (sums.map(|sum| sum.mantissa), bits);
        let (mantissas, bits) = vectorized(
            #[inline(always)]
            move || {
                let (mut sums, mut bits) = first;
                for (position, before) in part.zip(before).rev() {
                    let states = sums.iter_mut().zip(&mut bits).zip(before.iter().zip(&powers));
                    for (row, ((sum, bits_of_row), (before, [first, second]))) in states.enumerate() {
                        let (factor, gradient) = (factors.at(row, position), gradients.at(row, position));
                        // A sum with 0 preserves a negative 0.
                        *sum = if *sum == 0.0 { gradient } else { *sum + gradient };
                        *bits_of_row |= range_bits(*before)
                            | range_bits_of_factor::<T>(factor)
                            | range_bits(gradient)
                            | range_bits(*sum);
                        write(row, position, T::from_f64(before * first * *sum * second));
                        *sum *= factor;
                    }
                }
                (sums, bits)
            },
        );
        let states = sums.iter_mut().zip(start).zip(mantissas.into_iter().zip(bits));
        for (row, ((sum, start), (mantissa, bits_of_row))) in states.enumerate() {
            if are_moderate(bits_of_row | range_bits(mantissa)) {
                *sum = Scaled { mantissa, exponent: 0 }.within_limits();
                continue;
            }
            let (mut products, mut product) = ([Scaled::ONE; SEGMENT], *start);
            for (before, position) in products.iter_mut().zip(segment.clone()) {
                *before = product;
                product = product * Scaled::new(factors.at(row, position));
            }
            for (position, before) in segment.clone().zip(products).rev() {
                *sum = *sum + Scaled::new(gradients.at(row, position));
                write(row, position, (before * *sum).to_element());
                *sum = *sum * Scaled::new(factors.at(row, position));
            }
        }
    }
}
