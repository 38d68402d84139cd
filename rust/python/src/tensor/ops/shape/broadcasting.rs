//! Operations on tensors that are separate arguments: views of them with a common shape, or with more dimensions.

use interlock_tensor::{Result, Tensor as CoreTensor, broadcast_tensors as broadcast_all};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::scope_debug;
use crate::tensor::args::{extract_items, extract_tensor};
use crate::tensor::call::maybe_detach;
use crate::tensor::fallible_alloc::try_tuple;
use crate::tensor::operation::{Call, IntoPython, compute_or_self};
use crate::tensor::{ReadTensor, Tensor};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(broadcast_tensors, module)?)?;
    module.add_function(wrap_pyfunction!(atleast_1d, module)?)?;
    module.add_function(wrap_pyfunction!(atleast_2d, module)?)?;
    module.add_function(wrap_pyfunction!(atleast_3d, module)?)
}

/// Runs an operation that returns a view of each tensor, or the tensor itself, and returns the results. A tensor itself
/// is the Python object that was given.
fn run_views_or_selves<'py>(
    tensors: &Bound<'py, PyTuple>,
    op: &'static str,
    operation: impl FnOnce() -> Result<Vec<CoreTensor>> + Send,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = tensors.py();
    scope_debug::warn_suspended_scopes(py)?;
    let results = maybe_detach(py, op, 0, operation)?;
    let object = |(result, given): (CoreTensor, Bound<'py, PyAny>)| match given.cast::<Tensor>() {
        Ok(tensor) if tensor.core().is(&result) => Ok(given),
        _ => Bound::new(py, Tensor::from(result)).map(Bound::into_any),
    };
    try_tuple(py, results.into_iter().zip(tensors.iter()).map(object))
}

/// Extracts the tensors of an iterable.
fn extract_tensors(what: &str, item: &str, tensors: &Bound<'_, PyAny>) -> PyResult<Vec<CoreTensor>> {
    extract_items(what, "a sequence of Tensors", tensors, |given| extract_tensor(item, given))
}

/// Returns the arguments with at least `ndim` dimensions: a tuple, or one tensor if that is the only argument.
fn at_least<'py>(
    op: &'static str,
    ndim: usize,
    tensors: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = tensors.py();
    if tensors.len() == 1 {
        let first = tensors.get_item(0)?;
        if let Ok(tensor) = first.cast::<Tensor>() {
            let x = &*tensor.core();
            let call = Call::new(py, op, &[]).view();
            return Ok(compute_or_self(call, &first, &mut || x.at_least(ndim))?);
        }
        let (what, item) = (format!("{op}: tensors"), format!("{op}: each item of tensors"));
        let parts = extract_tensors(&what, &item, &first)?;
        scope_debug::warn_suspended_scopes(py)?;
        let views = || parts.iter().map(|part| part.at_least(ndim)).collect::<Result<Vec<_>>>();
        return maybe_detach(py, op, 0, views)?.into_python(py, op);
    }
    let parts = extract_tensors(&format!("{op}: tensors"), &format!("{op}: each argument"), tensors)?;
    Ok(run_views_or_selves(tensors, op, || parts.iter().map(|part| part.at_least(ndim)).collect())?
        .into_any())
}

/// Return views of tensors that are expanded to their common shape.
///
/// Args:
///     tensors: The tensors, as separate arguments.
///
/// Returns:
///     A tuple of views.
///
/// Raises:
///     ShapeError: The shapes cannot be broadcast.
///     TypeError: An argument is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x, y = interlock.broadcast_tensors(interlock.zeros(2, 1), interlock.zeros(3))
///     >>> x.shape, y.shape
///     ((2, 3), (2, 3))
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn broadcast_tensors<'py>(tensors: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    let what = "broadcast_tensors: each argument";
    let parts = extract_tensors(what, what, tensors)?;
    run_views_or_selves(tensors, "broadcast_tensors", || broadcast_all(&parts))
}

/// Declares `atleast_1d` and its siblings. A row has the name, the number of dimensions, and the example with its result.
macro_rules! at_least {
    ($($name:ident $ndim:literal $dimensions:literal $example:literal => $result:literal;)+) => {
        $(#[doc = concat!("Return tensors with at least ", $dimensions, ".")]
        ///
        /// Args:
        ///     tensors: The tensors, as separate arguments or as one tuple or list.
        ///
        /// Returns:
        ///     A tuple of the tensors themselves, or views with additional dimensions of size 1. For one tensor, that tensor.
        ///
        /// Raises:
        ///     TypeError: An argument is not a tensor.
        ///
        /// Example:
        ///     >>> import interlock
        #[doc = concat!("    >>> interlock.", stringify!($name), $example)]
        #[doc = concat!("    ", $result)]
        #[pyfunction]
        #[pyo3(signature = (*tensors))]
        fn $name<'py>(tensors: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
            at_least(stringify!($name), $ndim, tensors)
        })+
    };
}

at_least! {
    atleast_1d 1 "1 dimension" "(interlock.tensor(3))" => "tensor([3])";
    atleast_2d 2 "2 dimensions" "(interlock.tensor([1, 2]))" => "tensor([[1, 2]])";
    atleast_3d 3 "3 dimensions" "(interlock.zeros(2, 3)).shape" => "(2, 3, 1)";
}
