//! Anomaly mode: nodes store the stack of the operation that created them, and failing nodes report it.

use std::cell::RefCell;
use std::sync::Arc;

use interlock::autograd::Mode;
use once_cell::race::OnceBox;

use super::Node;
use crate::error::{Creator, ForwardStack};
use crate::{Error, Result, Tensor};

type Provider = fn() -> Option<ForwardStack>;

static PROVIDER: OnceBox<Provider> = OnceBox::new();

/// Sets the function that returns the current stack of the program. Later calls have no effect.
pub fn set_forward_stack_provider(provider: Provider) {
    let _ = PROVIDER.set(Box::new(provider));
}

/// Returns whether anomaly mode is on.
pub(super) fn is_enabled() -> bool {
    Mode::Anomaly.is_on()
}

/// Returns the current stack of the program if anomaly mode is on.
#[inline]
pub(super) fn forward_stack() -> Option<Arc<ForwardStack>> {
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
pub(super) fn enter(node: &Node) -> Option<RunningGuard> {
    if Mode::Anomaly.is_on() { enter_node(node) } else { None }
}

#[cold]
fn enter_node(node: &Node) -> Option<RunningGuard> {
    let creator = Creator { node: node.shared_name(), stack: node.shared_forward_stack() };
    RUNNING.try_with(|running| running.replace(Some(creator))).ok().map(RunningGuard)
}

/// Restores the node that ran before.
pub(super) struct RunningGuard(Option<Creator>);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        let outer = self.0.take();
        // Dropped outside of the borrow.
        drop(RUNNING.try_with(|running| running.replace(outer)));
    }
}

/// In anomaly mode, returns an error if the gradient of an input has NaN elements.
#[inline]
pub(super) fn check_gradient(node: &Node, input: usize, gradient: &Tensor) -> Result<()> {
    if Mode::Anomaly.is_on() && Mode::AnomalyCheckNan.is_on() {
        check_nan(node, input, gradient)
    } else {
        Ok(())
    }
}

#[cold]
fn check_nan(node: &Node, input: usize, gradient: &Tensor) -> Result<()> {
    let _mode = interlock::autograd::no_grad();
    // NaN is the only value that differs from itself.
    if !gradient.not_equal(gradient)?.any().map_err(|error| error.during("detect_anomaly"))? {
        return Ok(());
    }
    Err(Error::NanGradient { node: node.shared_name(), input })
}

/// In anomaly mode, adds the stack of the operation that created the node to an error of its backward function.
pub(super) fn add_stack(node: &Node, error: Error) -> Error {
    // The innermost failing node is reported.
    if !Mode::Anomaly.is_on() || matches!(error, Error::Anomaly { .. }) {
        return error;
    }
    let (node, stack) = (node.shared_name(), node.shared_forward_stack());
    Error::Anomaly { node, stack, error: Box::new(error) }
}
