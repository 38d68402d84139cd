//! A kernel on pairs of rows.

use crate::iterate::{THREADED_ELEMENTS, TILE, for_each};
use crate::iterate::{launch_binary, threads_on};
use crate::{Element, Result, Tensor};

/// Applies `f` to each pair of rows of `length` elements of two contiguous tensors of one shape. Each call writes a row
/// of the result, which has that shape, too.
pub(crate) fn zip_rows<T: Element>(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    length: usize,
    f: impl Fn(&[T], &[T], &mut [T]) -> Result<()> + Send + Sync + 'static,
) -> Result<Tensor> {
    let (starts, count, length) = ([a.storage_offset(), b.storage_offset()], a.numel(), length.max(1));
    let threads = threads_on(a.placement(), count, THREADED_ELEMENTS);
    launch_binary(op, a.placement(), a.shape(), [Some(a), Some(b)], move |out: &mut [T], a: &[T], b: &[T]| {
        let elements = |data: &[T], start: usize| start..start.saturating_add(count).min(data.len());
        let a = a.get(elements(a, starts[0])).unwrap_or_default();
        let b = b.get(elements(b, starts[1])).unwrap_or_default();
        let rows = if threads == 1 { usize::MAX } else { (TILE / length).max(1) };
        let tile = rows.saturating_mul(length);
        let tiles = a.chunks(tile).zip(b.chunks(tile)).zip(out.chunks_mut(tile));
        for_each(threads, tiles, &|((a, b), out)| {
            let rows = a.chunks_exact(length).zip(b.chunks_exact(length)).zip(out.chunks_exact_mut(length));
            rows.into_iter().try_for_each(|((a, b), out)| f(a, b, out))
        })
    })
}
