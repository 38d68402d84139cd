//! Values that nodes save for the backward pass.

use std::any::Any;
use std::sync::Arc;

use super::Node;
use super::node::Edge;
use crate::{Error, Result, Tensor};

/// A value that a node saved. It is freed by the backward pass.
#[derive(Clone)]
pub(crate) enum SavedValue {
    Tensor(SavedTensor),
    /// Another value that the backward function needs, such as indices.
    Other(Arc<dyn Any + Send + Sync>),
}

/// A tensor with its version at the time when it was saved, as PyTorch's `SavedVariable`.
#[derive(Clone)]
pub(crate) struct SavedTensor {
    /// The leaf itself, or an alias without autograd metadata, so that an in-place operation on the original cannot
    /// create a reference cycle through the graph.
    tensor: Tensor,
    producer: Producer,
    version: u32,
}

#[derive(Clone)]
enum Producer {
    None,
    /// The tensor was an input, and this node produced it.
    Input(Arc<Node>),
    /// The tensor is the result of the node that saved it.
    Output,
}

impl SavedTensor {
    /// Saves an input. Returns an error for inference tensors, because in-place changes of them cannot be detected.
    pub fn input(tensor: &Tensor) -> Result<Self> {
        let version = version(tensor)?;
        let alias = || tensor.alias(tensor.layout().clone());
        Ok(match Edge::of(tensor)? {
            Some(Edge::Leaf(leaf)) => SavedTensor { tensor: leaf, producer: Producer::None, version },
            Some(Edge::Node(node)) => {
                SavedTensor { tensor: alias(), producer: Producer::Input(node), version }
            }
            None => SavedTensor { tensor: alias(), producer: Producer::None, version },
        })
    }

    pub fn output(tensor: &Tensor) -> Result<Self> {
        let version = version(tensor)?;
        Ok(SavedTensor { tensor: tensor.alias(tensor.layout().clone()), producer: Producer::Output, version })
    }

    /// Returns an error if the tensor was changed in place after it was saved.
    pub fn check_version(&self, owner: &Node) -> Result<()> {
        let now = self.tensor.version()?;
        if now == self.version {
            return Ok(());
        }
        let shape = self.tensor.shape().to_vec();
        Err(Error::Modified { node: owner.name(), shape, saved: self.version, now })
    }

    pub fn unpack(&self, owner: &Arc<Node>) -> Result<Tensor> {
        self.check_version(owner)?;
        let grad_fn = match &self.producer {
            Producer::None => return Ok(self.tensor.clone()),
            Producer::Input(node) => node.clone(),
            Producer::Output => owner.clone(),
        };
        let tensor = self.tensor.alias(self.tensor.layout().clone());
        tensor.meta_mut().grad_fn = Some(grad_fn);
        Ok(tensor)
    }
}

fn version(tensor: &Tensor) -> Result<u32> {
    tensor.version().map_err(|_| Error::Inference { action: "be saved for backward" })
}
