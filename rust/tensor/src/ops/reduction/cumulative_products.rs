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
use crate::loops::real::Real;
use crate::loops::scaled::Scaled;
use crate::loops::{SEGMENT, write_cumulative_gradients, write_cumulative_products, write_quotients};
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

/// The rows that are computed at once.
const TOGETHER: usize = 8;

/// The kernel of all functions. A part is a row.
struct Products {
    rows: usize,
    length: usize,
    /// The number of sources.
    sources: usize,
    /// The number of the last products of a row that have gradients; 0 if the products are computed.
    gradients: usize,
    threads: usize,
}

/// Computes `R` rows without directions.
fn write_plain<T: Real, const R: usize>(factors: &[T], gradients: &[T], out: &mut [T]) -> Result<()> {
    if gradients.is_empty() {
        write_cumulative_products::<T, R>(factors, out);
        return Ok(());
    }
    let mut before = try_from_elem(0.0, out.len())?;
    let mut starts = try_from_elem([Scaled::ZERO; R], (out.len() / R).div_ceil(SEGMENT))?;
    write_cumulative_gradients([factors, gradients], &mut before, &mut starts, out);
    Ok(())
}

impl Products {
    /// Computes rows from the one with this number on, at most [`TOGETHER`].
    fn write_rows<T: Real>(&self, first: usize, out: &mut [T], sources: &[&[T]]) -> Result<()> {
        let (length, rows) = (self.length, out.len() / self.length);
        let operand = |index: usize, width: usize| {
            part(source(sources, index), first.saturating_mul(width), rows.saturating_mul(width))
        };
        let (factors, gradients) = (operand(0, length), operand(1, self.gradients));
        let fixed = if self.gradients > 0 { 2 } else { 1 };
        let (is_plain, has_all) = (self.sources == fixed, [0, length].contains(&self.gradients));
        if is_plain && has_all && rows == TOGETHER {
            return write_plain::<T, TOGETHER>(factors, gradients, out);
        }
        // The gradients of a row if only its last product has one.
        let mut padded = try_from_elem(T::default(), if has_all { 0 } else { length })?;
        for (row, out) in out.chunks_exact_mut(length).enumerate() {
            let start = row * length;
            let factors = part(factors, start, length);
            let gradients = if has_all {
                part(gradients, row * self.gradients, self.gradients)
            } else {
                let gradient = item(gradients, row);
                if is_plain && write_quotients(factors, gradient, out) {
                    continue;
                }
                padded.last_mut().into_iter().for_each(|last| *last = gradient);
                &padded
            };
            if is_plain {
                write_plain::<T, 1>(factors, gradients, out)?;
                continue;
            }
            let directions = (fixed..self.sources).map(|index| part(operand(index, length), start, length));
            let row = Row { factors, gradients, directions: directions.collect() };
            if self.gradients > 0 { row.write_gradients(out)? } else { row.write_products(out)? }
        }
        Ok(())
    }
}

impl<T: Real> PartedKernel<T, 1> for Products {
    fn parts(&self) -> usize {
        self.rows
    }

    fn chunk(&self) -> usize {
        (CHUNK_WORK >> self.sources) / self.length
    }

    fn run(&self, rows: Range<usize>, [out]: [&mut [T]; 1], sources: &[&[T]]) -> Result<()> {
        let position = |row: usize| row.saturating_mul(self.length);
        let out = part_mut(out, position(rows.start), position(rows.len()));
        let tile = (TILE / self.length).max(1).next_multiple_of(TOGETHER);
        for_each(self.threads, out.chunks_mut(position(tile)).enumerate(), &|(number, out)| {
            let groups = out.chunks_mut(position(TOGETHER)).enumerate();
            let first = rows.start.saturating_add(number.saturating_mul(tile));
            groups.into_iter().try_for_each(|(group, out)| {
                self.write_rows(first.saturating_add(group * TOGETHER), out, sources)
            })
        })
    }
}

/// Launches the kernel with factors, gradients of their last products if there are some, and directions.
fn launch<T: Real>(
    op: &'static str,
    factors: &Tensor,
    gradients: Option<&Tensor>,
    directions: &[Tensor],
) -> Result<Tensor> {
    let (shape, placement) = (factors.shape(), factors.placement());
    let (length, count) = (shape.last().copied().unwrap_or(1).max(1), shape.iter().product::<usize>());
    let threads = threads_on(placement, count, THREADED_ELEMENTS);
    let rows = count / length;
    let width = gradients.map_or(0, |gradients| if gradients.numel() == count { length } else { 1 });
    let factors = TensorPart::contiguous(factors, count);
    let gradients = gradients.map(|gradients| TensorPart::contiguous(gradients, rows * width));
    let directions = directions.iter().map(|direction| TensorPart::contiguous(direction, count));
    let sources: Vec<_> = std::iter::once(factors).chain(gradients).chain(directions).collect();
    let kernel = Products { rows, length, sources: sources.len(), gradients: width, threads };
    let [out] = launch_several::<T, 1>(op, placement, [shape], &sources, kernel)?;
    Ok(out)
}

/// Returns the derivatives of the cumulative products of rows in the directions; without directions, the products. All
/// tensors have one shape.
pub(crate) fn cumulative_products<T: Real>(
    op: &'static str,
    factors: &Tensor,
    directions: &[Tensor],
) -> Result<Tensor> {
    launch::<T>(op, factors, None, directions)
}

/// Returns the gradients of the factors of [`cumulative_products`] for the gradients of the products, differentiated in the
/// directions, which have the shape of the factors. There are gradients of all products, or of the last one of each row.
pub(crate) fn cumulative_products_backward<T: Real>(
    op: &'static str,
    factors: &Tensor,
    gradients: &Tensor,
    directions: &[Tensor],
) -> Result<Tensor> {
    launch::<T>(op, factors, Some(gradients), directions)
}
