//! Hooks that are called with each new node of the graph: PyTorch's `node_creation_hook`.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

use interlock::autograd::{self, NodeCreationHookContext};
use interlock::state::ThreadState;
use interlock_core::binding::thread::State;

use crate::tensor::{GradFn, NextFunction, Node};
use crate::{Error, ErrorKind, Result};

/// A hook that is called with each new node.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use interlock_tensor::Tensor;
/// use interlock_tensor::autograd::{NextFunction, NodeCreationHook, node_creation_hook_context};
///
/// static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// let note = |node: &NextFunction| {
///     NAMES.lock().unwrap().push(node.name().to_owned());
///     Ok(())
/// };
/// let hook = node_creation_hook_context(Arc::new(note));
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let guard = hook.guard();
/// let square = leaf.mul(&leaf)?;
/// drop(guard);
/// assert_eq!(*NAMES.lock().unwrap(), ["AccumulateGrad", "MulBackward0"]);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub trait NodeCreationHook: Any + Send + Sync {
    /// Called with a node that has its edges, results and saved tensors. The operation returns its error. The hook
    /// must not create nodes.
    fn call(&self, node: &NextFunction) -> Result<()>;
}

impl<F: Fn(&NextFunction) -> Result<()> + Any + Send + Sync> NodeCreationHook for F {
    fn call(&self, node: &NextFunction) -> Result<()> {
        self(node)
    }
}

/// The hook as the state of a thread stores it.
struct Stored(Arc<dyn NodeCreationHook>);

/// Returns a scope in which a hook is called with each new node.
pub fn node_creation_hook_context(hook: Arc<dyn NodeCreationHook>) -> NodeCreationHookContext {
    NodeCreationHookContext::new(Arc::new(Stored(hook)))
}

/// Calls `visit` with the hooks of a captured state that only this state owns, for a garbage collector.
pub fn visit_own_creation_hooks_of(state: &ThreadState, mut visit: impl FnMut(&dyn Any)) {
    autograd::own_creation_hooks_of(state).filter_map(own_hook).for_each(&mut visit);
}

/// Calls `visit` with the hooks of a state of a context that only this state owns, for a garbage collector.
pub fn visit_own_creation_hooks(state: &State, mut visit: impl FnMut(&dyn Any)) {
    autograd::visit_own_creation_hooks(state, |stored| own_hook(stored).into_iter().for_each(&mut visit));
}

fn own_hook(stored: &Arc<dyn Any + Send + Sync>) -> Option<&dyn Any> {
    let Stored(hook) = Some(stored).filter(|stored| Arc::strong_count(stored) == 1)?.downcast_ref()?;
    (Arc::strong_count(hook) == 1).then_some(&**hook)
}

thread_local! {
    /// Whether a hook runs on this thread.
    static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Notes that a hook runs on this thread, until it is dropped.
struct Running;

impl Running {
    fn begin() -> Self {
        IS_RUNNING.set(true);
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        IS_RUNNING.set(false);
    }
}

/// Calls the active hooks with the new node of a result.
pub(super) fn created(grad_fn: &GradFn) -> Result<()> {
    call_hooks(|| NextFunction::Node(grad_fn.node.clone()))
}

/// Calls the active hooks with a new node.
pub(crate) fn created_node(node: &Arc<Node>) -> Result<()> {
    call_hooks(|| NextFunction::Node(node.clone()))
}

/// Calls the active hooks with a new node, outermost first. The first error ends the calls.
pub(super) fn call_hooks(node: impl FnOnce() -> NextFunction) -> Result<()> {
    let hooks = autograd::node_creation_hooks();
    if hooks.is_empty() {
        return Ok(());
    }
    let node = node();
    if IS_RUNNING.get() {
        let message = format!(
            "a hook must not create nodes, got {}; use no_grad() or detach() in the hook",
            node.name()
        );
        return Err(Error::of("node_creation_hook", ErrorKind::State, message));
    }
    let _running = Running::begin();
    let hooks = hooks.iter().filter_map(|hook| hook.downcast_ref());
    hooks.map(|Stored(hook)| hook).try_for_each(|hook| hook.call(&node))
}
