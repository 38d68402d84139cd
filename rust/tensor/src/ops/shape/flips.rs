//! Copies with the elements of dimensions in another order.

use super::join::cat;
use crate::dtype::dispatch_size;
use crate::error::Tuple;
use crate::iterate::parts::{item, part, take};
use crate::iterate::{NoInput, THREADED_ELEMENTS, TensorPart, for_each_tile, launch_with_layout, threads_on};
use crate::layout::{Layout, distinct_dims, signed, wrap_argument};
use crate::recording::NodeBuilder;
use crate::{Element, Error, ErrorKind, Result, Tensor, iterate};

impl Tensor {
    /// Returns a copy with the indices of these dimensions in reverse order, in the memory order of this tensor.
    pub fn flip(&self, dims: &[i64]) -> Result<Tensor> {
        let flipped = distinct_dims("flip", "dims", dims, self.ndim())?;
        let bits = iterate::bits(self);
        let out = dispatch_size!(bits.dtype(), T => flip::<T>(&bits, &flipped))?;
        let out = iterate::reinterpret(&out, self.dtype());
        let dims = dims.to_vec();
        NodeBuilder::record_linear("FlipBackward0", self, out, move |gradient| gradient.flip(&dims))
    }

    /// Returns a copy with the second dimension in reverse order: `torch.fliplr`.
    pub fn fliplr(&self) -> Result<Tensor> {
        if self.ndim() < 2 {
            return Err(Error::shape("fliplr", "input", "have at least two dimensions", self.shape()));
        }
        self.flip(&[1])
    }

    /// Returns a copy with the first dimension in reverse order: `torch.flipud`.
    pub fn flipud(&self) -> Result<Tensor> {
        if self.ndim() == 0 {
            return Err(Error::shape("flipud", "input", "have at least one dimension", self.shape()));
        }
        self.flip(&[0])
    }

    /// Returns a copy with the elements moved by `shifts` along `dims`; those beyond the end come first. Without
    /// dimensions the elements are moved in row-major order.
    pub fn roll(&self, shifts: &[i64], dims: &[i64]) -> Result<Tensor> {
        let op = "roll";
        let is_flat = dims.is_empty() && shifts.len() == 1;
        Error::when(shifts.is_empty(), || Error::value(op, "shifts", "contain a number", Tuple(shifts)))?;
        if !is_flat && shifts.len() != dims.len() {
            let expected = format!("have a dimension for each of {} shifts", shifts.len());
            return Err(Error::value(op, "dims", expected, Tuple(dims)));
        }
        Error::when(!is_flat && self.ndim() == 0, || Error::needs_dimension(op, ErrorKind::Index))?;
        let source = self.detach();
        let out = if is_flat {
            let flat = source.contiguous()?.reshaped(&[source.numel()])?;
            let moved = rolled(&flat, shifts.first().copied().unwrap_or(0), 0)?;
            // The result is no view of the flat tensor.
            moved.alias(Layout::contiguous(self.shape()))
        } else {
            let mut out = source;
            for (&shift, &dim) in shifts.iter().zip(dims) {
                out = rolled(&out, shift, wrap_argument(op, "dims", dim, self.ndim())?)?;
            }
            out
        };
        // The order is reversed, too: a dimension may be named twice.
        let back: Vec<i64> =
            shifts.iter().rev().map(|shift| shift.checked_neg().unwrap_or(i64::MIN)).collect();
        let dims: Vec<i64> = dims.iter().rev().copied().collect();
        NodeBuilder::record_linear("RollBackward0", self, out, move |gradient| gradient.roll(&back, &dims))
    }
}

/// Returns a contiguous copy of a tensor without history, with the elements moved along one dimension.
fn rolled(source: &Tensor, shift: i64, at: usize) -> Result<Tensor> {
    let size = source.shape().get(at).copied().unwrap_or(0);
    let (size, dim) = (signed(size), signed(at));
    if size == 0 {
        return source.contiguous_copy();
    }
    // The index that comes first. `i64::MIN` has no negation.
    let first = (size - shift.rem_euclid(size)) % size;
    let (tail, head) = (source.slice(dim, Some(first), None, 1)?, source.slice(dim, None, Some(first), 1)?);
    cat(&[tail, head], dim)
}

/// A dimension of the source.
#[derive(Clone, Copy)]
struct Dim {
    size: usize,
    stride: usize,
    is_flipped: bool,
}

impl Dim {
    /// Returns the distance of the element at an index of the result from the first element of the source.
    fn distance(self, index: usize) -> usize {
        let index = if self.is_flipped { self.size.saturating_sub(index.saturating_add(1)) } else { index };
        index.saturating_mul(self.stride)
    }
}

/// Returns a copy with the marked dimensions in reverse order, in the memory order of the source.
fn flip<T: Element>(source: &Tensor, flipped: &[bool]) -> Result<Tensor> {
    // Read once: another thread may resize the source.
    let own = source.layout();
    let layout = own.preserve_format();
    let dim = |at: usize| Dim {
        size: own.shape.get(at).copied().unwrap_or(1),
        stride: own.strides.get(at).copied().unwrap_or(0),
        is_flipped: flipped.get(at).copied().unwrap_or(false),
    };
    let mut outer: Vec<Dim> =
        layout.memory_order().into_iter().map(dim).filter(|dim| dim.size != 1).collect();
    let row = outer.pop().unwrap_or(Dim { size: 1, stride: 0, is_flipped: false });
    let start = own.offset;
    let threads = threads_on(source.placement(), own.numel(), THREADED_ELEMENTS);
    let elements = TensorPart::up_to(source, own.required_len().unwrap_or(0));
    launch_with_layout(
        "flip",
        source.placement(),
        layout,
        [Some(elements), None],
        move |out: &mut [T], data: &[T], _: &[NoInput]| {
            for_each_tile(threads, out, &|first, mut tile| {
                let mut element = first;
                while !tile.is_empty() {
                    let (number, column) = (element / row.size.max(1), element % row.size.max(1));
                    let length = tile.len().min(row.size - column);
                    let out = take(&mut tile, length);
                    element += length;
                    let begin = start.saturating_add(row_distance(&outer, number));
                    if row.stride != 1 {
                        for (index, out) in (column..).zip(out) {
                            *out = item(data, begin.saturating_add(row.distance(index)));
                        }
                    } else if row.is_flipped {
                        let first =
                            begin.saturating_add(row.size.saturating_sub(column.saturating_add(length)));
                        out.iter_mut()
                            .zip(part(data, first, length).iter().rev())
                            .for_each(|(out, value)| *out = *value);
                    } else {
                        let values = part(data, begin.saturating_add(column), length);
                        out.iter_mut().zip(values).for_each(|(out, value)| *out = *value);
                    }
                }
            })
        },
    )
}

/// Returns the distance of a row, which is numbered in the memory order of the result.
fn row_distance(outer: &[Dim], number: usize) -> usize {
    let mut rest = number;
    outer.iter().rev().fold(0, |sum: usize, dim| {
        let index = rest % dim.size.max(1);
        rest /= dim.size.max(1);
        sum.saturating_add(dim.distance(index))
    })
}
