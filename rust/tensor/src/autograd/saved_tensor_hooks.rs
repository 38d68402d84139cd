//! Hooks that pack saved tensors, for example to keep them on the CPU: PyTorch's `saved_tensors_hooks`.

use std::any::Any;
use std::sync::Arc;

use interlock::autograd::{self, SavedTensorHooksContext};

use crate::{Error, Result, Tensor};

/// A pair of functions that pack a tensor when a node saves it and unpack it when the backward pass needs it.
///
/// ```
/// use std::any::Any;
/// use std::sync::Arc;
/// use interlock_tensor::autograd::{SavedTensorHooks, saved_tensor_hooks_context};
/// use interlock_tensor::{DType, Result, Tensor};
///
/// /// Saves a copy with less precision.
/// struct Rounded;
/// impl SavedTensorHooks for Rounded {
///     fn pack(&self, tensor: &Tensor) -> Result<Arc<dyn Any + Send + Sync>> {
///         Ok(Arc::new(tensor.cast(DType::Float32)?))
///     }
///     fn unpack(&self, packed: &(dyn Any + Send + Sync)) -> Result<Option<Tensor>> {
///         packed.downcast_ref::<Tensor>().map(|tensor| tensor.cast(DType::Float64)).transpose()
///     }
/// }
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let hooks = saved_tensor_hooks_context(Arc::new(Rounded));
/// let guard = hooks.guard().ok();
/// let square = leaf.mul(&leaf)?;
/// drop(guard);
/// square.backward()?;
/// assert_eq!(leaf.grad().map(|gradient| gradient.to_vec::<f64>()), Some(Ok(vec![6.0])));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub trait SavedTensorHooks: Send + Sync {
    /// Packs a tensor without history.
    fn pack(&self, tensor: &Tensor) -> Result<Arc<dyn Any + Send + Sync>>;

    /// Unpacks what [`pack`](SavedTensorHooks::pack) returned; `None` if it is of another type.
    fn unpack(&self, packed: &(dyn Any + Send + Sync)) -> Result<Option<Tensor>>;
}

/// The hooks as the state of a thread stores them.
struct Stored(Arc<dyn SavedTensorHooks>);

/// Returns a scope in which nodes save tensors through hooks.
pub fn saved_tensor_hooks_context(hooks: Arc<dyn SavedTensorHooks>) -> SavedTensorHooksContext {
    SavedTensorHooksContext::new(Arc::new(Stored(hooks)))
}

/// A packed tensor, with the hooks that unpack it.
#[derive(Clone)]
pub(super) struct Packed {
    hooks: Arc<dyn SavedTensorHooks>,
    packed: Arc<dyn Any + Send + Sync>,
}

impl Packed {
    /// Packs a tensor with the hooks that are active on this thread. Returns `None` if there are none. The hooks
    /// receive an alias without history: the node owns what they return, and must not own itself.
    pub fn by_active_hooks(tensor: &Tensor) -> Result<Option<Self>> {
        let Some(active) = autograd::saved_tensor_hooks() else { return Ok(None) };
        let Some(Stored(hooks)) = active.downcast_ref() else { return Ok(None) };
        // The functions of the program record nothing, and save nothing through themselves.
        let _mode = autograd::no_grad();
        let before = tensor.storage_handle().version();
        let packed = hooks.pack(&tensor.detach())?;
        if tensor.storage_handle().version() != before {
            let expected = "leave the tensor that it packs as it is";
            return Err(Error::PackHook { expected, given: "a change in place" });
        }
        Ok(Some(Packed { hooks: hooks.clone(), packed }))
    }

    /// Returns the tensor, without history.
    pub fn unpack(&self) -> Result<Tensor> {
        let _mode = autograd::no_grad();
        let expected = "return the packed object that belongs to its hooks";
        let err_type = || Error::PackHook { expected, given: "another object" };
        let unpacked = self.hooks.unpack(&*self.packed)?.ok_or_else(err_type)?;
        Ok(unpacked.detach())
    }
}
