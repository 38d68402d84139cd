//! Hooks of the creation of nodes of the autograd graph, as scopes of a thread: PyTorch's `node_creation_hook`.

use std::any::Any;
use std::sync::Arc;

use crate::Result;
use crate::base::sync::RelaxedU64;
use crate::thread::{self, Scope, ScopeGuard, Slots, State, ThreadState};

/// The number of [`CountedHook`].
static LIVE: RelaxedU64 = RelaxedU64::new(0);

/// A hook in the slots of a layer. Dropped with the last context, layer or captured state that has it.
struct CountedHook(Arc<dyn Any + Send + Sync>);

impl Drop for CountedHook {
    fn drop(&mut self) {
        LIVE.subtract(1);
    }
}

fn hook_of(object: &Arc<dyn Any + Send + Sync>) -> Option<&Arc<dyn Any + Send + Sync>> {
    object.downcast_ref::<CountedHook>().map(|counted| &counted.0)
}

/// Returns the hooks that are active on this thread, outermost first: one load while no hooks exist.
#[inline]
pub fn node_creation_hooks() -> Vec<Arc<dyn Any + Send + Sync>> {
    if LIVE.get() == 0 { Vec::new() } else { hooks_of_layers() }
}

#[cold]
fn hooks_of_layers() -> Vec<Arc<dyn Any + Send + Sync>> {
    thread::node_creation_hooks().iter().filter_map(hook_of).cloned().collect()
}

/// Returns the hooks of a captured state that no other state, layer or context shares.
pub fn own_creation_hooks_of(state: &ThreadState) -> impl Iterator<Item = &Arc<dyn Any + Send + Sync>> {
    state.own_node_creation_hooks().filter_map(hook_of)
}

/// Calls `visit` with the hooks of a state of a context that no other state, layer or scope shares.
pub fn visit_own_creation_hooks(state: &State, visit: impl FnMut(&Arc<dyn Any + Send + Sync>)) {
    state.own_slots().flat_map(Slots::own_node_creation_hooks).filter_map(hook_of).for_each(visit);
}

/// A hook that is called with each new node of the autograd graph, while it is entered. Inside of another one, both are
/// called. The tensor runtime knows the type of the hook.
///
/// ```
/// use std::sync::Arc;
///
/// use interlock_core::modes::{NodeCreationHookContext, node_creation_hooks};
///
/// let (outer, inner) = (NodeCreationHookContext::new(Arc::new(1)), NodeCreationHookContext::new(Arc::new(2)));
/// outer.enter()?;
/// inner.enter()?;
/// let active: Vec<i32> = node_creation_hooks().iter().filter_map(|hook| hook.downcast_ref()).copied().collect();
/// assert_eq!(active, [1, 2]);
/// inner.exit();
/// outer.exit();
/// assert!(node_creation_hooks().is_empty());
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Debug)]
pub struct NodeCreationHookContext {
    scope: Scope,
    slots: Arc<Slots>,
}

impl NodeCreationHookContext {
    /// Creates a context that is not entered.
    pub fn new(hook: Arc<dyn Any + Send + Sync>) -> Self {
        LIVE.add(1);
        let slots = Slots::from_node_creation_hook(Arc::new(CountedHook(hook)));
        NodeCreationHookContext { scope: Scope::default(), slots }
    }

    /// Activates the hook on this thread.
    ///
    /// # Errors
    /// Fails if the scope cannot be entered here.
    pub fn enter(&self) -> Result<()> {
        self.scope.enter_slots(&self.slots)
    }

    /// Ends the innermost [`enter`](NodeCreationHookContext::enter); see [`Scope::exit`].
    pub fn exit(&self) {
        self.scope.exit();
    }

    /// Returns the scope that enters and exits.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns whether this context is the only owner of its reference to the hook: it is not entered, and no captured
    /// state has it.
    pub fn is_only_owner(&self) -> bool {
        Slots::own_node_creation_hooks(&self.slots).next().is_some()
    }

    /// Activates the hook on this thread until the guard is dropped.
    pub fn guard(&self) -> ScopeGuard {
        ScopeGuard::from_slots(&self.slots)
    }
}
