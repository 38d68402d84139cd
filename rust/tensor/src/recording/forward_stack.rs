//! Anomaly mode: nodes store the stack of the operation that created them.

use std::cell::RefCell;
use std::sync::Arc;

use interlock::autograd::Mode;
use once_cell::race::OnceBox;

use crate::error::{Creator, ForwardStack};
use crate::tensor::Node;

type Provider = fn() -> Option<ForwardStack>;

static PROVIDER: OnceBox<Provider> = OnceBox::new();

/// Sets the function that returns the current stack of the program. Later calls have no effect.
pub fn set_forward_stack_provider(provider: Provider) {
    let _ = PROVIDER.set(Box::new(provider));
}

/// Returns the current stack of the program if anomaly mode is on.
#[inline]
pub(crate) fn forward_stack() -> Option<Arc<ForwardStack>> {
    if Mode::Anomaly.is_on() { current_stack() } else { None }
}

#[cold]
fn current_stack() -> Option<Arc<ForwardStack>> {
    let stack = PROVIDER.get().and_then(|provider| provider())?;
    let running = RUNNING.try_with(|running| running.borrow().clone()).ok().flatten();
    Some(Arc::new(stack.created_by(running)))
}

thread_local! {
    /// The node whose backward function runs on this thread, in anomaly mode.
    static RUNNING: RefCell<Option<Creator>> = const { RefCell::new(None) };
}

/// Notes in anomaly mode that the backward function of a node runs on this thread, until the guard is dropped.
#[inline]
pub(crate) fn note_running(node: &Node) -> Option<RunningGuard> {
    if Mode::Anomaly.is_on() { replace_running(node) } else { None }
}

#[cold]
fn replace_running(node: &Node) -> Option<RunningGuard> {
    let creator = Creator { node: node.shared_name(), stack: node.shared_forward_stack() };
    RUNNING.try_with(|running| running.replace(Some(creator))).ok().map(RunningGuard)
}

/// Restores the node that ran before.
pub(crate) struct RunningGuard(Option<Creator>);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        let outer = self.0.take();
        // Dropped outside of the borrow.
        drop(RUNNING.try_with(|running| running.replace(outer)));
    }
}
