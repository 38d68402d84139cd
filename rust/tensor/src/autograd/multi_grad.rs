//! Hooks of several tensors: PyTorch's `register_multi_grad_hook`.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::hooks::{HookHandle, register_tensor_hook};
use super::without_history;
use crate::tensor::{Hooks, TensorHook, new_id};
use crate::{Result, Tensor};

/// The number of [`MultiGradState`], so that a backward pass searches for hooks only if there are any.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Returns whether any hook of several tensors exists.
pub(super) fn any_registered() -> bool {
    LIVE.load(Ordering::Acquire) != 0
}

/// A hook of several tensors.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use interlock_tensor::autograd::{MultiGradMode, register_multi_grad_hook};
/// use interlock_tensor::{Result, Tensor};
///
/// static COMPUTED: AtomicUsize = AtomicUsize::new(0);
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let (used, unused) = (leaf.mul(2.0)?, leaf.mul(3.0)?);
/// let count = |gradients: &[Option<Tensor>]| -> Result<()> {
///     COMPUTED.store(gradients.iter().flatten().count(), Ordering::Relaxed);
///     Ok(())
/// };
/// register_multi_grad_hook(&[leaf, used.clone(), unused], Arc::new(count), MultiGradMode::All)?;
/// used.backward()?;
/// assert_eq!(COMPUTED.load(Ordering::Relaxed), 2);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub trait MultiGradHook: Any + Send + Sync {
    /// Receives the gradient of each tensor, `None` for a tensor without one. In [`MultiGradMode::Any`] it receives
    /// only the first gradient.
    fn call(&self, gradients: &[Option<Tensor>]) -> Result<()>;

    /// Returns the hook that another tensor owns. A language with a garbage collector returns a hook with a reference
    /// of its own, so that the collector counts one reference for each tensor.
    fn share(self: Arc<Self>) -> Arc<dyn MultiGradHook>;
}

impl<F: Fn(&[Option<Tensor>]) -> Result<()> + Any + Send + Sync> MultiGradHook for F {
    fn call(&self, gradients: &[Option<Tensor>]) -> Result<()> {
        self(gradients)
    }

    fn share(self: Arc<Self>) -> Arc<dyn MultiGradHook> {
        self
    }
}

/// When a backward pass calls a hook of several tensors.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::autograd::{MultiGradMode, register_multi_grad_hook};
/// use interlock_tensor::{Result, Tensor};
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let result = leaf.mul(2.0)?;
/// let first = |gradients: &[Option<Tensor>]| -> Result<()> {
///     assert_eq!(gradients.len(), 1);
///     Ok(())
/// };
/// register_multi_grad_hook(&[leaf, result.clone()], Arc::new(first), MultiGradMode::Any)?;
/// result.backward()?;
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultiGradMode {
    /// Once, after the last gradient that the pass computes.
    All,
    /// Once, after the first gradient.
    Any,
}

/// The data that the parts of a hook share.
pub(super) struct MultiGradState {
    id: u64,
    mode: MultiGradMode,
    /// The number of tensors.
    len: usize,
    removed: AtomicBool,
}

impl MultiGradState {
    /// Returns a number that no other hook has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Records that the handle has removed the hook.
    pub fn set_removed(&self) {
        self.removed.store(true, Ordering::Release);
    }
}

impl Drop for MultiGradState {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The part of a hook that belongs to one of its tensors.
pub(super) struct MultiGradPart {
    state: Arc<MultiGradState>,
    hook: Arc<dyn MultiGradHook>,
    index: usize,
}

impl MultiGradPart {
    /// Returns the parts among the hooks of tensors, with the result of the node that the tensor is.
    fn among(hooks: &Hooks) -> impl Iterator<Item = (usize, &MultiGradPart)> {
        let tensor = hooks.get().into_iter().flat_map(|lists| &lists.tensor);
        tensor.filter_map(|(output, registered)| {
            Some((*output, (&*registered.hook as &dyn Any).downcast_ref::<MultiGradPart>()?))
        })
    }
}

impl TensorHook for MultiGradPart {
    /// Returns `None`: [`MultiGradCalls::deliver`] calls the hook.
    fn call(&self, _: &Tensor) -> Result<Option<Tensor>> {
        Ok(None)
    }

    fn owned(&self) -> Option<&dyn Any> {
        Some(&*self.hook)
    }
}

/// Registers a hook of several tensors: PyTorch's `register_multi_grad_hook`.
///
/// In [`MultiGradMode::All`] each backward pass calls it once, after it has computed the last gradient of the tensors
/// that it computes at all. In [`MultiGradMode::Any`] a pass calls it with the first gradient, and tensors that do not
/// require grad are ignored.
///
/// # Errors
/// Fails in [`MultiGradMode::All`] if a tensor does not require grad.
pub fn register_multi_grad_hook(
    tensors: &[Tensor],
    hook: Arc<dyn MultiGradHook>,
    mode: MultiGradMode,
) -> Result<HookHandle> {
    LIVE.fetch_add(1, Ordering::AcqRel);
    let state =
        Arc::new(MultiGradState { id: new_id(), mode, len: tensors.len(), removed: AtomicBool::new(false) });
    let mut parts = Vec::new();
    for (index, tensor) in tensors.iter().enumerate() {
        if mode == MultiGradMode::Any && !tensor.requires_grad() {
            continue;
        }
        let part = MultiGradPart { state: state.clone(), hook: hook.clone().share(), index };
        match register_tensor_hook("register_multi_grad_hook", tensor, Arc::new(part)) {
            Ok(handle) => parts.push(handle),
            Err(error) => {
                parts.iter().for_each(HookHandle::remove);
                return Err(error);
            }
        }
    }
    Ok(HookHandle::from_parts(state, parts))
}

/// A hook in one backward pass.
struct Call {
    hook: Arc<dyn MultiGradHook>,
    state: Arc<MultiGradState>,
    gradients: Vec<Option<Tensor>>,
    /// The gradients that the pass has yet to compute.
    missing: usize,
}

impl Call {
    fn run(self) -> Result<()> {
        if self.state.removed.load(Ordering::Acquire) { Ok(()) } else { self.hook.call(&self.gradients) }
    }
}

/// The hooks of several tensors that one backward pass has yet to call.
pub(super) struct MultiGradCalls {
    /// By the id of the hook.
    calls: HashMap<u64, Call>,
    /// Whether the pass is recorded.
    create_graph: bool,
}

impl MultiGradCalls {
    pub fn new(create_graph: bool) -> Self {
        MultiGradCalls { calls: HashMap::new(), create_graph }
    }

    /// Adds the hooks of a node or leaf. `needs` returns whether the pass computes the gradient of a result.
    pub fn expect(&mut self, hooks: &Hooks, needs: impl Fn(usize) -> bool) {
        for (output, part) in MultiGradPart::among(hooks) {
            if needs(output) {
                let call = self.calls.entry(part.state.id).or_insert_with(|| Call {
                    hook: part.hook.clone(),
                    state: part.state.clone(),
                    gradients: vec![None; part.state.len],
                    missing: 0,
                });
                call.missing += 1;
            }
        }
    }

    /// Passes on the gradient of the tensor of a part, or that it has none. A hook that was registered during the pass waits
    /// for the next.
    pub fn deliver(&mut self, part: &MultiGradPart, gradient: Option<&Tensor>) -> Result<()> {
        let id = part.state.id;
        let Some(call) = self.calls.get_mut(&id) else { return Ok(()) };
        let own = |gradient| if self.create_graph { gradient } else { without_history(gradient) };
        let gradient = gradient.cloned().map(own);
        call.missing = call.missing.saturating_sub(1);
        let is_due = match part.state.mode {
            MultiGradMode::All => {
                if let Some(slot) = call.gradients.get_mut(part.index) {
                    *slot = gradient;
                }
                call.missing == 0
            }
            MultiGradMode::Any => {
                let is_first = gradient.is_some();
                call.gradients = vec![gradient];
                is_first
            }
        };
        if !is_due {
            return Ok(());
        }
        match self.calls.remove(&id) {
            Some(call) => call.run(),
            None => Ok(()),
        }
    }
}
