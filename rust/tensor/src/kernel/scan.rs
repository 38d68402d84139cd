//! Cumulative operations along the last dimension.

use crate::iterate::apply_along_last_dim;
use crate::{Element, Result, Tensor};

/// Combines each element of a row of `length` elements of a contiguous tensor with those before it, or with those behind it
/// if `is_reverse`, in the type `A`.
pub(crate) fn scan<T: Element, A: Element>(
    op: &'static str,
    rows: &Tensor,
    length: usize,
    combine: impl Fn(A, A) -> A + Send + Sync + 'static,
    is_reverse: bool,
) -> Result<Tensor> {
    apply_along_last_dim(op, rows, length, rows.shape(), length, move |row: &[T], out: &mut [T]| {
        let mut total = None;
        let step = |(out, &value): (&mut T, &T)| {
            let next = total.map_or(value.cast(), |total| combine(total, value.cast()));
            (total, *out) = (Some(next), next.cast());
        };
        let items = out.iter_mut().zip(row);
        if is_reverse { items.rev().for_each(step) } else { items.for_each(step) }
    })
}
