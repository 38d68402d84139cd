//! Hooks that pack saved tensors, for example to keep them on the CPU: PyTorch's `saved_tensors_hooks`.

use std::any::Any;
use std::sync::Arc;

use interlock::autograd::{self, SavedTensorHooksContext};
use interlock::state::ThreadState;
use interlock_core::binding::thread::State;

use crate::tensor::PackedTensor;
use crate::{Error, ErrorKind, Result, Tensor};

/// Packs the tensors that nodes save.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::autograd::{PackedTensor, SavedTensorHooks, saved_tensor_hooks_context};
/// use interlock_tensor::{DType, Result, Tensor};
///
/// /// Saves a copy with less precision.
/// struct Round;
/// impl SavedTensorHooks for Round {
///     fn pack(&self, tensor: &Tensor) -> Result<Arc<dyn PackedTensor>> {
///         Ok(Arc::new(Rounded(tensor.cast(DType::Float32)?)))
///     }
/// }
/// struct Rounded(Tensor);
/// impl PackedTensor for Rounded {
///     fn unpack(&self) -> Result<Tensor> {
///         self.0.cast(DType::Float64)
///     }
/// }
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let hooks = saved_tensor_hooks_context(Arc::new(Round));
/// let guard = hooks.guard().ok();
/// let square = leaf.mul(&leaf)?;
/// drop(guard);
/// square.backward()?;
/// assert_eq!(leaf.grad().map(|gradient| gradient.to_vec::<f64>()), Some(Ok(vec![6.0])));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub trait SavedTensorHooks: Any + Send + Sync {
    /// Packs a leaf that requires grad, or an alias without history of another tensor.
    fn pack(&self, tensor: &Tensor) -> Result<Arc<dyn PackedTensor>>;
}

/// The hooks as the state of a thread stores them.
struct Stored(Arc<dyn SavedTensorHooks>);

/// Returns a scope in which nodes save tensors through hooks.
pub fn saved_tensor_hooks_context(hooks: Arc<dyn SavedTensorHooks>) -> SavedTensorHooksContext {
    SavedTensorHooksContext::new(Arc::new(Stored(hooks)))
}

/// Returns the hooks of a captured state if only this state owns them, for a garbage collector.
pub fn own_hooks_of(state: &ThreadState) -> Option<&dyn Any> {
    own_hooks(autograd::own_hooks_of(state)?)
}

/// Calls `visit` with the hooks of a state of a context that only this state owns, for a garbage collector.
pub fn visit_own_hooks(state: &State, mut visit: impl FnMut(&dyn Any)) {
    autograd::visit_own_hooks(state, |stored| own_hooks(stored).into_iter().for_each(&mut visit));
}

fn own_hooks(stored: &Arc<dyn Any + Send + Sync>) -> Option<&dyn Any> {
    let Stored(hooks) = Some(stored).filter(|stored| Arc::strong_count(stored) == 1)?.downcast_ref()?;
    (Arc::strong_count(hooks) == 1).then_some(&**hooks)
}

/// Packs a tensor with the hooks that are active on this thread. Returns `None` if there are none. The hooks receive a leaf
/// itself, and of other tensors an alias without history: the node owns what they return, and must not own itself.
pub(super) fn pack(tensor: &Tensor, is_leaf: bool) -> Result<Option<Arc<dyn PackedTensor>>> {
    let Some(active) = autograd::saved_tensor_hooks() else { return Ok(None) };
    let Some(Stored(hooks)) = active.downcast_ref() else { return Ok(None) };
    // The functions of the program record nothing, and save nothing through themselves.
    let _mode = autograd::no_grad();
    let before = tensor.current_version();
    // The data of the leaf may have been replaced after the operation has read it.
    let is_itself = is_leaf && tensor.current().has_data_of(tensor);
    let packed = if is_itself { hooks.pack(tensor) } else { hooks.pack(&tensor.detach()) }?;
    if tensor.current_version() != before {
        let message = "pack_hook must leave the tensor that it packs as it is, got a change in place";
        return Err(Error::of("saved_tensors_hooks", ErrorKind::Value, message));
    }
    Ok(Some(packed))
}

/// Returns a packed tensor, without history.
pub(super) fn unpack(packed: &dyn PackedTensor) -> Result<Tensor> {
    let _mode = autograd::no_grad();
    Ok(packed.unpack()?.detach())
}
