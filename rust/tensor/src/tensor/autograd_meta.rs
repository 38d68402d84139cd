//! What a tensor knows of the autograd graph that it belongs to.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

use interlock::backends::SourceLocation;

use super::edge::WeakAccumulateGrad;
use super::hooks::Hooks;
use super::node::{Node, ResultKind};
use crate::Tensor;
use crate::storage::drop_queue::{Deferred, Queue};

/// The autograd metadata of a tensor: c10's `AutogradMeta`.
#[derive(Default)]
pub(crate) struct AutogradMeta {
    /// Set by the user on leaves.
    pub requires_grad: bool,
    pub grad: Option<Tensor>,
    pub grad_fn: Option<GradFn>,
    pub retains_grad: bool,
    /// Whether this is a number among the operands of an operation, which hooks do not pack: c10's `is_wrapped_number`.
    pub is_number: bool,
    pub view: Option<ViewInfo>,
    /// The node of a leaf.
    pub accumulate_grad: WeakAccumulateGrad,
    /// The hooks of a leaf. Those of other tensors belong to the node.
    pub leaf_hooks: Hooks,
    /// The program's object for this tensor.
    pub object: Option<Arc<dyn Any + Send + Sync>>,
}

/// The node that produced a tensor, and which of its results the tensor is: PyTorch's gradient edge.
#[derive(Clone)]
pub(crate) struct GradFn {
    pub node: Arc<Node>,
    pub output: usize,
}

impl GradFn {
    /// The only result of a node.
    pub fn only(node: Arc<Node>) -> Self {
        GradFn { node, output: 0 }
    }

    pub fn result(&self) -> &ResultKind {
        self.node.result(self.output)
    }
}

impl AutogradMeta {
    /// Returns whether dropping the metadata may drop other tensors.
    pub fn owns_tensors(&self) -> bool {
        self.grad.is_some() || self.grad_fn.is_some() || self.view.is_some() || !self.leaf_hooks.is_empty()
    }
}

thread_local! {
    static DROPPED: RefCell<Vec<AutogradMeta>> = const { RefCell::new(Vec::new()) };
}

impl Deferred for AutogradMeta {
    fn queue() -> &'static Queue<Self> {
        &DROPPED
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

/// How a view was created: PyTorch's `CreationMeta`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CreationMeta {
    Default,
    /// With other views, by one node.
    MultiOutputNode,
    NoGradMode,
    InferenceMode,
    /// Returned by a function of the program, whose backward function an in-place change would bypass.
    CustomFunction,
    /// In any way, and its data was replaced later: it shares no memory with its base.
    Replaced,
}
