//! Anomaly mode: failing nodes report the stack of the operation that created them.

use interlock::autograd::Mode;

use crate::tensor::Node;
use crate::{Error, ErrorCause, ErrorKind, Result, Tensor};

/// Returns whether anomaly mode is on.
pub(super) fn is_enabled() -> bool {
    Mode::Anomaly.is_on()
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
    let message = format!("the gradient of input {input} has NaN elements");
    Err(Error::of(node.name(), ErrorKind::State, message))
}

/// In anomaly mode, adds the stack of the operation that created the node to an error of its backward function.
pub(super) fn add_stack(node: &Node, error: Error) -> Error {
    // The innermost failing node is reported.
    if !Mode::Anomaly.is_on() || matches!(error.cause(), ErrorCause::Anomaly { .. }) {
        return error;
    }
    let (node, stack) = (node.shared_name(), node.shared_forward_stack());
    ErrorCause::Anomaly { node, stack, error }.into()
}
