//! Reverse-mode automatic differentiation.
//!
//! A recorded operation creates a [`Node`] with edges to the nodes of its inputs, saved tensors, and a function that
//! computes the gradients of the inputs from the gradient of the result. Nodes are numbered in the order of their
//! creation and edges only lead to older nodes, so visiting nodes from the newest to the oldest is a topological
//! order.

mod engine;
mod node;
mod node_builder;
mod saved_tensor;
mod stream_sync;
mod views;

use std::sync::Arc;

use interlock::backends::SourceLocation;

use crate::{Result, Tensor};

pub use engine::{BackwardArgs, backward, grad};
pub(crate) use node::{BackwardContext, Edges, Gradients, SavedValues};
pub use node::{NextFunction, Node};
pub(crate) use node_builder::{NodeBuilder, is_recording};
use views::retain_grad;
pub(crate) use views::{check_inplace, grad_fn, rebase_history, track_view};

/// The autograd metadata of a tensor: c10's `AutogradMeta`.
#[derive(Default)]
pub(crate) struct AutogradMeta {
    /// Set by the user on leaves.
    pub requires_grad: bool,
    pub grad: Option<Tensor>,
    pub grad_fn: Option<Arc<Node>>,
    pub retains_grad: bool,
    pub view: Option<ViewInfo>,
}

impl AutogradMeta {
    /// Returns whether dropping the metadata may drop other tensors.
    pub fn owns_tensors(&self) -> bool {
        self.grad.is_some() || self.grad_fn.is_some() || self.view.is_some()
    }
}

/// The view relation of a tensor: in-place changes of a view are recorded on its base.
#[derive(Clone)]
pub(crate) struct ViewInfo {
    /// The base, which is not a view itself.
    pub base: Tensor,
    pub creation_meta: CreationMeta,
    /// The version for which the view's `grad_fn` is valid.
    pub version: u32,
    /// The source location that created a view without history, if tracing is enabled.
    pub created_at: Option<SourceLocation>,
}

/// The mode in which a view was created: PyTorch's `CreationMeta`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CreationMeta {
    Default,
    NoGradMode,
    InferenceMode,
}

impl Tensor {
    /// Returns a tensor with the same elements and no history. It shares the storage and the version counter with
    /// this tensor.
    pub fn detach(&self) -> Tensor {
        self.alias(self.layout().clone())
    }

    /// Computes the gradients of this tensor of one element, accumulates them in the [`grad`](Tensor::grad) of
    /// leaves, and frees the graph.
    pub fn backward(&self) -> Result<()> {
        let (outputs, gradients) = (std::slice::from_ref(self), &[None]);
        backward(&BackwardArgs { outputs, gradients, retain_graph: false, create_graph: false }, None)
    }

    /// Makes backward passes accumulate the gradient of this non-leaf tensor in [`grad`](Tensor::grad) as well.
    pub fn retain_grad(&self) -> Result<()> {
        retain_grad(self)
    }

    /// Returns whether [`retain_grad`](Tensor::retain_grad) was called.
    pub fn retains_grad(&self) -> bool {
        self.meta().retains_grad
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};
    use std::thread::{self, ThreadId};

    use interlock::autograd::{ModeContext, ModeKind};

    use super::*;
    use crate::testing::doubles;

    type Visitors = Arc<Mutex<Vec<ThreadId>>>;

    /// Returns the same elements, by an operation whose backward function records its thread.
    fn watched(input: &Tensor, visitors: &Visitors) -> Tensor {
        let builder = NodeBuilder::new("WatchedBackward0", &[input]).unwrap().unwrap();
        let output = input.detach().contiguous_copy().unwrap();
        let visitors = visitors.clone();
        builder.set_history(&output, move |_, gradient| {
            visitors.lock().unwrap().push(thread::current().id());
            Ok(vec![Some(gradient.clone())])
        });
        output
    }

    #[test]
    fn backward_runs_every_node_on_the_calling_thread() {
        const WIDTH: usize = 8;
        let both = Barrier::new(2);
        let pass = |multithreading: bool| {
            both.wait();
            let mode = ModeContext::new(ModeKind::SetMultithreadingEnabled);
            mode.set(multithreading);
            mode.enter();
            assert_eq!(interlock::autograd::Mode::Multithreading.is_on(), multithreading);
            let visitors = Visitors::default();
            let leaf = doubles(&[1.0, 2.0], &[2]);
            leaf.set_requires_grad(true).unwrap();
            let branches = (0..WIDTH).map(|_| watched(&watched(&leaf, &visitors), &visitors));
            let total = branches.reduce(|sum, branch| sum.add(&branch).unwrap()).unwrap();
            total.sum(None, false).unwrap().backward().unwrap();
            mode.exit();
            assert_eq!(leaf.grad().unwrap().to_vec::<f64>().unwrap(), [WIDTH as f64; 2]);
            assert_eq!(*visitors.lock().unwrap(), [thread::current().id(); 2 * WIDTH]);
        };
        thread::scope(|threads| {
            threads.spawn(|| pass(false));
            threads.spawn(|| pass(true));
        });
    }
}
