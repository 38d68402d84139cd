//! Sums of gradients, in a backward pass and in the `grad` of a tensor.

use interlock::autograd::Mode;

use super::convert::of_current_data;
use super::without_history;
use crate::ops::elementwise::writing::add_unrecorded;
use crate::storage::fork_rwlock::{LockRequest, RawForkRwLock, with_locks};
use crate::{Result, Tensor};

/// Returns whether a gradient may be stored or added to without a copy.
pub(super) fn can_accumulate_inplace(tensor: &Tensor) -> bool {
    tensor.is_uniquely_owned() && tensor.is_contiguous()
}

/// Returns the sum of two gradients, which is recorded if `create_graph` is set.
pub(super) fn add(
    sum: Option<Tensor>,
    gradient: Option<Tensor>,
    create_graph: bool,
) -> Result<Option<Tensor>> {
    match (sum, gradient) {
        (Some(sum), Some(gradient)) if create_graph || !can_accumulate_inplace(&sum) => {
            sum.add(&gradient).map(Some)
        }
        (Some(sum), Some(gradient)) => add_unrecorded(sum, &gradient).map(Some),
        (sum, gradient) => Ok(sum.or(gradient)),
    }
}

/// Calls `access` while it is the only accumulation in `grad` of a tensor.
fn accumulate_exclusively<R>(tensor: &Tensor, access: impl FnOnce() -> R) -> R {
    const COUNT: usize = 64;
    static LOCKS: [RawForkRwLock; COUNT] = [const { RawForkRwLock::new() }; COUNT];
    // The low bits of an address are those of its alignment.
    let [first, ..] = &LOCKS;
    let lock = LOCKS.get((tensor.identity() >> 6) % COUNT).unwrap_or(first);
    with_locks(&mut [LockRequest::new(Some(lock), true)], false, access)
}

/// Returns a gradient that shares no memory with a tensor that is still written, because the program reads it. It has the
/// strides of the leaf, as PyTorch's `enforce_grad_layout_policy` says, if these have no gaps.
fn own_gradient(leaf: &Tensor, gradient: &Tensor) -> Result<Tensor> {
    let layout = leaf.layout();
    if layout.is_contiguous() || !layout.is_dense() || !Mode::LayoutPolicy.is_on() {
        return if can_accumulate_inplace(gradient) {
            Ok(gradient.clone())
        } else {
            gradient.contiguous_copy()
        };
    }
    if gradient.is_uniquely_owned() && gradient.strides() == leaf.strides() {
        return Ok(gradient.clone());
    }
    gradient.copy_as(layout.preserve_format())
}

/// Accumulates a gradient in `grad` of a tensor: PyTorch's `AccumulateGrad`. Passes on several threads may do so
/// concurrently.
pub(super) fn accumulate_grad(tensor: &Tensor, gradient: Tensor, create_graph: bool) -> Result<()> {
    let (tensor, gradient) = of_current_data(tensor, gradient)?;
    let gradient = if create_graph { gradient } else { without_history(gradient) };
    loop {
        let Some(old) = tensor.grad() else {
            let own = own_gradient(&tensor, &gradient)?;
            let mut meta = tensor.meta_mut();
            // Another thread may have set the gradient first.
            if meta.grad.is_none() {
                meta.grad = Some(own);
                return Ok(());
            }
            continue;
        };
        let is_current = || tensor.grad().is_some_and(|grad| grad.is(&old));
        if !create_graph {
            let added = || is_current().then(|| old.add_(&gradient).map(drop));
            match accumulate_exclusively(&tensor, added) {
                Some(result) => return result,
                None => continue,
            }
        }
        // The sum is recorded, which may run code of the program, so the lock is not held meanwhile.
        let version = old.current_version();
        let sum = old.add(&gradient)?;
        let is_unchanged = || is_current() && old.current_version() == version;
        let stored = || is_unchanged().then(|| tensor.set_grad(Some(sum)));
        if let Some(result) = accumulate_exclusively(&tensor, stored) {
            return result;
        }
    }
}
