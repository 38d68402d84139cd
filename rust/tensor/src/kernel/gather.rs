//! The kernels of losses that select one element of each row.

use super::launch::launch_binary;
use crate::{Element, Error, Result, Tensor};

/// Returns the elements from the offset of a contiguous tensor on.
fn elements<T>(data: &[T], start: usize) -> &[T] {
    data.get(start..).unwrap_or_default()
}

/// Returns the negated element of each row of `classes` at the index in `targets`, as `torch.gather` would select it.
/// Both tensors are contiguous. Returns an error for a target that is not a class.
pub(crate) fn gather<T: Element>(
    op: &'static str,
    scores: &Tensor,
    targets: &Tensor,
    classes: usize,
) -> Result<Tensor> {
    let (start, from) = (scores.storage_offset(), targets.storage_offset());
    let (placement, sources) = (scores.placement(), [Some(scores), Some(targets)]);
    launch_binary(
        op,
        placement,
        targets.shape(),
        sources,
        move |out: &mut [T], scores: &[T], targets: &[i64]| {
            let rows = elements(scores, start);
            for ((row, out), &target) in out.iter_mut().enumerate().zip(elements(targets, from)) {
                let class = usize::try_from(target).ok().filter(|&class| class < classes);
                let score =
                    class.and_then(|class| rows.get(row.saturating_mul(classes).saturating_add(class)));
                let score = score.ok_or(Error::Class { op, index: target, classes })?;
                *out = T::from_i64(-1).times(*score);
            }
            Ok(())
        },
    )
}

/// Returns rows of `classes` zeros to which the negated gradient is added at the index in `targets`, as
/// `torch.scatter_add` would: the reverse of [`gather`].
pub(crate) fn scatter_add<T: Element>(
    op: &'static str,
    gradient: &Tensor,
    targets: &Tensor,
    classes: usize,
) -> Result<Tensor> {
    let (start, from) = (gradient.storage_offset(), targets.storage_offset());
    let (shape, sources) = ([targets.numel(), classes], [Some(gradient), Some(targets)]);
    launch_binary(
        op,
        gradient.placement(),
        &shape,
        sources,
        move |out: &mut [T], gradients: &[T], targets: &[i64]| {
            let pairs = elements(gradients, start).iter().zip(elements(targets, from));
            for (row, (&gradient, &target)) in out.chunks_exact_mut(classes.max(1)).zip(pairs) {
                if let Some(out) = usize::try_from(target).ok().and_then(|class| row.get_mut(class)) {
                    *out = T::from_i64(-1).times(gradient);
                }
            }
            Ok(())
        },
    )
}
