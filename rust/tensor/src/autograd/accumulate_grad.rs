//! The node that accumulates the gradients of a leaf.

use std::ops::Deref;
use std::sync::{Arc, Weak};

use super::NextFunction;
use super::node_creation_hook::call_hooks;
use crate::fallible_alloc::check_memory;
use crate::{Result, Tensor};

/// The node of a leaf: PyTorch's `AccumulateGrad`. It is created when an operation uses the leaf, and exists while a graph
/// or the program refers to it. It dereferences to the leaf.
///
/// ```
/// use interlock_tensor::Tensor;
/// use interlock_tensor::autograd::NextFunction;
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let result = leaf.mul(2.0)?;
/// let node = result.grad_fn()?.and_then(|node| node.next_functions().next().flatten());
/// assert!(matches!(node, Some((NextFunction::Leaf(accumulate), 0)) if accumulate.is(&leaf)));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct AccumulateGrad(Arc<Leaf>);

struct Leaf {
    tensor: Tensor,
}

/// The node that a leaf has at present, if any.
#[derive(Default)]
pub(crate) struct WeakAccumulateGrad(Weak<Leaf>);

impl AccumulateGrad {
    /// Returns the node of a leaf. If it is created, the hooks of the creation of nodes are called.
    pub(super) fn of(tensor: &Tensor) -> Result<Self> {
        // An operation may have any number of leaves.
        check_memory()?;
        let mut meta = tensor.meta_mut();
        if let Some(node) = meta.accumulate_grad.0.upgrade() {
            return Ok(AccumulateGrad(node));
        }
        let node = AccumulateGrad(Arc::new(Leaf { tensor: tensor.clone() }));
        meta.accumulate_grad = WeakAccumulateGrad(Arc::downgrade(&node.0));
        drop(meta);
        call_hooks(|| NextFunction::Leaf(node.clone()))?;
        Ok(node)
    }

    /// Returns the node of an input of a backward pass. An input that no operation uses needs one only for the pass, of
    /// which no hook learns.
    pub(super) fn of_input(tensor: &Tensor) -> Result<Self> {
        check_memory()?;
        let existing = tensor.meta().accumulate_grad.0.upgrade();
        let node = existing.unwrap_or_else(|| Arc::new(Leaf { tensor: tensor.clone() }));
        Ok(AccumulateGrad(node))
    }
}

impl Deref for AccumulateGrad {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        &self.0.tensor
    }
}
