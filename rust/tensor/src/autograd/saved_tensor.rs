//! What a node saves for the backward pass.

use std::any::Any;
use std::sync::Arc;

use super::Node;
use super::node::Edge;
use crate::{Error, Result, Tensor};

/// What one slot of a node holds until the backward pass has freed it.
#[derive(Clone)]
pub(crate) enum SavedValue {
    Tensor(SavedTensor),
    /// Anything else that the backward function needs, such as positions.
    Other(Arc<dyn Any + Send + Sync>),
}

/// A tensor as it was when it was saved.
#[derive(Clone)]
pub(crate) struct SavedTensor {
    /// A leaf that requires grad itself; else an alias without history, so that an in-place operation
    /// on the original can't make the graph own itself.
    tensor: Tensor,
    producer: Producer,
    version: u32,
}

#[derive(Clone)]
enum Producer {
    None,
    /// The tensor was an input and this made it.
    Input(Arc<Node>),
    /// The tensor is the result of the node that saved it.
    Output,
}

impl SavedTensor {
    /// Fails for inference tensors: nothing would notice a change of them.
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

    /// Fails if the tensor has been changed in place since it was saved.
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
    tensor.version().map_err(|_| Error::Inference { action: "being saved for a backward pass" })
}
