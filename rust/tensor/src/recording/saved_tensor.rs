//! Saving of tensors for the backward pass, and what backward functions see of them.

use std::any::Any;
use std::sync::Arc;

use super::NodeBuilder;
use super::edge::is_leaf_with_grad;
use super::saved_tensor_hooks;
use super::views::grad_fn;
use crate::error::Tuple;
use crate::tensor::{BackwardContext, Content, GradFn, Node, Producer, SavedTensor, SavedValue};
use crate::{Error, ErrorKind, Result, Tensor};

/// The function in errors of tensors that an operation cannot save.
const SAVE: &str = "save_for_backward";

impl SavedTensor {
    /// Saves an input. Returns an error for inference tensors, because in-place changes of them cannot be detected.
    pub fn input(tensor: &Tensor) -> Result<Self> {
        let producer = match grad_fn(SAVE, tensor)? {
            Some(grad_fn) => Producer::Input(grad_fn),
            None if is_leaf_with_grad(tensor) => Producer::Leaf(tensor.clone()),
            None if tensor.requires_grad() => Producer::Unconnected,
            None => Producer::None,
        };
        Self::new(tensor, producer)
    }

    /// Saves a result of the node.
    pub fn output(tensor: &Tensor, output: usize) -> Result<Self> {
        Self::new(tensor, Producer::Output(output))
    }

    fn new(tensor: &Tensor, producer: Producer) -> Result<Self> {
        let version = version(tensor)?;
        let is_leaf = matches!(producer, Producer::Leaf(_));
        let is_number = tensor.meta().is_number;
        let packed = if is_number { None } else { saved_tensor_hooks::pack(tensor, is_leaf)? };
        let content = match packed {
            Some(packed) => Content::Packed(packed),
            None if is_leaf => Content::Tensor { tensor: tensor.clone(), version },
            None => Content::Tensor { tensor: tensor.detach(), version },
        };
        Ok(SavedTensor { content, producer })
    }

    /// Returns an error if the tensor was changed in place after it was saved.
    pub fn check_version(&self, owner: &Node) -> Result<()> {
        self.check_version_for(owner.name())
    }

    fn check_version_for(&self, owner: &str) -> Result<()> {
        let Content::Tensor { tensor, version } = &self.content else { return Ok(()) };
        let now = tensor.version()?;
        if now == *version {
            return Ok(());
        }
        let message = format!(
            "a saved tensor of shape {} was changed in place: it was saved at version {version} and is now at version {now}",
            Tuple(tensor.shape())
        );
        Err(Error::of(owner, ErrorKind::State, message))
    }

    pub fn unpack(&self, owner: &Arc<Node>) -> Result<Tensor> {
        self.check_version(owner)?;
        match self.producer {
            Producer::Output(output) => {
                let tensor = self.content()?;
                Ok(with_history(&tensor, GradFn { node: owner.clone(), output }))
            }
            _ => self.unpack_input(),
        }
    }

    /// Unpacks a tensor that is not a result of the node that saved it.
    fn unpack_input(&self) -> Result<Tensor> {
        let unpacked = self.content()?;
        match &self.producer {
            Producer::None | Producer::Output(_) => Ok(unpacked),
            Producer::Leaf(leaf) if leaf.is(&unpacked) => Ok(unpacked),
            Producer::Leaf(leaf) => leaf_copy(&unpacked, leaf),
            Producer::Unconnected => {
                let tensor = unpacked.detach();
                tensor.meta_mut().requires_grad = true;
                Ok(tensor)
            }
            Producer::Input(grad_fn) => Ok(with_history(&unpacked, grad_fn.clone())),
        }
    }

    fn content(&self) -> Result<Tensor> {
        match &self.content {
            Content::Tensor { tensor, .. } => Ok(tensor.clone()),
            Content::Packed(packed) => saved_tensor_hooks::unpack(&**packed),
        }
    }
}

impl BackwardContext<'_> {
    /// Returns whether the gradient of an input is needed.
    pub fn needs(&self, input: usize) -> bool {
        self.needed.get(input).copied().unwrap_or(false)
    }

    /// Returns a saved tensor. Returns an error if it was freed or modified in place.
    pub fn saved(&self, index: usize) -> Result<Tensor> {
        match self.saved.get(index) {
            Some(Some(SavedValue::Tensor(saved))) => saved.unpack(self.node),
            _ => Err(self.node.err_freed()),
        }
    }

    /// Returns a value that [`NodeBuilder::save_value`](NodeBuilder::save_value) saved.
    pub fn saved_value<T: Send + Sync + 'static>(&self, index: usize) -> Result<Arc<T>> {
        let value = match self.saved.get(index) {
            Some(Some(SavedValue::Other(value))) => value.clone().downcast().ok(),
            _ => None,
        };
        value.ok_or_else(|| self.node.err_freed())
    }

    /// Computes the gradient of an input if it is needed.
    pub fn gradient(&self, input: usize, f: impl FnOnce() -> Result<Tensor>) -> Result<Option<Tensor>> {
        if self.needs(input) { f().map(Some) } else { Ok(None) }
    }
}

impl Node {
    /// Returns the tensors that the node saved, in the order in which they were saved. `None` for those that no
    /// gradient needs.
    pub fn saved_tensors(self: &Arc<Self>) -> Result<Vec<Option<Tensor>>> {
        let saved = self.saved_values().ok_or_else(|| self.err_freed())?;
        let tensors = saved.iter().filter_map(|slot| match slot {
            Some(SavedValue::Tensor(saved)) => Some(saved.unpack(self).map(Some)),
            Some(SavedValue::Other(_)) => None,
            None => Some(Ok(None)),
        });
        tensors.collect()
    }
}

/// Returns an alias that is a result of a node.
fn with_history(unpacked: &Tensor, grad_fn: GradFn) -> Tensor {
    let tensor = unpacked.detach();
    tensor.meta_mut().grad_fn = Some(grad_fn);
    tensor
}

/// A tensor that is saved as an input of a node is, without a node: hooks of saved tensors pack it, and changes in place
/// are detected. For code that computes an operation again in the backward pass.
///
/// ```
/// use interlock_tensor::Tensor;
/// use interlock_tensor::autograd::SavedInput;
///
/// let tensor = Tensor::from_slice(&[3.0], &[])?;
/// let saved = SavedInput::new("recompute", &tensor)?;
/// assert_eq!(saved.unpack()?.to_vec::<f64>()?, [3.0]);
/// tensor.add_(&tensor.detach())?;
/// assert!(saved.unpack().is_err());
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub struct SavedInput {
    owner: &'static str,
    saved: SavedTensor,
}

impl SavedInput {
    /// Saves a tensor. Errors of [`unpack`](SavedInput::unpack) name `owner`.
    pub fn new(owner: &'static str, tensor: &Tensor) -> Result<Self> {
        Ok(SavedInput { owner, saved: SavedTensor::input(tensor)? })
    }

    /// Returns the tensor, with its history at the time when it was saved. Returns an error if it was changed in place.
    pub fn unpack(&self) -> Result<Tensor> {
        self.saved.check_version_for(self.owner)?;
        self.saved.unpack_input()
    }

    /// Calls `visit` with each object of the program that only this value keeps alive: what replaces the tensor, and what
    /// a node owns whose only result was the tensor.
    pub fn visit_owned(&self, visit: &mut dyn FnMut(&dyn Any)) {
        self.saved.visit_owned(visit);
        if let Producer::Input(grad_fn) = &self.saved.producer
            && Arc::strong_count(&grad_fn.node) == 1
        {
            grad_fn.node.visit_owned(visit);
        }
    }
}

/// Returns a tensor with the elements that hooks have unpacked and the history of the leaf that they have packed.
fn leaf_copy(unpacked: &Tensor, leaf: &Tensor) -> Result<Tensor> {
    let _mode = interlock::autograd::set_grad_enabled(true);
    let tensor = unpacked.detach();
    if let Some(builder) = NodeBuilder::new("UnpackBackward0", &[leaf])? {
        builder.set_history(&tensor, |_, gradient| Ok(vec![Some(gradient.clone())]))?;
    }
    Ok(tensor)
}

fn version(tensor: &Tensor) -> Result<u32> {
    tensor.version().map_err(|_| Error::inference(SAVE, "be saved for backward"))
}
