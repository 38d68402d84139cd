//! Reverse-mode differentiation.
//!
//! An operation that is recorded makes a [`Node`]: edges to what made its inputs, saved tensors and a
//! function from the gradient of its result to those of its inputs. Nodes are numbered as they are made
//! and edges only lead to older nodes, so that going through nodes from the newest to the oldest is a
//! topological order.

mod engine;
mod history;
mod node;
mod record;
mod saved;

use std::sync::Arc;

use crate::{Result, Tensor};

pub use engine::{Backward, backward, grad};
use history::retain_grad;
pub(crate) use history::{check_in_place, grad_fn, rebase, track_view};
pub use node::Node;
pub(crate) use node::{Context, Edges, Gradients, SavedTensors};
pub(crate) use record::{Record, is_recording};

/// What differentiation knows about a tensor.
#[derive(Default)]
pub(crate) struct Meta {
    /// Set on leaves by the user.
    pub requires_grad: bool,
    pub grad: Option<Tensor>,
    pub grad_fn: Option<Arc<Node>>,
    pub retains_grad: bool,
    pub view: Option<View>,
}

impl Meta {
    /// Whether dropping it may drop tensors.
    pub fn owns_tensors(&self) -> bool {
        self.grad.is_some() || self.grad_fn.is_some() || self.view.is_some()
    }
}

/// That a tensor is a view, so that in-place changes are recorded on its base.
#[derive(Clone)]
pub(crate) struct View {
    /// Never a view itself.
    pub base: Tensor,
    pub origin: Origin,
    /// The version for which the view's `grad_fn` is right.
    pub version: u32,
}

/// In which mode a view was made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Recorded,
    NoGrad,
    Inference,
}

impl Tensor {
    /// The same elements without history. It shares memory and version with this tensor.
    pub fn detach(&self) -> Tensor {
        self.detached()
    }

    /// Adds the gradient of this one element to the leaves that it was made from, and frees the graph.
    pub fn backward(&self) -> Result<()> {
        let (outputs, gradients) = (std::slice::from_ref(self), &[None]);
        backward(&Backward { outputs, gradients, retain_graph: false, create_graph: false }, None)
    }

    /// Keeps the gradient of a tensor that is not a leaf in [`grad`](Tensor::grad) as well.
    pub fn retain_grad(&self) -> Result<()> {
        retain_grad(self)
    }

    /// Whether [`retain_grad`](Tensor::retain_grad) was called.
    pub fn retains_grad(&self) -> bool {
        self.meta().retains_grad
    }
}
