//! The history of tensors that change in place, and of their views.

use std::sync::Arc;

use interlock::autograd::{is_grad_enabled, is_inference_mode_enabled};
use interlock::backends::SourceLocation;

use super::node::{Edge, Function, Node};
use super::{Origin, View, is_recording};
use crate::shape::Layout;
use crate::{Error, Result, Tensor, ops};

/// Notes that `view` shows memory of `source`.
pub(crate) fn track_view(view: &Tensor, source: &Tensor) {
    if source.is_inference() {
        return;
    }
    let parent = source.meta().view.clone();
    let origin = if is_inference_mode_enabled() {
        Origin::Inference
    } else if !is_grad_enabled() {
        Origin::NoGrad
    } else {
        parent.as_ref().map_or(Origin::Recorded, |parent| parent.origin)
    };
    let base = parent.map_or_else(|| source.clone(), |parent| parent.base);
    let version = view.storage_handle().version();
    let made_at = if origin == Origin::Recorded { None } else { SourceLocation::current() };
    view.meta_mut().view = Some(View { base, origin, version, made_at });
}

fn untracked(view: &View) -> Result<()> {
    match view.origin {
        Origin::Recorded => Ok(()),
        origin => {
            let made_at = view.made_at.as_ref().map(SourceLocation::to_string);
            Err(Error::UntrackedView { inference: origin == Origin::Inference, made_at })
        }
    }
}

/// See [`Tensor::grad_fn`].
pub(crate) fn grad_fn(tensor: &Tensor) -> Result<Option<Arc<Node>>> {
    let (view, current) = {
        let meta = tensor.meta();
        (meta.view.clone(), meta.grad_fn.clone())
    };
    let Some(view) = view else { return Ok(current) };
    let version = tensor.storage_handle().version();
    if view.version == version || !view.base.requires_grad() {
        return Ok(current);
    }
    untracked(&view)?;
    // The base has changed in place since: the view's history is now the base's.
    let node = ops::as_strided_node(&view.base, tensor.layout())?;
    let mut meta = tensor.meta_mut();
    let retains = meta.retains_grad;
    meta.grad_fn = Some(node.clone());
    if let Some(view) = &mut meta.view {
        view.version = version;
    }
    drop(meta);
    drop(current);
    if retains {
        node.retained.write().push(tensor.downgrade());
    }
    Ok(Some(node))
}

/// Whether `target` may be changed in place by an operation that also reads `inputs`.
pub(crate) fn check_in_place(op: &'static str, target: &Tensor, inputs: &[&Tensor]) -> Result<()> {
    if target.is_inference() && !is_inference_mode_enabled() {
        return Err(Error::Inference { action: "in-place changes" });
    }
    let requires_grad = target.requires_grad();
    if !is_recording() || !(requires_grad || inputs.iter().any(|input| input.requires_grad())) {
        return Ok(());
    }
    let view = target.meta().view.clone();
    if let Some(view) = view {
        untracked(&view)?;
        if requires_grad && view.base.is_leaf()? {
            return Err(Error::LeafInPlace { op, view: true });
        }
    }
    if requires_grad && target.is_leaf()? {
        return Err(Error::LeafInPlace { op, view: false });
    }
    Ok(())
}

/// Gives `target`, just changed in place, the history `node`, whose first edge is to what it was.
pub(crate) fn rebase(target: &Tensor, node: Arc<Node>) -> Result<()> {
    let view = target.meta().view.clone();
    let Some(view) = view else {
        replace(target, node);
        return Ok(());
    };
    // Elements that share a place were given the same number, and the place has one gradient.
    let layout = target.layout().without_repeats();
    let node = copy_slices(&view.base, layout, node)?;
    replace(&view.base, node);
    // The view's own node is made from the base's when it is next asked for.
    Ok(())
}

fn replace(target: &Tensor, node: Arc<Node>) {
    let mut meta = target.meta_mut();
    let retains = meta.retains_grad;
    let old = meta.grad_fn.replace(node.clone());
    drop(meta);
    if let Some(old) = old {
        old.retained.write().retain(|kept| !kept.ptr_eq(&target.downgrade()));
    }
    if retains {
        node.retained.write().push(target.downgrade());
    }
}

/// The node of a base, a part of which (`layout`) was changed by `inner`.
fn copy_slices(base: &Tensor, layout: Layout, inner: Arc<Node>) -> Result<Arc<Node>> {
    let Ok(inner) = Arc::try_unwrap(inner).map(Node::into_parts) else {
        return Err(Error::GraphFreed { node: "CopySlices" });
    };
    let (mut edges, saved, function) = inner;
    if let Some(first) = edges.first_mut() {
        *first = Edge::of(base)?;
    }
    let geometry = base.layout().clone();
    let spread = move |context: &super::node::Context<'_>, gradient: &Tensor| {
        // The gradients of elements that share one place would overwrite each other.
        if geometry.overlaps() {
            return Err(Error::Overlap { op: "backward" });
        }
        let whole = ops::copy_with_layout(gradient, &geometry)?;
        let offset = layout.offset.checked_sub(geometry.offset).ok_or_else(|| {
            let message = "the gradient of memory before the tensor is not known".to_owned();
            Error::Value { op: "backward", message }
        })?;
        let part = ops::as_strided(&whole, Layout { offset, ..layout.clone() })?;
        let mut gradients = function.gradients(context, &part.contiguous_copy()?)?;
        if let Some(first) = gradients.first_mut() {
            match first.take() {
                Some(changed) => part.copy_(&changed)?,
                None => part.zero_()?,
            };
            *first = context.needs(0).then_some(whole);
        }
        Ok(gradients)
    };
    Ok(Node::new("CopySlices", edges, base, saved, Function::All(Box::new(spread))))
}

/// Keeps the gradient of a tensor that is not a leaf.
pub(crate) fn retain_grad(tensor: &Tensor) -> Result<()> {
    if !tensor.requires_grad() {
        return Err(Error::NoGraph { op: "retain_grad" });
    }
    let node = match tensor.grad_fn() {
        Ok(Some(node)) => node,
        Ok(None) | Err(Error::UntrackedView { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    if std::mem::replace(&mut tensor.meta_mut().retains_grad, true) {
        return Ok(());
    }
    node.retained.write().push(tensor.downgrade());
    Ok(())
}
