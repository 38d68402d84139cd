//! Functions that operate on tensors.

use pyo3::prelude::*;

use super::args::{OptionalArg, extract_int, extract_tensor};
use super::{Tensor, reduce};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(is_tensor, module)?)?;
    module.add_function(wrap_pyfunction!(is_inference, module)?)?;
    module.add_function(wrap_pyfunction!(sum, module)?)?;
    module.add_function(wrap_pyfunction!(mean, module)?)?;
    module.add_function(wrap_pyfunction!(log_softmax, module)?)?;
    module.add_function(wrap_pyfunction!(softmax, module)?)?;
    module.add_function(wrap_pyfunction!(softmin, module)?)
}

/// Return whether an object is a `Tensor`.
///
/// Args:
///     obj: Any object.
#[pyfunction]
fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_instance_of::<Tensor>()
}

/// Return whether a tensor was created in inference mode.
///
/// Args:
///     input: The tensor.
///
/// Raises:
///     TypeError: `input` is not a tensor.
#[pyfunction]
fn is_inference(input: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(extract_tensor("is_inference: input", input)?.is_inference())
}

/// Return the sum of all elements, or over one or several dimensions.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
///     keepdim: Whether reduced dimensions remain, with size 1.
///     dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[1, 2], [3, 4]])
///     >>> interlock.sum(x), interlock.sum(x, 0)
///     (tensor(10), tensor([4, 6]))
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false, *, dtype = None))]
fn sum(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::sum::keepdim)] keepdim: bool,
    dtype: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    reduce::sum(input.py(), &extract_tensor("sum: input", input)?, dim, keepdim, dtype)
}

/// Return the mean of all elements, or over one or several dimensions. The mean of no elements is NaN.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
///     keepdim: Whether reduced dimensions remain, with size 1.
///     dtype: The floating-point dtype to convert the elements to first. None means no change.
///
/// Raises:
///     DTypeError: The elements are not floating point, and `dtype` does not convert them.
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[1.0, 2.0], [3.0, 4.0]])
///     >>> interlock.mean(x, 1)
///     tensor([1.5000, 3.5000])
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false, *, dtype = None))]
fn mean(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::mean::keepdim)] keepdim: bool,
    dtype: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    reduce::mean(input.py(), &extract_tensor("mean: input", input)?, dim, keepdim, dtype)
}

/// Return the logarithm of the softmax along a dimension; accurate also where the softmax underflows.
///
/// Args:
///     input: The tensor.
///     dim: The dimension along which the softmax sums to 1.
///     dtype: The floating-point dtype to convert the elements to first. None means no change.
///
/// Raises:
///     DTypeError: The elements are not floating point, and `dtype` does not convert them.
///     IndexError: The tensor does not have dimension `dim`.
///
/// Example:
///     >>> import interlock
///     >>> interlock.log_softmax(interlock.tensor([1.0, 2.0]), 0)
///     tensor([-1.3133, -0.3133])
#[pyfunction]
#[pyo3(signature = (input, dim, *, dtype = None))]
fn log_softmax(
    input: &Bound<'_, PyAny>,
    dim: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    reduce::log_softmax(
        input.py(),
        &extract_tensor("log_softmax: input", input)?,
        extract_int("log_softmax: dim", dim)?,
        dtype,
    )
}

/// Return the exponentials of the elements, normalized to a sum of 1 along a dimension.
///
/// Args:
///     input: The tensor.
///     dim: The dimension along which the result sums to 1.
///     dtype: The floating-point dtype to convert the elements to first. None means no change.
///
/// Raises:
///     DTypeError: The elements are not floating point, and `dtype` does not convert them.
///     IndexError: The tensor does not have dimension `dim`.
///
/// Example:
///     >>> import interlock
///     >>> interlock.softmax(interlock.tensor([0.0, 0.0]), 0)
///     tensor([0.5000, 0.5000])
#[pyfunction]
#[pyo3(signature = (input, dim, *, dtype = None))]
fn softmax(input: &Bound<'_, PyAny>, dim: &Bound<'_, PyAny>, dtype: OptionalArg<'_, '_>) -> PyResult<Tensor> {
    reduce::softmax(
        input.py(),
        &extract_tensor("softmax: input", input)?,
        extract_int("softmax: dim", dim)?,
        dtype,
    )
}

/// Return the softmax of the negated elements.
///
/// Args:
///     input: The tensor.
///     dim: The dimension along which the result sums to 1.
///     dtype: The floating-point dtype to convert the elements to first. None means no change.
///
/// Raises:
///     DTypeError: The elements are not floating point, and `dtype` does not convert them.
///     IndexError: The tensor does not have dimension `dim`.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> functional.softmin(interlock.tensor([0.0, 0.0]), 0)
///     tensor([0.5000, 0.5000])
#[pyfunction]
#[pyo3(signature = (input, dim, *, dtype = None))]
fn softmin(input: &Bound<'_, PyAny>, dim: &Bound<'_, PyAny>, dtype: OptionalArg<'_, '_>) -> PyResult<Tensor> {
    reduce::softmin(
        input.py(),
        &extract_tensor("softmin: input", input)?,
        extract_int("softmin: dim", dim)?,
        dtype,
    )
}
