//! The Python class `Tensor` and the functions that create tensors.

mod args;
mod attributes;
mod broadcasting;
mod checkpoint;
mod copy;
mod dlpack;
mod dtype;
mod einsum;
mod errors;
mod fallible_alloc;
mod foreign_memory;
mod formats;
mod from_data;
mod function;
mod generator;
mod gradients;
mod graph;
mod hooks;
mod identity;
mod indexing;
mod iterator;
mod matmul;
mod multi_head_attention;
mod node;
mod numpy;
mod op_warnings;
mod operation;
mod ops;
mod pickling;
mod print_options;
mod program;
mod python_kernel;
mod register_kernel;
mod saved_tensors_hooks;
mod scalars;
mod to;
mod transposes;
mod type_info;

use interlock::base::once_call::OnceCall;
use interlock_tensor::{Tensor as CoreTensor, check_memory};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::context::sync;
use crate::deferred_drop;
use crate::detach::detach;
use crate::errors::{IntoPyResult, ToPyErr};
use crate::scope_debug;
use crate::submodule::submodule;
pub(crate) use saved_tensors_hooks::traverse_hooks;

/// Operations on at least this many elements detach from the interpreter, so that other Python threads can run.
const DETACH_THRESHOLD: usize = 4096;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    interlock_tensor::announce_operations();
    node::install_forward_stack_provider();
    gradients::install_pass_threads();
    op_warnings::install();
    register_kernel::register(parent)?;
    let module = submodule(parent, "tensor")?;
    module.add_class::<node::Node>()?;
    module.add_class::<saved_tensors_hooks::SavedTensorsHooks>()?;
    module.setattr(
        "_SavedTensorsHooksDisabled",
        module.py().get_type::<saved_tensors_hooks::SavedTensorsHooksDisabled>(),
    )?;
    hooks::register(&module)?;
    node::register(&module)?;
    graph::register(&module)?;
    checkpoint::register(&module)?;
    generator::register(&module)?;
    function::register(&module)?;
    gradients::register(&module)?;
    pickling::register(&module)?;
    // `__all__` lists the names that the package `interlock` has. Those before are of its submodules.
    module.setattr("__all__", PyList::empty(module.py()))?;
    module.add_class::<Tensor>()?;
    dtype::register(&module)?;
    formats::register(&module)?;
    generator::register_public(&module)?;
    print_options::register(&module)?;
    type_info::register(&module)?;
    broadcasting::register(&module)?;
    einsum::register(&module)?;
    multi_head_attention::register(&module)?;
    ops::register(&module)?;
    operation::register(&module)
}

/// A multi-dimensional array with a single dtype.
///
/// Created by `interlock.tensor`, `interlock.zeros` and similar functions. Operations are recorded if an operand
/// requires grad; `backward` then computes gradients. Results of operations on a subclass are plain tensors.
///
/// Args:
///     data: The tensor whose memory the new one shares, without its history.
///
/// Raises:
///     TypeError: `data` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
///     >>> (x * 3).sum().backward()
///     >>> x.grad
///     tensor([3., 3.])
#[pyclass(frozen, weakref, subclass, module = "interlock", name = "Tensor")]
pub(crate) struct Tensor(pub(crate) CoreTensor);

/// Returns the number of elements of a tensor, as a measure of the duration of an operation. Operations on device
/// tensors may block, so they count as long.
///
/// Results need not be counted: a kernel detaches while it computes a large one (`with_locks` of `interlock-tensor`).
fn work_size(tensor: &CoreTensor) -> usize {
    if tensor.is_on_device() { DETACH_THRESHOLD } else { tensor.numel() }
}

/// Returns the number of elements that an operation visits if it broadcasts the tensors; at least the number of elements
/// of each tensor.
fn work_size_of<'a>(tensors: impl IntoIterator<Item = &'a CoreTensor, IntoIter: Clone>) -> usize {
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
fn maybe_detach<T: Send>(
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
    let result = operation();
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
fn run_op(
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
    maybe_detach(py, op, work_size, operation).map(Tensor)
}
