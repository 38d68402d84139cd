//! Linear recurrences along the last dimension of contiguous tensors.

use super::launch::{launch_binary, result_placement};
use crate::{Element, Result, Tensor};

/// Returns the `count` elements of a contiguous tensor.
fn elements<T>(data: &[T], tensor_start: usize, count: usize) -> &[T] {
    data.get(tensor_start..tensor_start.saturating_add(count)).unwrap_or_default()
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
