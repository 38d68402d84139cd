//! Copies with dimensions in reverse order.

use super::parts::{item, part, take};
use crate::iterate::{NoInput, TensorPart, launch_with_layout, threads_on};
use crate::iterate::{THREADED_ELEMENTS, for_each_tile};
use crate::{Element, Result, Tensor};

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
pub(crate) fn flip<T: Element>(source: &Tensor, flipped: &[bool]) -> Result<Tensor> {
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
