//! Registration of hooks, and their calls in backward passes.

use std::any::Any;
use std::sync::{Arc, Weak};

use super::multi_grad::{MultiGradCalls, MultiGradPart, MultiGradState};
use crate::recording::grad_fn;
use crate::tensor::{
    GradientKind, Hooks, Lists, NextFunction, Node, NodePostHook, NodePreHook, PostAccumulateHook,
    Registered, TensorHook, WeakTensor,
};
use crate::{Error, Result, Tensor};

/// The gradient in place of the given one, as errors name it.
const RETURNED: &str = "the gradient that the hook returns";

/// The hooks of a node or leaf, copied for one call: hooks that are added or removed meanwhile count for the next one,
/// and no lock is held while code of the program runs.
pub(super) struct HookCalls(Lists);

impl HookCalls {
    /// Returns the hooks, or `None` if there are none.
    pub fn of(hooks: &Hooks) -> Option<Self> {
        hooks.get().cloned().map(HookCalls)
    }

    /// Calls the hooks of tensors in the order of registration. Each may replace the gradient.
    pub fn call_tensor(&self, gradients: &mut [Option<Tensor>], calls: &mut MultiGradCalls) -> Result<()> {
        for (output, Registered { hook, .. }) in &self.0.tensor {
            let Some(gradient) = gradients.get_mut(*output) else { continue };
            if let Some(part) = (&**hook as &dyn Any).downcast_ref::<MultiGradPart>() {
                calls.deliver(part, gradient.as_ref())?;
                continue;
            }
            let replacement = match gradient {
                Some(gradient) => hook.call(gradient)?,
                None => hook.call_without_gradient()?,
            };
            if let Some(replacement) = replacement {
                check_replacement("register_hook", gradient.as_ref(), &replacement)?;
                *gradient = Some(replacement);
            }
        }
        Ok(())
    }

    /// Returns the tensors whose `grad` accumulates the gradient of a result.
    pub fn retained(&self) -> impl Iterator<Item = (usize, Tensor)> {
        self.0.retained.iter().filter_map(|(output, tensor)| Some((*output, tensor.upgrade()?)))
    }

    pub fn call_pre(&self, gradients: &mut Vec<Option<Tensor>>) -> Result<()> {
        let op = "register_prehook";
        self.0.pre.iter().try_for_each(|one| match one.hook.call(gradients)? {
            Some(replacements) => replace_all(op, gradients, replacements),
            None => Ok(()),
        })
    }

    pub fn has_post(&self) -> bool {
        !self.0.post.is_empty()
    }

    pub fn call_post(&self, inputs: &mut Vec<Option<Tensor>>, results: &[Option<Tensor>]) -> Result<()> {
        let op = "register_hook";
        self.0.post.iter().try_for_each(|one| match one.hook.call(inputs, results)? {
            Some(replacements) => replace_all(op, inputs, replacements),
            None => Ok(()),
        })
    }

    pub fn call_post_accumulate(&self, leaf: &Tensor) -> Result<()> {
        self.0.post_accumulate.iter().try_for_each(|one| one.hook.call(leaf))
    }
}

/// Replaces gradients by those that a hook of a node returned.
fn replace_all(
    op: &'static str,
    gradients: &mut Vec<Option<Tensor>>,
    replacements: Vec<Option<Tensor>>,
) -> Result<()> {
    if replacements.len() != gradients.len() {
        let expected = format!("be {}", gradients.len());
        let argument = "the number of gradients that the hook returns";
        return Err(Error::value(op, argument, expected, replacements.len()));
    }
    for (gradient, replacement) in gradients.iter().zip(&replacements) {
        if let Some(replacement) = replacement {
            check_replacement(op, gradient.as_ref(), replacement)?;
        }
    }
    *gradients = replacements;
    Ok(())
}

fn check_replacement(op: &'static str, gradient: Option<&Tensor>, replacement: &Tensor) -> Result<()> {
    match gradient {
        Some(gradient) => GradientKind::of(gradient).check(op, RETURNED, replacement),
        None => Err(Error::value(op, RETURNED, "be None where the gradient is None", "a tensor")),
    }
}

/// The node or leaf that owns a hook.
enum Owner {
    Node(Weak<Node>),
    Leaf(WeakTensor),
    /// The node of a tensor, and the tensor, which owns the hook too once it is detached in place.
    Result(Weak<Node>, WeakTensor),
    /// The handles of the parts of a hook of several tensors.
    Parts(Arc<MultiGradState>, Vec<HookHandle>),
}

/// A registered hook, which [`remove`](HookHandle::remove) removes: PyTorch's `RemovableHandle`. The hook stays
/// registered if the handle is dropped.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::autograd::HookHandle;
/// use interlock_tensor::Tensor;
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let handle: HookHandle = leaf.register_hook(Arc::new(|g: &Tensor| g.mul(10.0).map(Some)))?;
/// handle.remove();
/// leaf.mul(2.0)?.backward()?;
/// assert_eq!(leaf.grad().map(|gradient| gradient.to_vec::<f64>()), Some(Ok(vec![2.0])));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub struct HookHandle {
    id: u64,
    owner: Owner,
}

impl HookHandle {
    pub(super) fn from_node(node: &Arc<Node>, id: u64) -> Self {
        HookHandle { id, owner: Owner::Node(Arc::downgrade(node)) }
    }

    pub(super) fn from_leaf(leaf: &Tensor, id: u64) -> Self {
        HookHandle { id, owner: Owner::Leaf(leaf.downgrade()) }
    }

    pub(super) fn from_parts(state: Arc<MultiGradState>, parts: Vec<HookHandle>) -> Self {
        HookHandle { id: state.id(), owner: Owner::Parts(state, parts) }
    }

    /// Returns a number that no other hook of the process has. Hooks that were registered later have greater numbers.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Removes the hook. A pass that is running its node still calls it. Has no effect the second time.
    pub fn remove(&self) {
        let of_node = |node: &Weak<Node>| node.upgrade().and_then(|node| node.hooks.write().remove(self.id));
        let of_leaf = |leaf: &WeakTensor| leaf.with_meta(|meta| meta.leaf_hooks.remove(self.id)).flatten();
        let removed = match &self.owner {
            Owner::Node(node) => (of_node(node), None),
            Owner::Leaf(leaf) => (of_leaf(leaf), None),
            Owner::Result(node, tensor) => (of_node(node), of_leaf(tensor)),
            Owner::Parts(state, parts) => {
                state.set_removed();
                return parts.iter().for_each(HookHandle::remove);
            }
        };
        drop(removed);
    }
}

/// Registers a hook of a tensor, for [`Tensor::register_hook`].
pub(super) fn register_tensor_hook(
    op: &'static str,
    tensor: &Tensor,
    hook: Arc<dyn TensorHook>,
) -> Result<HookHandle> {
    Error::when(!tensor.requires_grad(), || Error::no_graph(op))?;
    match grad_fn(op, tensor)? {
        Some(grad_fn) => {
            let id = grad_fn.node.hooks.write().add_tensor(grad_fn.output, hook)?;
            let owner = Owner::Result(Arc::downgrade(&grad_fn.node), tensor.downgrade());
            Ok(HookHandle { id, owner })
        }
        None => {
            let id = tensor.meta_mut().leaf_hooks.add_tensor(0, hook)?;
            Ok(HookHandle::from_leaf(tensor, id))
        }
    }
}

/// Registers a hook of a leaf, for [`Tensor::register_post_accumulate_grad_hook`].
pub(super) fn register_post_accumulate_hook(
    tensor: &Tensor,
    hook: Arc<dyn PostAccumulateHook>,
) -> Result<HookHandle> {
    let op = "register_post_accumulate_grad_hook";
    Error::when(!tensor.requires_grad(), || Error::no_graph(op))?;
    if grad_fn(op, tensor)?.is_some() {
        let expected = "be a leaf; register_hook() accepts the result of an operation";
        return Err(Error::value(op, "the tensor", expected, "the result of an operation"));
    }
    let id = tensor.meta_mut().leaf_hooks.add_post_accumulate(hook)?;
    Ok(HookHandle::from_leaf(tensor, id))
}

impl NextFunction {
    /// Registers a hook that is called before the backward function, or before a leaf accumulates its gradient.
    pub fn register_prehook(&self, hook: Arc<dyn NodePreHook>) -> HookHandle {
        self.register(|hooks| hooks.add_pre(hook))
    }

    /// Registers a hook that is called after the backward function, or after a leaf has accumulated its gradient.
    pub fn register_hook(&self, hook: Arc<dyn NodePostHook>) -> HookHandle {
        self.register(|hooks| hooks.add_post(hook))
    }

    /// Registers the hook that `add` adds. `add` returns its id.
    fn register(&self, add: impl FnOnce(&mut Hooks) -> u64) -> HookHandle {
        match self {
            NextFunction::Node(node) => {
                let id = add(&mut node.hooks.write());
                HookHandle::from_node(node, id)
            }
            NextFunction::Leaf(leaf) => {
                let id = add(&mut leaf.meta_mut().leaf_hooks);
                HookHandle::from_leaf(leaf, id)
            }
        }
    }
}
