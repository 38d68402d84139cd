//! Kernels on rows along the last dimension of contiguous tensors: selection by index and linear recurrences.

use super::launch::{launch_binary, result_placement};
use crate::{Element, Error, Result, Tensor};

/// Returns the `count` elements of a contiguous tensor.
fn elements<T>(data: &[T], tensor_start: usize, count: usize) -> &[T] {
    data.get(tensor_start..tensor_start.saturating_add(count)).unwrap_or_default()
}

/// Returns the element of each row of `length` elements at each index of the row of `indices`, as `torch.gather`.
pub(crate) fn gather_rows<T: Element>(
    op: &'static str,
    source: &Tensor,
    length: usize,
    indices: &Tensor,
    width: usize,
) -> Result<Tensor> {
    let (start, count) = (source.storage_offset(), source.numel());
    let (from, chosen) = (indices.storage_offset(), indices.numel());
    let (length, width) = (length.max(1), width.max(1));
    let (placement, sources) = (source.placement(), [Some(source), Some(indices)]);
    launch_binary(
        op,
        placement,
        indices.shape(),
        sources,
        move |out: &mut [T], data: &[T], indices: &[i64]| {
            let rows = elements(data, start, count).chunks_exact(length);
            let indices = elements(indices, from, chosen).chunks_exact(width);
            for ((out, row), indices) in out.chunks_exact_mut(width).zip(rows).zip(indices) {
                for (out, &index) in out.iter_mut().zip(indices) {
                    let value = usize::try_from(index).ok().and_then(|index| row.get(index));
                    *out = *value.ok_or_else(|| err_index(op, index))?;
                }
            }
            Ok(())
        },
    )
}

/// Returns rows of `length` zeros in which the elements of `values` are written at the indices of the row, as
/// `torch.scatter`. The indices of a row are distinct.
pub(crate) fn scatter_rows<T: Element>(
    op: &'static str,
    values: &Tensor,
    width: usize,
    indices: &Tensor,
    (shape, length): (&[usize], usize),
) -> Result<Tensor> {
    let (start, from, count) = (values.storage_offset(), indices.storage_offset(), values.numel());
    let (length, width) = (length.max(1), width.max(1));
    let (placement, sources) = (values.placement(), [Some(values), Some(indices)]);
    launch_binary(op, placement, shape, sources, move |out: &mut [T], values: &[T], indices: &[i64]| {
        let values = elements(values, start, count).chunks_exact(width);
        let indices = elements(indices, from, count).chunks_exact(width);
        for ((out, values), indices) in out.chunks_exact_mut(length).zip(values).zip(indices) {
            for (&value, &index) in values.iter().zip(indices) {
                let slot = usize::try_from(index).ok().and_then(|index| out.get_mut(index));
                *slot.ok_or_else(|| err_index(op, index))? = value;
            }
        }
        Ok(())
    })
}

fn err_index(op: &'static str, index: i64) -> Error {
    Error::value(op, "index", "be an index of the dimension", index)
}

/// Returns `y` with `y[i] = b[i] + a[i] * y[i - 1]` along rows of `length` elements, or with `y[i + 1]` if `reverse`
/// is set. The element before the first is 0.
pub(crate) fn recurrence<T: Element>(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    length: usize,
    reverse: bool,
) -> Result<Tensor> {
    let (start_a, start_b, count, length) =
        (a.storage_offset(), b.storage_offset(), a.numel(), length.max(1));
    let (placement, sources) = (result_placement(a, b), [Some(a), Some(b)]);
    launch_binary(op, placement, a.shape(), sources, move |out: &mut [T], a: &[T], b: &[T]| {
        let a = elements(a, start_a, count).chunks_exact(length);
        let b = elements(b, start_b, count).chunks_exact(length);
        for ((out, a), b) in out.chunks_exact_mut(length).zip(a).zip(b) {
            let mut last = T::default();
            let step = |((out, &a), &b): ((&mut T, &T), &T)| {
                last = b.plus(a.times(last));
                *out = last;
            };
            let items = out.iter_mut().zip(a).zip(b);
            if reverse { items.rev().for_each(step) } else { items.for_each(step) }
        }
        Ok(())
    })
}
