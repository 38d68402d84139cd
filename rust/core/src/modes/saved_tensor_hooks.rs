//! Hooks of saved tensors as scopes of a thread: PyTorch's `saved_tensors_hooks`.

use std::any::Any;
use std::sync::Arc;

use crate::base::sync::RelaxedU64;
use crate::thread::{self, Scope, ScopeGuard, Slots};

/// The number of [`CountedHooks`].
static LIVE: RelaxedU64 = RelaxedU64::new(0);

/// Hooks in the slots of a layer. Dropped with the last context, layer or captured state that has them.
struct CountedHooks(Arc<dyn Any + Send + Sync>);

impl Drop for CountedHooks {
    fn drop(&mut self) {
        LIVE.subtract(1);
    }
}

/// Returns the hooks of saved tensors that are active on this thread: one load while no hooks exist.
#[inline]
pub fn saved_tensor_hooks() -> Option<Arc<dyn Any + Send + Sync>> {
    if LIVE.get() == 0 { None } else { hooks_of_layers() }
}

#[cold]
fn hooks_of_layers() -> Option<Arc<dyn Any + Send + Sync>> {
    thread::saved_tensor_hooks()?.downcast_ref::<CountedHooks>().map(|counted| counted.0.clone())
}

/// Hooks that pack tensors which nodes save, while it is entered. An inner scope replaces an outer one. The tensor
/// runtime knows the type of the hooks.
///
/// ```
/// use std::sync::Arc;
///
/// use interlock_core::modes::{SavedTensorHooksContext, saved_tensor_hooks};
///
/// let context = SavedTensorHooksContext::new(Arc::new("hooks of a runtime"));
/// context.enter();
/// assert!(saved_tensor_hooks().is_some_and(|hooks| hooks.is::<&str>()));
/// context.exit();
/// assert!(saved_tensor_hooks().is_none());
/// ```
#[derive(Debug)]
pub struct SavedTensorHooksContext {
    scope: Scope,
    slots: Arc<Slots>,
}

impl SavedTensorHooksContext {
    /// Creates a context that is not entered.
    pub fn new(hooks: Arc<dyn Any + Send + Sync>) -> Self {
        LIVE.add(1);
        let slots = Slots::of_saved_tensor_hooks(Arc::new(CountedHooks(hooks)));
        SavedTensorHooksContext { scope: Scope::default(), slots }
    }

    /// Activates the hooks on this thread.
    pub fn enter(&self) {
        self.scope.enter_slots(&self.slots);
    }

    /// Ends the innermost [`enter`](SavedTensorHooksContext::enter); see [`Scope::exit`].
    pub fn exit(&self) {
        self.scope.exit();
    }

    /// Returns the scope that enters and exits.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Activates the hooks on this thread until the guard is dropped.
    pub fn guard(&self) -> ScopeGuard {
        ScopeGuard::of_slots(&self.slots)
    }
}
