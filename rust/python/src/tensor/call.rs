//! Calls of operations: long ones detach from the interpreter.

use interlock::accelerator::memory::with_stack;
use interlock_core::base::once_call::OnceCall;
use interlock_tensor::{Tensor as CoreTensor, check_memory};
use pyo3::prelude::*;

use super::{Tensor, op_warnings};
use crate::context::sync;
use crate::deferred_drop;
use crate::detach::detach;
use crate::errors::{IntoPyResult, ToPyErr};
use crate::py_stack::capture_if_enabled;
use crate::scope_debug;

/// Operations on at least this many elements detach from the interpreter, so that other Python threads can run.
pub(crate) const DETACH_THRESHOLD: usize = 4096;

/// Returns the number of elements of a tensor, as a measure of the duration of an operation. Operations on device
/// tensors may block, so they count as long.
///
/// Results need not be counted: a kernel detaches while it computes a large one (`with_locks` of `interlock-tensor`).
pub(crate) fn work_size(tensor: &CoreTensor) -> usize {
    if tensor.is_on_device() { DETACH_THRESHOLD } else { tensor.numel() }
}

/// Returns the number of elements that an operation visits if it broadcasts the tensors; at least the number of elements
/// of each tensor.
pub(crate) fn work_size_of<'a>(tensors: impl IntoIterator<Item = &'a CoreTensor, IntoIter: Clone>) -> usize {
    let tensors = tensors.into_iter();
    let largest = tensors.clone().map(work_size).max().unwrap_or(1);
    let most = tensors.clone().map(|tensor| tensor.numel().max(1)).fold(1, usize::saturating_mul);
    if largest >= DETACH_THRESHOLD || most < DETACH_THRESHOLD {
        return largest;
    }
    // Sizes are aligned at the last dimension.
    let size =
        |from_last| tensors.clone().filter_map(|tensor| tensor.shape().iter().nth_back(from_last)).max();
    let sizes = (0..).map_while(size);
    sizes.fold(1, |product: usize, size| product.saturating_mul(*size)).max(largest)
}

/// Calls an operation on `work_size` elements. Detaches from the interpreter if the operation is long. Errors name `op`,
/// the function that the program called, rather than an operation that it uses.
#[inline]
pub(crate) fn maybe_detach<T: Send>(
    py: Python<'_>,
    op: &'static str,
    work_size: usize,
    operation: impl FnOnce() -> interlock_tensor::Result<T> + Send,
) -> PyResult<T> {
    let mut call = OnceCall::new(operation);
    run_and_drain(py, op, work_size, &mut || call.try_run())?;
    Ok(call.into_result())
}

/// Calls `operation` once, as [`maybe_detach`] does.
fn run_and_drain(
    py: Python<'_>,
    op: &'static str,
    work_size: usize,
    operation: &mut (dyn FnMut() -> interlock_tensor::Result<()> + Send),
) -> PyResult<()> {
    sync(py);
    check_memory().into_py_result(py)?;
    if work_size >= DETACH_THRESHOLD {
        return run_long(py, op, operation);
    }
    let result = with_stack(capture_if_enabled(py), operation);
    drain_deferred(py);
    op_warnings::issue(py)?;
    result.map_err(|error| to_pyerr(py, op, error, None))
}

/// Calls `operation` once, detached. Operations with kernels of extensions are long, and a kernel may have left an
/// exception set.
#[inline(never)]
fn run_long(
    py: Python<'_>,
    op: &'static str,
    operation: &mut (dyn FnMut() -> interlock_tensor::Result<()> + Send),
) -> PyResult<()> {
    let result = detach(py, operation);
    let raised = PyErr::take(py);
    drain_deferred(py);
    op_warnings::issue(py)?;
    match (result, raised) {
        (Ok(()), None) => Ok(()),
        (Ok(()), Some(raised)) => Err(raised),
        (Err(error), raised) => Err(to_pyerr(py, op, error, raised)),
    }
}

/// Returns the exception for an error of an operation. The one that a kernel of an extension has left set is its context.
#[cold]
fn to_pyerr(
    py: Python<'_>,
    op: &'static str,
    error: interlock_tensor::Error,
    raised: Option<PyErr>,
) -> PyErr {
    let error = error.during(op).to_pyerr(py);
    if let Some(raised) = raised {
        // Without the attribute, the error still has its class and message.
        let _ = error.value(py).setattr("__context__", raised.into_value(py));
    }
    error
}

/// Releases the Python objects, such as hooks, that dropped tensors have owned.
fn drain_deferred(py: Python<'_>) {
    deferred_drop::drain(py);
}

/// Runs an operation that returns a tensor, like [`maybe_detach`].
#[inline]
pub(crate) fn run_op(
    py: Python<'_>,
    op: &'static str,
    work_size: usize,
    mut operation: impl FnMut() -> interlock_tensor::Result<CoreTensor> + Send,
) -> PyResult<Tensor> {
    run_dyn_op(py, op, work_size, &mut operation)
}

/// Calls `operation` once, as [`run_op`] does.
fn run_dyn_op(
    py: Python<'_>,
    op: &'static str,
    work_size: usize,
    operation: &mut (dyn FnMut() -> interlock_tensor::Result<CoreTensor> + Send),
) -> PyResult<Tensor> {
    scope_debug::warn_suspended_scopes(py)?;
    maybe_detach(py, op, work_size, operation).map(Tensor::from)
}
