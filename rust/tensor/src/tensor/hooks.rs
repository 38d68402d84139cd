//! Hooks: functions of the program that a node or a leaf has, for backward passes.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::WeakTensor;
use crate::storage::fallible_alloc::try_push;
use crate::{Result, Tensor};

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

    /// Called instead of [`call`](TensorHook::call) in a pass in which no backward function returned a gradient of the
    /// tensor. The hook may not provide one, so a tensor that it returns is an error.
    fn call_without_gradient(&self) -> Result<Option<Tensor>> {
        Ok(None)
    }

    /// Returns what a garbage collector visits in place of the hook, if that is another object.
    fn owned(&self) -> Option<&dyn Any> {
        None
    }
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
pub(crate) struct Registered<H: ?Sized> {
    id: u64,
    pub hook: Arc<H>,
}

// A derived impl would require `H: Clone`.
impl<H: ?Sized> Clone for Registered<H> {
    fn clone(&self) -> Self {
        Registered { id: self.id, hook: self.hook.clone() }
    }
}

/// The hooks of a node or of a leaf, each list in the order of registration. Most have none.
#[derive(Default)]
pub(crate) struct Hooks(Option<Box<Lists>>);

#[derive(Clone, Default)]
pub(crate) struct Lists {
    /// Hooks of tensors, with the result of the node that the tensor is.
    pub tensor: Vec<(usize, Registered<dyn TensorHook>)>,
    /// Results of the node whose `grad` accumulates their gradient.
    pub retained: Vec<(usize, WeakTensor)>,
    pub pre: Vec<Registered<dyn NodePreHook>>,
    pub post: Vec<Registered<dyn NodePostHook>>,
    pub post_accumulate: Vec<Registered<dyn PostAccumulateHook>>,
}

pub(crate) fn new_id() -> u64 {
    static LAST_ID: AtomicU64 = AtomicU64::new(0);
    LAST_ID.fetch_add(1, Ordering::Relaxed)
}

impl Hooks {
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the hooks, or `None` if there are none.
    pub fn get(&self) -> Option<&Lists> {
        self.0.as_deref()
    }

    fn lists(&mut self) -> &mut Lists {
        self.0.get_or_insert_default()
    }

    pub fn add_tensor(&mut self, output: usize, hook: Arc<dyn TensorHook>) -> Result<u64> {
        let id = new_id();
        try_push(&mut self.lists().tensor, (output, Registered { id, hook }))?;
        Ok(id)
    }

    /// Adds the hooks that are registered elsewhere for the tensor that is result `output` there.
    pub fn share_tensor(&mut self, owner: &Hooks, output: usize) {
        let hooks = owner.get().into_iter().flat_map(|lists| &lists.tensor);
        for (_, registered) in hooks.filter(|(of, _)| *of == output) {
            self.lists().tensor.push((0, registered.clone()));
        }
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
        if let Some(lists) = &mut self.0 {
            lists.retained.retain(|(_, retained)| !retained.refers_to(tensor));
        }
    }

    /// Removes the hook with this id and returns it: it must be dropped after the lock is released, because its drop
    /// may run code of the program.
    pub fn remove(&mut self, id: u64) -> Option<Arc<dyn Any + Send + Sync>> {
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

    /// Calls `visit` with each hook.
    pub fn visit(&self, visit: &mut dyn FnMut(&dyn Any)) {
        let Some(lists) = &self.0 else { return };
        // A hook with several owners holds one reference, which a collector may count once.
        let owned = lists.tensor.iter().filter(|(_, registered)| Arc::strong_count(&registered.hook) == 1);
        owned.for_each(|(_, registered)| visit(registered.hook.owned().unwrap_or(&*registered.hook)));
        lists.pre.iter().for_each(|registered| visit(&*registered.hook as &dyn Any));
        lists.post.iter().for_each(|registered| visit(&*registered.hook as &dyn Any));
        lists.post_accumulate.iter().for_each(|registered| visit(&*registered.hook as &dyn Any));
    }
}
