//! Functions that operate on tensors.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::args::{extract_int, new_type_error};
use super::{Tensor, fallible_alloc, reduce, run_op, work_size};

type OptionalArg<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(is_tensor, module)?)?;
    module.add_function(wrap_pyfunction!(is_inference, module)?)?;
    module.add_function(wrap_pyfunction!(matmul, module)?)?;
    module.add_function(wrap_pyfunction!(exp, module)?)?;
    module.add_function(wrap_pyfunction!(log, module)?)?;
    module.add_function(wrap_pyfunction!(relu, module)?)?;
    module.add_function(wrap_pyfunction!(sum, module)?)?;
    module.add_function(wrap_pyfunction!(mean, module)?)?;
    module.add_function(wrap_pyfunction!(argmax, module)?)?;
    module.add_function(wrap_pyfunction!(cat, module)?)?;
    module.add_function(wrap_pyfunction!(stack, module)?)?;
    module.add_function(wrap_pyfunction!(log_softmax, module)?)?;
    module.add_function(wrap_pyfunction!(softmax, module)?)?;
    module.add_function(wrap_pyfunction!(cross_entropy, module)?)
}

/// Extracts a tensor, or raises TypeError.
fn extract_tensor(what: &str, given: &Bound<'_, PyAny>) -> PyResult<CoreTensor> {
    match given.cast::<Tensor>() {
        Ok(tensor) => Ok(tensor.get().0.clone()),
        Err(_) => Err(new_type_error(what, "a Tensor", given)),
    }
}

/// Runs an operation on one tensor.
fn unary(
    input: &Bound<'_, PyAny>,
    operation: impl FnOnce(&CoreTensor) -> Result<CoreTensor> + Send,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("input", input)?;
    run_op(input.py(), work_size(&tensor), || operation(&tensor))
}

/// Return whether an object is a `Tensor`.
#[pyfunction]
fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_instance_of::<Tensor>()
}

/// Return whether a tensor was created in inference mode.
#[pyfunction]
fn is_inference(input: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(extract_tensor("input", input)?.is_inference())
}

/// Return the matrix product of two tensors.
///
/// A one-dimensional tensor is a row vector on the left and a column vector on the right, and the result does not
/// have that dimension. Dimensions before the last two are broadcast.
///
/// Raises:
///     DTypeError: The dtypes differ.
///     ShapeError: The shapes are incompatible.
#[pyfunction]
fn matmul(input: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let (a, b) = (extract_tensor("input", input)?, extract_tensor("other", other)?);
    run_op(input.py(), super::DETACH_THRESHOLD, || a.matmul(&b))
}

/// Return e to the power of each element. Integers are converted to float32.
#[pyfunction]
fn exp(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    unary(input, CoreTensor::exp)
}

/// Return the natural logarithm of each element. Integers are converted to float32.
#[pyfunction]
fn log(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    unary(input, CoreTensor::log)
}

/// Return each element, or 0 if it is negative.
#[pyfunction]
fn relu(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    unary(input, CoreTensor::relu)
}

/// Return the sum of all elements, or over `dim`, an int or several. Integers and bools are summed as int64.
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false, *, dtype = None))]
fn sum(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    keepdim: bool,
    dtype: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    reduce::sum(input.py(), &extract_tensor("input", input)?, dim, keepdim, dtype)
}

/// Return the mean of all elements, or over `dim`, an int or several. Only for floating-point tensors.
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false, *, dtype = None))]
fn mean(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    keepdim: bool,
    dtype: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    reduce::mean(input.py(), &extract_tensor("input", input)?, dim, keepdim, dtype)
}

/// Return the index of the maximum, among all elements in row-major order or along `dim`.
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false))]
fn argmax(input: &Bound<'_, PyAny>, dim: OptionalArg<'_, '_>, keepdim: bool) -> PyResult<Tensor> {
    let dim = reduce::dim(dim)?;
    unary(input, |input| input.argmax(dim, keepdim))
}

/// Extracts the tensors of an iterable.
fn extract_tensors(tensors: &Bound<'_, PyAny>) -> PyResult<Vec<CoreTensor>> {
    fallible_alloc::try_collect(
        tensors.py(),
        tensors.try_iter()?.map(|item| extract_tensor("each of the tensors", &item?)),
    )
}

fn total_work_size(tensors: &[CoreTensor]) -> usize {
    tensors.iter().map(work_size).fold(0, usize::saturating_add)
}

/// Concatenate tensors along `dim`. Their other sizes must be equal.
#[pyfunction]
#[pyo3(signature = (tensors, dim = 0))]
fn cat(tensors: &Bound<'_, PyAny>, dim: i64) -> PyResult<Tensor> {
    let parts = extract_tensors(tensors)?;
    run_op(tensors.py(), total_work_size(&parts), || interlock_tensor::cat(&parts, dim))
}

/// Stack tensors of equal shapes along a new dimension `dim`.
#[pyfunction]
#[pyo3(signature = (tensors, dim = 0))]
fn stack(tensors: &Bound<'_, PyAny>, dim: i64) -> PyResult<Tensor> {
    let parts = extract_tensors(tensors)?;
    run_op(tensors.py(), total_work_size(&parts), || interlock_tensor::stack(&parts, dim))
}

/// Return the logarithm of the softmax along `dim`, which is also accurate where the softmax underflows.
#[pyfunction]
#[pyo3(signature = (input, dim, *, dtype = None))]
fn log_softmax(
    input: &Bound<'_, PyAny>,
    dim: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    reduce::log_softmax(input.py(), &extract_tensor("input", input)?, extract_int("dim", dim)?, dtype)
}

/// Return the exponentials of the elements, normalized to a sum of 1 along `dim`.
#[pyfunction]
#[pyo3(signature = (input, dim, *, dtype = None))]
fn softmax(input: &Bound<'_, PyAny>, dim: &Bound<'_, PyAny>, dtype: OptionalArg<'_, '_>) -> PyResult<Tensor> {
    reduce::softmax(input.py(), &extract_tensor("input", input)?, extract_int("dim", dim)?, dtype)
}

/// Return the cross entropy of the rows of `input` for target classes.
///
/// Args:
///     input: Logits of shape `[samples, classes]`, floating point.
///     target: Class indices of shape `[samples]`, int64.
///     reduction: "mean", "sum" or "none".
///
/// Raises:
///     IndexError: A target is not a class.
#[pyfunction]
#[pyo3(signature = (input, target, *, reduction = "mean"))]
fn cross_entropy(input: &Bound<'_, PyAny>, target: &Bound<'_, PyAny>, reduction: &str) -> PyResult<Tensor> {
    let (scores, classes) = (extract_tensor("input", input)?, extract_tensor("target", target)?);
    let reduction = reduce::reduction(reduction)?;
    run_op(input.py(), work_size(&scores), || scores.cross_entropy(&classes, reduction))
}
