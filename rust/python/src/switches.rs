//! Extraction of bool arguments, with errors that name the function and the argument.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;

use crate::errors::new_type_error;

/// Extracts a bool of Python or NumPy, or an `Option<bool>`.
pub(crate) fn extract_bool<'a, 'py, T: FromPyObject<'a, 'py>>(
    function: &str,
    argument: &str,
    given: &'a Bound<'py, PyAny>,
) -> PyResult<T> {
    extract_as(&format!("{function}: {argument}"), "a bool", given)
}

/// Extracts a bool of Python or NumPy. Returns `None` for an object of another type.
pub(crate) fn try_bool(given: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    match given.extract() {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_instance_of::<PyTypeError>(given.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Extracts an argument of a type. `what` names the function and the argument in the TypeError for another type, whose
/// text is otherwise PyO3's. Exceptions of the argument's own code propagate.
pub(crate) fn extract_as<'a, 'py, T: FromPyObject<'a, 'py>>(
    what: &str,
    wanted: &str,
    given: &'a Bound<'py, PyAny>,
) -> PyResult<T> {
    given.extract().map_err(|error: T::Error| {
        let error: PyErr = error.into();
        let py = given.py();
        if error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyOverflowError>(py) {
            new_type_error(what, wanted, given)
        } else {
            error
        }
    })
}

/// Defines a module for each function with an extractor for each argument. The text is the name of the function in
/// errors, if it differs from that of the module.
macro_rules! switches {
    ($($function:ident $($shown:literal)?: $($argument:ident)+;)+) => {
        $(pub(crate) mod $function {
            use pyo3::prelude::*;

            const FUNCTION: &str = shown!($function $($shown)?);

            $(pub(crate) fn $argument<'a, 'py, T: FromPyObject<'a, 'py>>(
                given: &'a Bound<'py, PyAny>,
            ) -> PyResult<T> {
                super::extract_bool(FUNCTION, stringify!($argument), given)
            })+
        })+
    };
}

/// Returns the name of a function in errors.
macro_rules! shown {
    ($function:ident) => {
        stringify!($function)
    };
    ($function:ident $shown:literal) => {
        $shown
    };
}

switches! {
    __array__: copy;
    _rebuild: requires_grad;
    _rebuild_tensor: requires_grad;
    backward: retain_graph create_graph;
    buffer_copy_from "Buffer.copy_from": non_blocking;
    buffer_copy_to "Buffer.copy_to": non_blocking;
    buffer_dlpack "Buffer.__dlpack__": copy;
    table: registered;
    tensor_dlpack "Tensor.__dlpack__": copy;
    current_accelerator "accelerator.current_accelerator": check_available;
    flag_scope "FlagScope": copied;
    event "Event": enable_timing blocking interprocess;
    grad: retain_graph create_graph allow_unused materialize_grads is_grads_batched;
    graph "Graph": keep_graph;
    mem_pool "MemPool": use_on_oom no_split;
    mem_pool_snapshot "MemPool.snapshot": include_traces;
    memory_copy_ "accelerator.memory.copy_": non_blocking;
    multi_head_attention "MultiheadAttention": average_attn_weights batch_first is_causal need_weights training;
    numpy: force;
    register_flag: optional;
    requires_grad_: requires_grad;
    stream "Stream": dedicated;
    thread_state "ThreadState": pin;
    to: non_blocking copy;
    inject "FaultInjector.inject": sticky never;
    live_objects "FaultInjector.live_objects": internal;
}
