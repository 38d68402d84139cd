//! Autograd history of views and of tensors that are changed in place.

use std::sync::Arc;

use interlock::autograd::{is_grad_enabled, is_inference_mode_enabled};
use interlock::backends::SourceLocation;

use super::change_observer::before_change;
use super::edge::Edge;
use super::node::{BackwardFn, Node};
use super::node_creation_hook::created;
use super::{CreationMeta, GradFn, ViewInfo, is_recording};
use crate::shape::Layout;
use crate::{Error, Result, Tensor, ops};

/// Marks `view` as a view of `source`.
pub(crate) fn track_view(view: &Tensor, source: &Tensor) {
    track(view, source, CreationMeta::Default);
}

/// Marks `view` as one of several views of `source` that one node returns.
pub(crate) fn track_view_of_several(view: &Tensor, source: &Tensor) {
    track(view, source, CreationMeta::MultiOutputNode);
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
/// created in no-grad or inference mode, or with others by one node.
fn check_creation_meta(view: &ViewInfo) -> Result<()> {
    match view.creation_meta {
        CreationMeta::Default => Ok(()),
        CreationMeta::MultiOutputNode => Err(Error::ViewOfSeveral),
        creation_meta => {
            let created_at = view.created_at.as_ref().map(SourceLocation::to_string);
            Err(Error::UntrackedView { inference: creation_meta == CreationMeta::InferenceMode, created_at })
        }
    }
}

/// Returns the `grad_fn` of a tensor, which is recreated for a view whose base was changed in place.
pub(crate) fn grad_fn(tensor: &Tensor) -> Result<Option<GradFn>> {
    let (view, current) = {
        let meta = tensor.meta();
        (meta.view.clone(), meta.grad_fn.clone())
    };
    let Some(view) = view else { return Ok(current) };
    let version = tensor.current_version();
    if view.version == version || !view.base.requires_grad() {
        return Ok(current);
    }
    check_creation_meta(&view)?;
    // The base was changed in place: the history of the view is now derived from the base.
    let own = GradFn::only(ops::as_strided_node(&view.base, tensor.layout())?);
    let mut meta = tensor.meta_mut();
    let retains_grad = meta.retains_grad;
    meta.grad_fn = Some(own.clone());
    if let Some(view) = &mut meta.view {
        view.version = version;
    }
    drop(meta);
    drop(current);
    if retains_grad {
        own.node.hooks.write().retain(0, tensor);
    }
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
        return Err(Error::Inference { action: "be changed in place" });
    }
    let requires_grad = target.requires_grad();
    if !is_recording() || !(requires_grad || inputs.iter().any(|input| input.requires_grad())) {
        return Ok(());
    }
    let view = target.meta().view.clone();
    if let Some(view) = view {
        check_creation_meta(&view)?;
        if requires_grad && view.base.is_leaf()? {
            return Err(Error::LeafInPlace { op, view: true });
        }
    }
    if requires_grad && target.is_leaf()? {
        return Err(Error::LeafInPlace { op, view: false });
    }
    Ok(())
}

/// Sets the history of `target`, which was just changed in place, to `node`: PyTorch's `rebase_history`. The first
/// edge of `node` leads to the old value.
pub(crate) fn rebase_history(target: &Tensor, node: Arc<Node>) -> Result<()> {
    let view = target.meta().view.clone();
    let Some(view) = view else {
        let grad_fn = GradFn::only(node);
        set_grad_fn(target, grad_fn.clone());
        return created(&grad_fn);
    };
    // Elements that share a memory location were assigned the same value, and the location has one gradient.
    let layout = target.layout().without_expanded_dims();
    let grad_fn = GradFn::only(copy_slices(&view.base, layout, node)?);
    set_grad_fn(&view.base, grad_fn.clone());
    // The view's own node is created from the base's when it is next queried.
    created(&grad_fn)
}

/// Replaces the `grad_fn` of a tensor and moves its retained gradient to the new node.
pub(super) fn set_grad_fn(target: &Tensor, grad_fn: GradFn) {
    let mut meta = target.meta_mut();
    let retains_grad = meta.retains_grad;
    let old = meta.grad_fn.replace(grad_fn.clone());
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
        return Err(Error::GraphFreed { node: "CopySlices".into() });
    };
    let (mut edges, saved, function) = inner;
    if let Some(first) = edges.first_mut() {
        *first = Edge::of(base)?;
    }
    let geometry = base.layout().clone();
    let backward = move |ctx: &super::node::BackwardContext<'_>, gradient: &Tensor| {
        // The gradients of elements that share one memory location would overwrite each other.
        if geometry.has_internal_overlap() {
            return Err(Error::Overlap { op: "backward" });
        }
        let whole = ops::copy_with_layout(gradient, &geometry)?;
        let offset = layout.offset.checked_sub(geometry.offset).ok_or(Error::ViewBeforeBase)?;
        let part = ops::as_strided(&whole, Layout { offset, ..layout.clone() })?;
        let mut gradients = function.gradients(ctx, &part.contiguous_copy()?)?;
        if let Some(first) = gradients.first_mut() {
            match first.take() {
                Some(changed) => part.copy_(&changed)?,
                None => part.zero_()?,
            };
            *first = ctx.needs(0).then_some(whole);
        }
        Ok(gradients)
    };
    let function = BackwardFn::AllInputs(Box::new(backward));
    Ok(Arc::new(Node::new("CopySlices".into(), edges, base, saved, function)))
}

/// Makes backward passes accumulate the gradient of a non-leaf tensor.
pub(crate) fn retain_grad(tensor: &Tensor) -> Result<()> {
    if !tensor.requires_grad() {
        return Err(Error::NoGraph { op: "retain_grad" });
    }
    let grad_fn = match grad_fn(tensor) {
        Ok(Some(grad_fn)) => grad_fn,
        Ok(None) | Err(Error::UntrackedView { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    if std::mem::replace(&mut tensor.meta_mut().retains_grad, true) {
        return Ok(());
    }
    grad_fn.node.hooks.write().retain(grad_fn.output, tensor);
    Ok(())
}
