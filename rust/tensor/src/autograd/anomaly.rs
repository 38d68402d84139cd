//! Anomaly mode: nodes store the stack of the operation that created them, and failing nodes report it.

use std::sync::Arc;

use interlock::autograd::Mode;
use once_cell::race::OnceBox;

use super::Node;
use crate::forward_stack::ForwardStack;
use crate::{Error, Result, Tensor};

type Provider = fn() -> Option<ForwardStack>;

static PROVIDER: OnceBox<Provider> = OnceBox::new();

/// Sets the function that returns the current stack of the program. Later calls have no effect.
pub fn set_forward_stack_provider(provider: Provider) {
    let _ = PROVIDER.set(Box::new(provider));
}

/// Returns the current stack of the program if anomaly mode is on.
#[inline]
pub(super) fn forward_stack() -> Option<Arc<ForwardStack>> {
    if Mode::Anomaly.is_on() { PROVIDER.get().and_then(|provider| provider()).map(Arc::new) } else { None }
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
    if !gradient.not_equal(gradient)?.any()? {
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
