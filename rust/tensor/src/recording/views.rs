//! Autograd history of views and of tensors that are changed in place.

use std::sync::Arc;

use interlock::autograd::{is_grad_enabled, is_inference_mode_enabled};
use interlock::backends::SourceLocation;

use super::change_observer::before_change;
use super::edge::edge_of;
use super::forward_stack::forward_stack;
use super::node_builder::is_recording;
use super::node_creation_hook::created;
use crate::layout::Layout;
use crate::tensor::{BackwardFn, CreationMeta, GradFn, Node, PartOfBase, ViewInfo};
use crate::{Error, ErrorKind, Result, Tensor};

/// Marks `view` as a view of `source`.
pub(crate) fn track_view(view: &Tensor, source: &Tensor) {
    track(view, source, CreationMeta::Default);
}

/// Marks `view` as one of several views of `source` that one node returns.
pub(crate) fn track_view_of_several(view: &Tensor, source: &Tensor) {
    track(view, source, CreationMeta::MultiOutputNode);
}

/// Marks a result of a function of the program, if it is a view.
pub(crate) fn track_view_of_function(result: &Tensor) {
    if let Some(view) = &mut result.meta_mut().view {
        view.creation_meta = CreationMeta::CustomFunction;
    }
}

fn track(view: &Tensor, source: &Tensor, recorded: CreationMeta) {
    if source.is_inference() {
        return;
    }
    let parent = source.meta().view.clone();
    let creation_meta = if is_inference_mode_enabled() {
        CreationMeta::InferenceMode
    } else if !is_grad_enabled() {
        CreationMeta::NoGradMode
    } else if recorded != CreationMeta::Default {
        recorded
    } else {
        parent.as_ref().map_or(CreationMeta::Default, |parent| parent.creation_meta)
    };
    let base = parent.map_or_else(|| source.clone(), |parent| parent.base);
    let version = view.current_version();
    let created_at = if creation_meta == CreationMeta::Default { None } else { SourceLocation::current() };
    view.meta_mut().view = Some(ViewInfo { base, creation_meta, version, created_at });
}

/// Returns an error for a view whose history is not recorded if it or its base is changed in place: one that was
/// created in no-grad or inference mode, or with others by one node, or that a function of the program returned.
fn check_creation_meta(op: &'static str, view: &ViewInfo) -> Result<()> {
    match view.creation_meta {
        CreationMeta::Default => Ok(()),
        CreationMeta::MultiOutputNode => {
            let message = "this view is one of several that split(), chunk(), unbind() or iteration returned, and its \
                           history does not record in-place changes of it or of its base; use narrow() or clone() it";
            Err(Error::new(ErrorKind::ViewOfSeveral, op, message))
        }
        CreationMeta::CustomFunction => {
            let message = "this view was returned by the forward() of a Function, whose backward() an in-place change of \
                           the view or of its base would bypass; clone() the result of the Function";
            Err(Error::new(ErrorKind::State, op, message))
        }
        CreationMeta::Replaced => {
            let message = "the data of this view was replaced by an assignment to .data, and its history does not record \
                           in-place changes; detach() or clone() it";
            Err(Error::new(ErrorKind::State, op, message))
        }
        creation_meta => {
            let mode = if creation_meta == CreationMeta::InferenceMode { "inference" } else { "no_grad" };
            let location = view.created_at.as_ref().map(|line| format!(" at {line}")).unwrap_or_default();
            let message = format!(
                "this view was created in {mode} mode{location}, so its history since an in-place change is not known; \
                 create the view and change it in the same mode"
            );
            Err(Error::new(ErrorKind::UntrackedView, op, message))
        }
    }
}

/// Returns the `grad_fn` of a tensor, which is recreated for a view whose base was changed in place.
pub(crate) fn grad_fn(op: &'static str, tensor: &Tensor) -> Result<Option<GradFn>> {
    let (view, current) = {
        let meta = tensor.meta();
        (meta.view.clone(), meta.grad_fn.clone())
    };
    let Some(view) = view.filter(|view| view.creation_meta != CreationMeta::Replaced) else {
        return Ok(current);
    };
    let version = tensor.current_version();
    if view.version == version || (current.is_none() && !view.base.requires_grad()) {
        return Ok(current);
    }
    check_creation_meta(op, &view)?;
    // The base was changed in place: the history of the view is now derived from the base.
    let own = GradFn::only(node_of_view(&view.base, tensor.layout())?);
    drop(current);
    set_grad_fn(tensor, own.clone(), version);
    created(&own)?;
    Ok(Some(own))
}

/// Checks that `target` may be changed in place by an operation that also reads `inputs`.
///
/// The observers of changes are called if it may.
pub(crate) fn check_inplace(op: &'static str, target: &Tensor, inputs: &[&Tensor]) -> Result<()> {
    check_history(op, target, inputs)?;
    before_change(target)
}

fn check_history(op: &'static str, target: &Tensor, inputs: &[&Tensor]) -> Result<()> {
    if target.is_inference() && !is_inference_mode_enabled() {
        return Err(Error::inference(op, "be changed in place"));
    }
    let requires_grad = target.requires_grad();
    if !is_recording() || !(requires_grad || inputs.iter().any(|input| input.requires_grad())) {
        return Ok(());
    }
    let view = target.meta().view.clone();
    if let Some(view) = view {
        check_creation_meta(op, &view)?;
        Error::when(requires_grad && grad_fn(op, &view.base)?.is_none(), || Error::leaf_in_place(op, true))?;
    }
    Error::when(requires_grad && grad_fn(op, target)?.is_none(), || Error::leaf_in_place(op, false))?;
    Ok(())
}

/// Sets the history of `target`, which was just changed in place, to `node`: PyTorch's `rebase_history`. The first
/// edge of `node` leads to the old value.
pub(crate) fn rebase_history(target: &Tensor, node: Arc<Node>) -> Result<()> {
    let view = target.meta().view.clone();
    let Some(view) = view else {
        let grad_fn = GradFn::only(node);
        set_grad_fn(target, grad_fn.clone(), target.current_version());
        return created(&grad_fn);
    };
    // Elements that share a memory location were assigned the same value, and the location has one gradient.
    let layout = target.layout().without_expanded_dims();
    let grad_fn = GradFn::only(copy_slices(&view.base, layout, node)?);
    set_grad_fn(&view.base, grad_fn.clone(), view.base.current_version());
    created(&grad_fn)?;
    // The view's own node is created from the base's when it is next queried, unless it receives the retained gradient.
    if target.meta().retains_grad {
        self::grad_fn("grad_fn", target)?;
    }
    Ok(())
}

/// Replaces the `grad_fn` of a tensor, which is valid for `version`, and moves its retained gradient to the new node.
pub(crate) fn set_grad_fn(target: &Tensor, grad_fn: GradFn, version: u32) {
    let mut meta = target.meta_mut();
    let retains_grad = meta.retains_grad;
    let old = meta.grad_fn.replace(grad_fn.clone());
    if let Some(view) = &mut meta.view {
        view.version = version;
    }
    drop(meta);
    if let Some(old) = old {
        old.node.hooks.write().unretain(target);
    }
    if retains_grad {
        grad_fn.node.hooks.write().retain(grad_fn.output, target);
    }
}

/// Returns the node of a base after `inner` changed the part with `layout`: PyTorch's `CopySlices`.
fn copy_slices(base: &Tensor, layout: Layout, inner: Arc<Node>) -> Result<Arc<Node>> {
    let Ok(inner) = Arc::try_unwrap(inner).map(Node::into_parts) else {
        return Err(Error::graph_freed("CopySlices"));
    };
    let (mut edges, saved, function) = inner;
    if let Some(first) = edges.first_mut() {
        *first = edge_of("grad_fn", base)?;
    }
    let layouts = PartOfBase { base: base.layout().clone(), part: layout };
    let function = BackwardFn::ChangedPart(Box::new(layouts), Box::new(function));
    Ok(Arc::new(Node::new("CopySlices".into(), edges, base, saved, function, forward_stack())))
}

/// Returns the node of a view of `base` with `layout`, whose history is that of the base.
fn node_of_view(base: &Tensor, layout: &Layout) -> Result<Arc<Node>> {
    // A base that does not require grad any more has no edge.
    let edges = vec![edge_of("as_strided", base)?];
    let layouts = PartOfBase { base: base.layout().clone(), part: layout.clone() };
    let function = BackwardFn::View(Box::new(layouts));
    let view = base.alias(layout.clone());
    Ok(Arc::new(Node::new("AsStridedBackward0".into(), edges, &view, Vec::new(), function, forward_stack())))
}

impl Tensor {
    /// Sets whether operations on this leaf are recorded.
    pub fn set_requires_grad(&self, requires_grad: bool) -> Result<()> {
        let op = "requires_grad";
        if !requires_grad && grad_fn(op, self)?.is_some() {
            let message = "the tensor must be a leaf to set False, got the result of a recorded operation; detach() \
                           returns a leaf";
            return Err(Error::new(ErrorKind::State, op, message));
        }
        if requires_grad && !self.dtype().is_floating_point() {
            return Err(Error::not_floating_point(op, "input", self.dtype()));
        }
        if requires_grad && self.is_inference() && !is_inference_mode_enabled() {
            return Err(Error::inference(op, "require grad"));
        }
        let mut meta = self.meta_mut();
        // Also of a view that requires grad only because its base does: as a leaf of its own it accumulates gradients.
        if !requires_grad || meta.grad_fn.is_none() {
            meta.requires_grad = requires_grad;
        }
        drop(meta);
        Ok(())
    }

    /// Returns whether the tensor is not the result of a recorded operation. Returns the errors of
    /// [`grad_fn`](Tensor::grad_fn).
    pub fn is_leaf(&self) -> Result<bool> {
        Ok(grad_fn("is_leaf", self)?.is_none())
    }

    /// Returns the node of the operation that produced this tensor, if one was recorded.
    ///
    /// For a view whose base was changed in place this creates a new node. It returns an error if the view was
    /// created in a mode that does not record its history.
    pub fn grad_fn(&self) -> Result<Option<Arc<Node>>> {
        Ok(grad_fn("grad_fn", self)?.map(|grad_fn| grad_fn.node))
    }
}
