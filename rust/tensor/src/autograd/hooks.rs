//! Hooks: functions of the program that backward passes call with gradients.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::multi_grad::{MultiGradCalls, MultiGradPart, MultiGradState};
use super::node::Node;
use crate::error::Tuple;
use crate::fallible_alloc::try_push;
use crate::fork_rwlock::ForkRwLock;
use crate::tensor::Inner;
use crate::{DType, Error, Result, Tensor};
use interlock::accelerator::Device;

/// A hook of a tensor: receives the gradient of the tensor and may replace it.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::Tensor;
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// leaf.register_hook(Arc::new(|gradient: &Tensor| gradient.mul(10.0).map(Some)))?;
/// leaf.mul(2.0)?.backward()?;
/// assert_eq!(leaf.grad().map(|gradient| gradient.to_vec::<f64>()), Some(Ok(vec![20.0])));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub trait TensorHook: Any + Send + Sync {
    /// Returns the gradient to use instead, or `None` to use the given one.
    fn call(&self, gradient: &Tensor) -> Result<Option<Tensor>>;
}

impl<F: Fn(&Tensor) -> Result<Option<Tensor>> + Any + Send + Sync> TensorHook for F {
    fn call(&self, gradient: &Tensor) -> Result<Option<Tensor>> {
        self(gradient)
    }
}

/// A hook that is called with a leaf after a backward pass has accumulated a gradient in its
/// [`grad`](Tensor::grad).
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::Tensor;
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// // The gradient is not needed any more, and its memory is reused.
/// leaf.register_post_accumulate_grad_hook(Arc::new(|leaf: &Tensor| leaf.set_grad(None)))?;
/// leaf.mul(2.0)?.backward()?;
/// assert!(leaf.grad().is_none());
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub trait PostAccumulateHook: Any + Send + Sync {
    /// Called with the leaf.
    fn call(&self, leaf: &Tensor) -> Result<()>;
}

impl<F: Fn(&Tensor) -> Result<()> + Any + Send + Sync> PostAccumulateHook for F {
    fn call(&self, leaf: &Tensor) -> Result<()> {
        self(leaf)
    }
}

/// A hook of a node, called before its backward function.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::autograd::NextFunction;
/// use interlock_tensor::Tensor;
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let result = leaf.mul(2.0)?;
/// if let Some(node) = result.grad_fn()? {
///     NextFunction::Node(node).register_prehook(Arc::new(|gradients: &[Option<Tensor>]| {
///         let doubled = gradients.iter().flatten().map(|gradient| gradient.mul(2.0).map(Some));
///         doubled.collect::<Result<_, _>>().map(Some)
///     }));
/// }
/// result.backward()?;
/// assert_eq!(leaf.grad().map(|gradient| gradient.to_vec::<f64>()), Some(Ok(vec![4.0])));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub trait NodePreHook: Any + Send + Sync {
    /// Receives the gradients of the results. Returns those to use instead, or `None`.
    fn call(&self, gradients: &[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>>;
}

impl<F> NodePreHook for F
where
    F: Fn(&[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> + Any + Send + Sync,
{
    fn call(&self, gradients: &[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> {
        self(gradients)
    }
}

/// A hook of a node, called after its backward function.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::autograd::NextFunction;
/// use interlock_tensor::Tensor;
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let result = leaf.mul(2.0)?;
/// if let Some(node) = result.grad_fn()? {
///     let drop_all = |inputs: &[Option<Tensor>], _: &[Option<Tensor>]| Ok(Some(vec![None; inputs.len()]));
///     NextFunction::Node(node).register_hook(Arc::new(drop_all));
/// }
/// result.backward()?;
/// assert!(leaf.grad().is_none());
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub trait NodePostHook: Any + Send + Sync {
    /// Receives the gradients of the inputs and of the results. Returns the gradients of the inputs to use instead,
    /// or `None`.
    fn call(
        &self,
        inputs: &[Option<Tensor>],
        results: &[Option<Tensor>],
    ) -> Result<Option<Vec<Option<Tensor>>>>;
}

impl<F> NodePostHook for F
where
    F: Fn(&[Option<Tensor>], &[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> + Any + Send + Sync,
{
    fn call(
        &self,
        inputs: &[Option<Tensor>],
        results: &[Option<Tensor>],
    ) -> Result<Option<Vec<Option<Tensor>>>> {
        self(inputs, results)
    }
}

/// A hook with the id that its handle removes.
#[derive(Clone)]
struct Registered<H: ?Sized> {
    id: u64,
    hook: Arc<H>,
}

/// The hooks of a node or of a leaf, each list in the order of registration. Most have none.
#[derive(Default)]
pub(crate) struct Hooks(Option<Box<Lists>>);

#[derive(Default)]
struct Lists {
    /// Hooks of tensors, with the result of the node that the tensor is.
    tensor: Vec<(usize, Registered<dyn TensorHook>)>,
    /// Results of the node whose `grad` accumulates their gradient.
    retained: Vec<(usize, Weak<Inner>)>,
    pre: Vec<Registered<dyn NodePreHook>>,
    post: Vec<Registered<dyn NodePostHook>>,
    post_accumulate: Vec<Registered<dyn PostAccumulateHook>>,
}

pub(super) fn new_id() -> u64 {
    static LAST_ID: AtomicU64 = AtomicU64::new(0);
    LAST_ID.fetch_add(1, Ordering::Relaxed)
}

impl Hooks {
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn lists(&mut self) -> &mut Lists {
        self.0.get_or_insert_default()
    }

    pub fn add_tensor(&mut self, output: usize, hook: Arc<dyn TensorHook>) -> Result<u64> {
        let id = new_id();
        try_push(&mut self.lists().tensor, (output, Registered { id, hook }))?;
        Ok(id)
    }

    pub fn add_pre(&mut self, hook: Arc<dyn NodePreHook>) -> u64 {
        let id = new_id();
        self.lists().pre.push(Registered { id, hook });
        id
    }

    pub fn add_post(&mut self, hook: Arc<dyn NodePostHook>) -> u64 {
        let id = new_id();
        self.lists().post.push(Registered { id, hook });
        id
    }

    pub fn add_post_accumulate(&mut self, hook: Arc<dyn PostAccumulateHook>) -> Result<u64> {
        let id = new_id();
        try_push(&mut self.lists().post_accumulate, Registered { id, hook })?;
        Ok(id)
    }

    /// Accumulates the gradient of a result in `grad` of this tensor.
    pub fn retain(&mut self, output: usize, tensor: &Tensor) {
        self.lists().retained.push((output, tensor.downgrade()));
    }

    /// Undoes [`retain`](Hooks::retain).
    pub fn unretain(&mut self, tensor: &Tensor) {
        let weak = tensor.downgrade();
        if let Some(lists) = &mut self.0 {
            lists.retained.retain(|(_, retained)| !retained.ptr_eq(&weak));
        }
    }

    /// Removes the hook with this id and returns it: it must be dropped after the lock is released, because its drop
    /// may run code of the program.
    fn remove(&mut self, id: u64) -> Option<Arc<dyn Any + Send + Sync>> {
        fn take<H: ?Sized>(list: &mut Vec<Registered<H>>, id: u64) -> Option<Arc<H>> {
            let found = list.iter().position(|registered| registered.id == id)?;
            Some(list.remove(found).hook)
        }
        let lists = self.0.as_mut()?;
        if let Some(found) = lists.tensor.iter().position(|(_, registered)| registered.id == id) {
            return Some(lists.tensor.remove(found).1.hook);
        }
        let pre = take(&mut lists.pre, id).map(|hook| hook as Arc<dyn Any + Send + Sync>);
        let post = || take(&mut lists.post, id).map(|hook| hook as Arc<dyn Any + Send + Sync>);
        pre.or_else(post)
            .or_else(|| take(&mut lists.post_accumulate, id).map(|hook| hook as Arc<dyn Any + Send + Sync>))
    }

    /// Returns the parts of hooks of several tensors, with the result of the node that the tensor is.
    pub(super) fn multi_grad_parts(&self) -> impl Iterator<Item = (usize, &MultiGradPart)> {
        let tensor = self.0.iter().flat_map(|lists| &lists.tensor);
        tensor.filter_map(|(output, registered)| {
            Some((*output, (&*registered.hook as &dyn Any).downcast_ref::<MultiGradPart>()?))
        })
    }

    /// Calls `visit` with each hook.
    pub fn visit(&self, visit: &mut dyn FnMut(&dyn Any)) {
        let Some(lists) = &self.0 else { return };
        lists.tensor.iter().for_each(|(_, registered)| {
            let hook = &*registered.hook as &dyn Any;
            visit(hook.downcast_ref::<MultiGradPart>().map_or(hook, MultiGradPart::owned));
        });
        lists.pre.iter().for_each(|registered| visit(&*registered.hook as &dyn Any));
        lists.post.iter().for_each(|registered| visit(&*registered.hook as &dyn Any));
        lists.post_accumulate.iter().for_each(|registered| visit(&*registered.hook as &dyn Any));
    }
}

/// The shape, type and device of a tensor, and so of its gradient.
pub(super) struct GradientKind<'a> {
    pub shape: &'a [usize],
    pub dtype: DType,
    pub device: Device,
}

impl GradientKind<'_> {
    /// Returns a gradient that a hook returned in place of the given one, or an error if it differs in shape, type or
    /// device.
    fn check(&self, op: &'static str, replacement: Tensor) -> Result<Tensor> {
        let argument = "the gradient that the hook returns";
        if replacement.shape() != self.shape {
            let expected = format!("be of shape {}", Tuple(self.shape));
            return Err(Error::shape(op, argument, expected, replacement.shape()));
        }
        if replacement.dtype() != self.dtype {
            let expected = format!("of dtype {}", self.dtype);
            return Err(Error::DType { op, argument, expected, given: replacement.dtype(), hint: "" });
        }
        if replacement.device() != self.device {
            return Err(Error::Devices { op, left: self.device, right: replacement.device() });
        }
        Ok(replacement)
    }

    pub fn of(tensor: &Tensor) -> GradientKind<'_> {
        GradientKind { shape: tensor.shape(), dtype: tensor.dtype(), device: tensor.device() }
    }
}

/// The hooks of a node or leaf, copied for one call: hooks that are added or removed meanwhile count for the next one,
/// and no lock is held while code of the program runs.
#[derive(Default)]
pub(super) struct HookCalls {
    tensor: Vec<(usize, Arc<dyn TensorHook>)>,
    retained: Vec<(usize, Tensor)>,
    pre: Vec<Arc<dyn NodePreHook>>,
    post: Vec<Arc<dyn NodePostHook>>,
    post_accumulate: Vec<Arc<dyn PostAccumulateHook>>,
}

impl HookCalls {
    /// Returns the hooks, or `None` if there are none.
    pub fn of(hooks: &Hooks) -> Option<Self> {
        let lists = hooks.0.as_ref()?;
        let retained = |(output, tensor): &(usize, Weak<Inner>)| Some((*output, Tensor::upgrade(tensor)?));
        Some(HookCalls {
            tensor: lists.tensor.iter().map(|(output, one)| (*output, one.hook.clone())).collect(),
            retained: lists.retained.iter().filter_map(retained).collect(),
            pre: lists.pre.iter().map(|one| one.hook.clone()).collect(),
            post: lists.post.iter().map(|one| one.hook.clone()).collect(),
            post_accumulate: lists.post_accumulate.iter().map(|one| one.hook.clone()).collect(),
        })
    }

    /// Calls the hooks of tensors in the order of registration. Each may replace the gradient.
    pub fn call_tensor(&self, gradients: &mut [Option<Tensor>], calls: &mut MultiGradCalls) -> Result<()> {
        for (output, hook) in &self.tensor {
            // A result without a gradient has none to change.
            let Some(Some(gradient)) = gradients.get_mut(*output) else { continue };
            if let Some(part) = (&**hook as &dyn Any).downcast_ref::<MultiGradPart>() {
                calls.deliver(part, gradient)?;
                continue;
            }
            if let Some(replacement) = hook.call(gradient)? {
                *gradient = GradientKind::of(gradient).check("register_hook", replacement)?;
            }
        }
        Ok(())
    }

    /// Returns the tensors whose `grad` accumulates the gradient of a result.
    pub fn retained(&self) -> &[(usize, Tensor)] {
        &self.retained
    }

    pub fn call_pre(&self, gradients: &mut Vec<Option<Tensor>>) -> Result<()> {
        let op = "register_prehook";
        self.pre.iter().try_for_each(|hook| match hook.call(gradients)? {
            Some(replacements) => replace_all(op, gradients, replacements),
            None => Ok(()),
        })
    }

    pub fn has_post(&self) -> bool {
        !self.post.is_empty()
    }

    pub fn call_post(&self, inputs: &mut Vec<Option<Tensor>>, results: &[Option<Tensor>]) -> Result<()> {
        let op = "register_hook";
        self.post.iter().try_for_each(|hook| match hook.call(inputs, results)? {
            Some(replacements) => replace_all(op, inputs, replacements),
            None => Ok(()),
        })
    }

    pub fn call_post_accumulate(&self, leaf: &Tensor) -> Result<()> {
        self.post_accumulate.iter().try_for_each(|hook| hook.call(leaf))
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
        match (gradient, replacement) {
            (Some(gradient), Some(replacement)) => {
                GradientKind::of(gradient).check(op, replacement.clone())?;
            }
            (None, Some(_)) => {
                let argument = "the gradient that the hook returns";
                return Err(Error::value(op, argument, "be None where the gradient is None", "a tensor"));
            }
            (_, None) => {}
        }
    }
    *gradients = replacements;
    Ok(())
}

/// The node or leaf that owns a hook.
enum Owner {
    Node(Weak<Node>),
    Leaf(Weak<Inner>),
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
        let removed = match &self.owner {
            Owner::Node(node) => node.upgrade().and_then(|node| node.hooks.write().remove(self.id)),
            Owner::Leaf(leaf) => {
                Tensor::upgrade(leaf).and_then(|leaf| leaf.meta_mut().leaf_hooks.remove(self.id))
            }
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
    if !tensor.requires_grad() {
        return Err(Error::NoGraph { op });
    }
    match super::grad_fn(tensor)? {
        Some(grad_fn) => {
            let id = grad_fn.node.hooks.write().add_tensor(grad_fn.output, hook)?;
            Ok(HookHandle::from_node(&grad_fn.node, id))
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
    if !tensor.requires_grad() {
        return Err(Error::NoGraph { op });
    }
    if !tensor.is_leaf()? {
        let expected = "be a leaf; register_hook() accepts the result of an operation";
        return Err(Error::value(op, "the tensor", expected, "the result of an operation"));
    }
    let id = tensor.meta_mut().leaf_hooks.add_post_accumulate(hook)?;
    Ok(HookHandle::from_leaf(tensor, id))
}

/// Returns the hooks of a node for one call.
pub(super) fn calls_of(hooks: &ForkRwLock<Hooks>) -> Option<HookCalls> {
    HookCalls::of(&hooks.read())
}
