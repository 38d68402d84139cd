//! Hooks of saved tensors as scopes of a thread: PyTorch's `saved_tensors_hooks`.

use std::any::Any;
use std::sync::Arc;

use crate::base::sync::RelaxedU64;
use crate::thread::{self, Scope, ScopeGuard, Slots, State, ThreadState};
use crate::{Error, Result};

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

/// Returns the hooks of a captured state if no other state, layer or context shares them.
pub fn own_hooks_of(state: &ThreadState) -> Option<&Arc<dyn Any + Send + Sync>> {
    let hooks = state.own_saved_tensor_hooks()?;
    hooks.downcast_ref::<CountedHooks>().map(|counted| &counted.0)
}

/// Calls `visit` with the hooks of a state of a context that no other state, layer or scope shares.
pub fn visit_own_hooks(state: &State, mut visit: impl FnMut(&Arc<dyn Any + Send + Sync>)) {
    let own = state.own_slots().filter_map(Slots::own_saved_tensor_hooks);
    own.filter_map(|hooks| hooks.downcast_ref::<CountedHooks>()).for_each(|counted| visit(&counted.0));
}

/// The message of the errors of a layer in which hooks are disabled. It has the slot of the hooks, because a layer that
/// disables them is never above one that has them.
struct Disabled(Arc<str>);

/// Returns an error if hooks of saved tensors are disabled on this thread.
pub fn check_saved_tensor_hooks_enabled() -> Result<()> {
    let active = thread::saved_tensor_hooks();
    match active.as_ref().and_then(|active| active.downcast_ref::<Disabled>()) {
        Some(Disabled(message)) => Err(Error::SavedTensorHooksDisabled { message: message.clone() }),
        None => Ok(()),
    }
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
/// context.enter()?;
/// assert!(saved_tensor_hooks().is_some_and(|hooks| hooks.is::<&str>()));
/// context.exit();
/// assert!(saved_tensor_hooks().is_none());
/// # Ok::<(), interlock_core::Error>(())
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
        let slots = Slots::from_saved_tensor_hooks(Arc::new(CountedHooks(hooks)));
        SavedTensorHooksContext { scope: Scope::default(), slots }
    }

    /// Activates the hooks on this thread.
    ///
    /// # Errors
    /// Fails if hooks are disabled on this thread.
    pub fn enter(&self) -> Result<()> {
        check_saved_tensor_hooks_enabled()?;
        self.scope.enter_slots(&self.slots)
    }

    /// Ends the innermost [`enter`](SavedTensorHooksContext::enter); see [`Scope::exit`].
    pub fn exit(&self) {
        self.scope.exit();
    }

    /// Returns the scope that enters and exits.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns whether this context is the only owner of its reference to the hooks: they are not entered, and no
    /// captured state has them.
    pub fn is_only_owner(&self) -> bool {
        Slots::own_saved_tensor_hooks(&self.slots).is_some()
    }

    /// Activates the hooks on this thread until the guard is dropped.
    ///
    /// # Errors
    /// Fails if hooks are disabled on this thread.
    pub fn guard(&self) -> Result<ScopeGuard> {
        check_saved_tensor_hooks_enabled()?;
        Ok(ScopeGuard::from_slots(&self.slots))
    }
}

/// Disables hooks of saved tensors while it is entered: activating hooks fails with its message. For code that hooks
/// would break: PyTorch's `disable_saved_tensors_hooks`.
///
/// ```
/// use std::sync::Arc;
///
/// use interlock_core::modes::{SavedTensorHooksContext, SavedTensorHooksDisabledContext};
///
/// let disabled = SavedTensorHooksDisabledContext::new("this layer compresses its tensors itself");
/// let hooks = SavedTensorHooksContext::new(Arc::new("hooks of a runtime"));
/// let guard = disabled.guard()?;
/// assert!(hooks.enter().is_err());
/// drop(guard);
/// assert!(hooks.enter().is_ok());
/// # hooks.exit();
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Debug)]
pub struct SavedTensorHooksDisabledContext {
    scope: Scope,
    slots: Arc<Slots>,
    message: Arc<str>,
}

impl SavedTensorHooksDisabledContext {
    /// Creates a context that is not entered. `message` is the text of the errors.
    pub fn new(message: &str) -> Self {
        let message = Arc::<str>::from(message);
        let slots = Slots::from_saved_tensor_hooks(Arc::new(Disabled(message.clone())));
        SavedTensorHooksDisabledContext { scope: Scope::default(), slots, message }
    }

    /// Returns an error if hooks are active on this thread, which then cannot be disabled.
    pub fn check(&self) -> Result<()> {
        match saved_tensor_hooks() {
            Some(_) => Err(Error::SavedTensorHooksDisabled { message: self.message.clone() }),
            None => Ok(()),
        }
    }

    /// Disables hooks on this thread.
    ///
    /// # Errors
    /// Fails if hooks are active on this thread.
    pub fn enter(&self) -> Result<()> {
        self.check()?;
        self.scope.enter_slots(&self.slots)
    }

    /// Ends the innermost [`enter`](SavedTensorHooksDisabledContext::enter); see [`Scope::exit`].
    pub fn exit(&self) {
        self.scope.exit();
    }

    /// Returns the scope that enters and exits.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Disables hooks on this thread until the guard is dropped.
    ///
    /// # Errors
    /// Fails if hooks are active on this thread.
    pub fn guard(&self) -> Result<ScopeGuard> {
        self.check()?;
        Ok(ScopeGuard::from_slots(&self.slots))
    }
}
