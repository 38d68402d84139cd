//! Extraction of bool arguments, with errors that name the function and the argument.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::args::new_type_error;

/// Extracts a bool of Python or NumPy, or an `Option<bool>`. `what` names the function and its argument.
pub(super) fn extract_bool<'a, 'py, T: FromPyObject<'a, 'py>>(
    what: &str,
    given: &'a Bound<'py, PyAny>,
) -> PyResult<T> {
    given.extract().map_err(|error: T::Error| {
        let error: PyErr = error.into();
        if error.is_instance_of::<PyTypeError>(given.py()) {
            new_type_error(what, "a bool", given)
        } else {
            error
        }
    })
}

/// Defines a module for each function with an extractor for each argument.
macro_rules! switches {
    ($($function:ident: $($argument:ident)+;)+) => {
        $(pub(super) mod $function {
            use pyo3::prelude::*;

            $(pub(crate) fn $argument<'a, 'py, T: FromPyObject<'a, 'py>>(
                given: &'a Bound<'py, PyAny>,
            ) -> PyResult<T> {
                super::extract_bool(concat!(stringify!($function), ": ", stringify!($argument)), given)
            })+
        })+
    };
}

switches! {
    __array__: copy;
    _rebuild: requires_grad;
    amax: keepdim;
    amin: keepdim;
    arange: requires_grad pin_memory;
    argmax: keepdim;
    argmin: keepdim;
    backward: retain_graph create_graph;
    copy_: non_blocking;
    empty: requires_grad pin_memory;
    full: requires_grad pin_memory;
    grad: retain_graph create_graph allow_unused materialize_grads;
    mean: keepdim;
    numpy: force;
    ones: requires_grad pin_memory;
    ones_like: requires_grad pin_memory;
    rand: requires_grad pin_memory;
    randn: requires_grad pin_memory;
    requires_grad_: requires_grad;
    sum: keepdim;
    tensor: requires_grad pin_memory;
    to: non_blocking copy;
    zeros: requires_grad pin_memory;
    zeros_like: requires_grad pin_memory;
}
