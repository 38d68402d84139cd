//! Values that nodes save for the backward pass.

use std::any::Any;
use std::sync::Arc;

use super::autograd_meta::GradFn;
use crate::{Result, Tensor};

/// A value that a node saved. It is freed by the backward pass.
#[derive(Clone)]
pub(crate) enum SavedValue {
    Tensor(SavedTensor),
    /// Another value that the backward function needs, such as indices.
    Other(Arc<dyn Any + Send + Sync>),
}

/// A tensor that a node saved, as PyTorch's `SavedVariable`, with its version at that time.
#[derive(Clone)]
pub(crate) struct SavedTensor {
    /// The leaf itself, or an alias without autograd metadata, so that an in-place operation on the original cannot
    /// create a reference cycle through the graph.
    pub content: Content,
    pub producer: Producer,
}

#[derive(Clone)]
pub(crate) enum Content {
    Tensor {
        tensor: Tensor,
        version: u32,
    },
    /// The tensor as hooks have packed it. Changes in place are not detected.
    Packed(Arc<dyn PackedTensor>),
}

#[derive(Clone)]
pub(crate) enum Producer {
    None,
    /// The tensor was an input without an edge that requires grad: a view, created in no_grad mode, of a tensor that
    /// does. Operations on it in the backward pass are recorded.
    Unconnected,
    /// The tensor was an input that requires grad, without an operation that produced it.
    Leaf(Tensor),
    /// The tensor was an input, and this node produced it.
    Input(GradFn),
    /// The tensor is this result of the node that saved it.
    Output(usize),
}

impl SavedTensor {
    /// Calls `visit` with the object of the program that replaces the tensor, if only this value owns it.
    pub fn visit_owned(&self, visit: &mut dyn FnMut(&dyn Any)) {
        if let Content::Packed(packed) = &self.content
            && Arc::strong_count(packed) == 1
        {
            visit(&**packed);
        }
    }
}

/// A packed tensor. The node that saved the tensor owns it; see [`SavedTensorHooks`](crate::autograd::SavedTensorHooks).
pub trait PackedTensor: Any + Send + Sync {
    /// Returns the tensor, when the backward pass needs it.
    fn unpack(&self) -> Result<Tensor>;
}
