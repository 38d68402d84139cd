//! Cumulative products along the last dimension of contiguous tensors, and their derivatives of any order.
//!
//! Source: Griewank and Walther, "Evaluating Derivatives" (2008), for derivatives as numbers with nilpotent parts.
//! Intermediate results are [`Scaled`], so that no product of finite numbers is infinite: an infinity times 0 would be
//! NaN.

use std::ops::Range;

use crate::iterate::parts::{item, part, part_mut, source};
use crate::iterate::{
    PartedKernel, THREADED_ELEMENTS, TILE, TensorPart, for_each, launch_several, threads_on,
};
use crate::loops::scaled::Scaled;
use crate::loops::{GROUP, is_moderate};
use crate::storage::fallible_alloc::try_from_elem;
use crate::{Element, Result, Tensor};

/// The number of multiplications between two checks for interrupts.
const CHUNK_WORK: usize = 1 << 26;

/// The operands of a row: the factors, the gradients of the products if there are some, and the directions in which
/// the products are differentiated.
struct Row<'a, T> {
    factors: &'a [T],
    gradients: &'a [T],
    directions: Vec<&'a [T]>,
}

impl<T: Element> Row<'_, T> {
    /// Multiplies a derivative by the factor at a position. The derivative has a part for each set of directions, which
    /// the bits of its index are.
    fn multiply(&self, parts: &mut [Scaled], position: usize) {
        let at = |values: &[T]| Scaled::new(item(values, position));
        let factor = at(self.factors);
        // Each part depends on those of smaller sets.
        for set in (0..parts.len()).rev() {
            let part = |set: usize| parts.get(set).copied().unwrap_or(Scaled::ZERO);
            let members = self.directions.iter().enumerate().filter(|(bit, _)| set & (1 << bit) != 0);
            let product = members
                .fold(part(set) * factor, |sum, (bit, values)| sum + part(set & !(1 << bit)) * at(values));
            if let Some(part) = parts.get_mut(set) {
                *part = product;
            }
        }
    }

    /// Writes the derivative of each cumulative product in all directions.
    fn write_products(&self, out: &mut [T]) -> Result<()> {
        if self.directions.is_empty() {
            write_plain_products(self.factors, out);
            return Ok(());
        }
        let mut parts = try_from_elem(Scaled::ZERO, 1 << self.directions.len())?;
        parts.first_mut().into_iter().for_each(|part| *part = Scaled::ONE);
        for (position, out) in out.iter_mut().enumerate() {
            self.multiply(&mut parts, position);
            *out = parts.last().copied().unwrap_or(Scaled::ZERO).to_element();
        }
        Ok(())
    }

    /// Writes the gradient of each factor, which is the gradient of the products, differentiated in all directions.
    fn write_gradients(&self, out: &mut [T]) -> Result<()> {
        let count = 1usize << self.directions.len();
        // The products of the factors before each, and the sum of the products of those after it, each multiplied by
        // the gradient of the cumulative product with which it ends.
        let mut before = try_from_elem(Scaled::ZERO, out.len().saturating_mul(count))?;
        let mut parts = try_from_elem(Scaled::ZERO, count)?;
        parts.first_mut().into_iter().for_each(|part| *part = Scaled::ONE);
        for (position, before) in before.chunks_exact_mut(count).enumerate() {
            before.copy_from_slice(&parts);
            self.multiply(&mut parts, position);
        }
        parts.fill(Scaled::ZERO);
        let products = before.chunks_exact(count).enumerate();
        for (out, (position, before)) in out.iter_mut().zip(products).rev() {
            let gradient = item(self.gradients, position);
            parts.first_mut().into_iter().for_each(|part| *part = *part + Scaled::new(gradient));
            let pairs = before.iter().zip(parts.iter().rev());
            let total = pairs.fold(Scaled::ZERO, |sum, (&before, &after)| sum + before * after);
            *out = total.to_element();
            self.multiply(&mut parts, position);
        }
        Ok(())
    }
}

/// Writes the cumulative products. Those of moderate factors have no exponent, and take no longer than the multiplications.
fn write_plain_products<T: Element>(factors: &[T], out: &mut [T]) {
    let mut product = Scaled::ONE;
    for (out, factors) in out.chunks_mut(GROUP).zip(factors.chunks(GROUP)) {
        let pairs = out.iter_mut().zip(factors.iter().map(|factor| factor.to_f64()));
        let are_moderate = factors.iter().fold(true, |all, factor| all & is_moderate(factor.to_f64()));
        if are_moderate && product.exponent == 0 {
            let last = pairs.fold(product.mantissa, |product, (out, factor)| {
                *out = T::from_f64(product * factor);
                product * factor
            });
            product = Scaled::new(last);
        } else {
            pairs.for_each(|(out, factor)| {
                product = product * Scaled::new(factor);
                *out = product.to_element();
            });
        }
    }
}

/// The kernel of both functions. A part is a row.
struct Products {
    rows: usize,
    length: usize,
    /// The number of sources.
    sources: usize,
    has_gradients: bool,
    threads: usize,
}

impl<T: Element> PartedKernel<T, 1> for Products {
    fn parts(&self) -> usize {
        self.rows
    }

    fn chunk(&self) -> usize {
        (CHUNK_WORK >> self.sources) / self.length
    }

    fn run(&self, rows: Range<usize>, [out]: [&mut [T]; 1], sources: &[&[T]]) -> Result<()> {
        let position = |row: usize| row.saturating_mul(self.length);
        let out = part_mut(out, position(rows.start), position(rows.len()));
        let tile = (TILE / self.length).max(1).saturating_mul(self.length);
        for_each(self.threads, out.chunks_mut(tile).enumerate(), &|(number, out)| {
            let first = rows.start.saturating_add(number.saturating_mul(tile / self.length));
            for (row, out) in (first..).zip(out.chunks_exact_mut(self.length)) {
                let operand = |index: usize| part(source(sources, index), position(row), self.length);
                let fixed = if self.has_gradients { 2 } else { 1 };
                let directions = (fixed..self.sources).map(operand).collect();
                let gradients = if self.has_gradients { operand(1) } else { &[] };
                let operands = Row { factors: operand(0), gradients, directions };
                if self.has_gradients {
                    operands.write_gradients(out)?
                } else {
                    operands.write_products(out)?
                }
            }
            Ok(())
        })
    }
}

fn launch<T: Element>(
    op: &'static str,
    sources: &[&Tensor],
    factors: &Tensor,
    has_gradients: bool,
) -> Result<Tensor> {
    let (shape, placement) = (factors.shape(), factors.placement());
    let (length, count) = (shape.last().copied().unwrap_or(1).max(1), shape.iter().product());
    let threads = threads_on(placement, count, THREADED_ELEMENTS);
    let kernel = Products { rows: count / length, length, sources: sources.len(), has_gradients, threads };
    let sources: Vec<_> = sources.iter().map(|source| TensorPart::contiguous(source, count)).collect();
    let [out] = launch_several::<T, 1>(op, placement, [shape], &sources, kernel)?;
    Ok(out)
}

/// Returns the derivatives of the cumulative products of rows in the directions; without directions, the products. All
/// tensors have one shape.
pub(crate) fn cumulative_products<T: Element>(
    op: &'static str,
    factors: &Tensor,
    directions: &[Tensor],
) -> Result<Tensor> {
    let sources: Vec<&Tensor> = std::iter::once(factors).chain(directions).collect();
    launch::<T>(op, &sources, factors, false)
}

/// Returns the gradients of the factors of [`cumulative_products`] for the gradients of the products, differentiated in
/// the directions. All tensors have one shape.
pub(crate) fn cumulative_products_backward<T: Element>(
    op: &'static str,
    factors: &Tensor,
    gradients: &Tensor,
    directions: &[Tensor],
) -> Result<Tensor> {
    let sources: Vec<&Tensor> = [factors, gradients].into_iter().chain(directions).collect();
    launch::<T>(op, &sources, factors, true)
}
