//! Functions of tensors.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::args::{extract_int, new_type_error};
use super::{Tensor, fallible_alloc, reduce, run_op, work_size};

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

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

fn extract_tensor(what: &str, given: &Bound<'_, PyAny>) -> PyResult<CoreTensor> {
    match given.cast::<Tensor>() {
        Ok(tensor) => Ok(tensor.get().0.clone()),
        Err(_) => Err(new_type_error(what, "a Tensor", given)),
    }
}

fn unary(
    input: &Bound<'_, PyAny>,
    operation: impl FnOnce(&CoreTensor) -> Result<CoreTensor> + Send,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("input", input)?;
    run_op(input.py(), work_size(&tensor), || operation(&tensor))
}

/// Whether an object is a tensor.
#[pyfunction]
fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_instance_of::<Tensor>()
}

/// Whether a tensor was made in inference mode.
#[pyfunction]
fn is_inference(input: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(extract_tensor("input", input)?.is_inference())
}

/// The matrix product.
///
/// A tensor of one dimension is a row on the left and a column on the right, and the result does not
/// have that dimension; dimensions before the last two broadcast. Both need the same dtype. Raises
/// RuntimeError (`interlock.errors.ShapeError`) that names both shapes if they do not fit.
#[pyfunction]
fn matmul(input: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let (a, b) = (extract_tensor("input", input)?, extract_tensor("other", other)?);
    run_op(input.py(), super::DETACH_THRESHOLD, || a.matmul(&b))
}

/// e to the power of each element; integers become float32.
#[pyfunction]
fn exp(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    unary(input, CoreTensor::exp)
}

/// The natural logarithm of each element; integers become float32.
#[pyfunction]
fn log(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    unary(input, CoreTensor::log)
}

/// Each element, 0 where it is negative.
#[pyfunction]
fn relu(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    unary(input, CoreTensor::relu)
}

/// The sum of all elements or over `dim`, an int or several. Integers and bools sum to int64.
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false, *, dtype = None))]
fn sum(input: &Bound<'_, PyAny>, dim: Any<'_, '_>, keepdim: bool, dtype: Any<'_, '_>) -> PyResult<Tensor> {
    reduce::sum(input.py(), &extract_tensor("input", input)?, dim, keepdim, dtype)
}

/// The mean of all elements or over `dim`, an int or several. For floating point only.
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false, *, dtype = None))]
fn mean(input: &Bound<'_, PyAny>, dim: Any<'_, '_>, keepdim: bool, dtype: Any<'_, '_>) -> PyResult<Tensor> {
    reduce::mean(input.py(), &extract_tensor("input", input)?, dim, keepdim, dtype)
}

/// The position of the largest element, among all in row-major order or along `dim`.
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false))]
fn argmax(input: &Bound<'_, PyAny>, dim: Any<'_, '_>, keepdim: bool) -> PyResult<Tensor> {
    let dim = reduce::dim(dim)?;
    unary(input, |input| input.argmax(dim, keepdim))
}

fn extract_tensors(tensors: &Bound<'_, PyAny>) -> PyResult<Vec<CoreTensor>> {
    fallible_alloc::try_collect(
        tensors.py(),
        tensors.try_iter()?.map(|item| extract_tensor("each of the tensors", &item?)),
    )
}

fn total_work_size(tensors: &[CoreTensor]) -> usize {
    tensors.iter().map(work_size).fold(0, usize::saturating_add)
}

/// The tensors one after the other along `dim`; their other sizes are equal.
#[pyfunction]
#[pyo3(signature = (tensors, dim = 0))]
fn cat(tensors: &Bound<'_, PyAny>, dim: i64) -> PyResult<Tensor> {
    let parts = extract_tensors(tensors)?;
    run_op(tensors.py(), total_work_size(&parts), || interlock_tensor::cat(&parts, dim))
}

/// Tensors of one shape along a new dimension `dim`.
#[pyfunction]
#[pyo3(signature = (tensors, dim = 0))]
fn stack(tensors: &Bound<'_, PyAny>, dim: i64) -> PyResult<Tensor> {
    let parts = extract_tensors(tensors)?;
    run_op(tensors.py(), total_work_size(&parts), || interlock_tensor::stack(&parts, dim))
}

/// The logarithm of the softmax along `dim`, exact also where that is tiny.
#[pyfunction]
#[pyo3(signature = (input, dim, *, dtype = None))]
fn log_softmax(input: &Bound<'_, PyAny>, dim: &Bound<'_, PyAny>, dtype: Any<'_, '_>) -> PyResult<Tensor> {
    reduce::log_softmax(input.py(), &extract_tensor("input", input)?, extract_int("dim", dim)?, dtype)
}

/// Positive numbers that sum to 1 along `dim`, proportional to the exponentials of the elements.
#[pyfunction]
#[pyo3(signature = (input, dim, *, dtype = None))]
fn softmax(input: &Bound<'_, PyAny>, dim: &Bound<'_, PyAny>, dtype: Any<'_, '_>) -> PyResult<Tensor> {
    reduce::softmax(input.py(), &extract_tensor("input", input)?, extract_int("dim", dim)?, dtype)
}

/// The cross entropy between the softmax of the rows of `input` and classes.
///
/// `input` has the shape [samples, classes] and is floating point, `target` the shape [samples] and is
/// int64. `reduction` is "mean", "sum" or "none". Raises IndexError for a class that does not exist.
#[pyfunction]
#[pyo3(signature = (input, target, *, reduction = "mean"))]
fn cross_entropy(input: &Bound<'_, PyAny>, target: &Bound<'_, PyAny>, reduction: &str) -> PyResult<Tensor> {
    let (scores, classes) = (extract_tensor("input", input)?, extract_tensor("target", target)?);
    let reduction = reduce::reduction(reduction)?;
    run_op(input.py(), work_size(&scores), || scores.cross_entropy(&classes, reduction))
}
