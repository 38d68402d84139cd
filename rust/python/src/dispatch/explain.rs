//! `explain`: the choice of a kernel without a call.

use interlock::backends::suggest;
use interlock_core::base::quote::quoted;
use pyo3::inventory;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::Call;
use crate::backends::update_python_paths;
use crate::errors::{IntoPyResult, ToPyErr, new_exception, new_type_error};
use crate::raise_later;

/// An operation that `explain` accepts, because its kernels are chosen.
pub(crate) struct Explained {
    /// The name of the operation in records.
    pub name: &'static str,
    /// Returns the [`Call`] for the arguments of the operation.
    pub function: Function,
}

/// Takes the positional and the named arguments of an operation.
type Function = for<'py> fn(&Bound<'py, PyTuple>, Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>>;

inventory::collect!(Explained);

/// Converts the choice of a kernel.
pub(crate) fn converted<E: ToPyErr>(
    py: Python<'_>,
    choice: Result<interlock::dispatch::Call, E>,
) -> PyResult<Bound<'_, PyAny>> {
    Ok(Bound::new(py, choice.map(Call::new).into_py_result(py)?)?.into_any())
}

/// Return the choice of a kernel for a call in the current context now, without running it.
///
/// The kernel that is chosen may still refuse when it runs; the next one is then tried.
///
/// Args:
///     operation: The name of the operation: ``"matmul"``, ``"einsum"``, ``"scaled_dot_product_attention"``,
///         ``"conv2d"``, ``"lstm"``, ``"empty"``, ``"index_add"``, ``"index_put"``, ``"put"``, ``"scatter_add"``, a
///         function of `interlock.fft`, or of `interlock.linalg` ``"cholesky"``, ``"eigh"``, ``"lu_factor"``,
///         ``"qr"``, ``"solve_triangular"`` or ``"svd"``.
///     tensors: The arguments of the operation: its operands, for einsum after the equation, for empty the sizes. The
///         positions in an index are not read.
///     options: The keyword arguments of the operation.
///
/// Raises:
///     ArgumentError: There is no operation of this name.
///     ShapeError: The shapes are incompatible.
///     TypeError: `operation` is not a str, the operation takes other arguments, or an operand is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> from interlock import dispatch
///     >>> x = interlock.ones(2, 2)
///     >>> for considered in dispatch.explain("matmul", x, x).considered:
///     ...     print(considered)
///     cublas: needs a device, got cpu
///     cublaslt: needs a device, got cpu
///     mkldnn: backends.mkldnn.numerics is 'hardware', not 'model'
///     onednn: needs at least 524288 multiplications, got 8
///     mkl: needs at least 524288 multiplications, got 8
///     native: chosen
///     >>> x = interlock.ones(1, 1, 2, 2)
///     >>> dispatch.explain("scaled_dot_product_attention", x, x, x, is_causal=True).kernel
///     'flash'
#[pyfunction]
#[pyo3(signature = (operation, /, *tensors, **options))]
pub(super) fn explain<'py>(
    operation: &Bound<'py, PyAny>,
    tensors: &Bound<'py, PyTuple>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let Ok(name) = operation.cast::<PyString>() else {
        return Err(new_type_error("explain: operation", "a str", operation));
    };
    let operation = &*name.to_string_lossy();
    let operations = || inventory::iter::<Explained>();
    if let Some(found) = operations().find(|found| found.name == operation) {
        // A kernel may need a library that a package of Python has installed.
        update_python_paths(tensors.py());
        return raise_later::collected(tensors.py(), || (found.function)(tensors, options));
    }
    let mut names: Vec<_> = operations().map(|operation| operation.name).collect();
    names.sort_unstable();
    let hint = suggest(operation, names.iter().copied()).map(|name| format!("; did you mean {name:?}?"));
    let message = format!(
        "explain: operation must be one of {}, got {}{}",
        names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", "),
        quoted(operation),
        hint.unwrap_or_default()
    );
    Err(new_exception(tensors.py(), "ArgumentError", message))
}
