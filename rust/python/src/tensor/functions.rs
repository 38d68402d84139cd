//! Functions of tensors.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::arguments::{integer, wrong_type};
use super::{Tensor, reduce, room, run, weight};

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

fn tensor(what: &str, given: &Bound<'_, PyAny>) -> PyResult<CoreTensor> {
    match given.cast::<Tensor>() {
        Ok(tensor) => Ok(tensor.get().0.clone()),
        Err(_) => Err(wrong_type(what, "a Tensor", given)),
    }
}

fn each(
    input: &Bound<'_, PyAny>,
    operation: impl FnOnce(&CoreTensor) -> Result<CoreTensor> + Send,
) -> PyResult<Tensor> {
    let tensor = tensor("input", input)?;
    run(input.py(), weight(&tensor), || operation(&tensor))
}

/// Whether an object is a tensor.
#[pyfunction]
fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_instance_of::<Tensor>()
}

/// Whether a tensor was made in inference mode.
#[pyfunction]
fn is_inference(input: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(tensor("input", input)?.is_inference())
}

/// The matrix product.
///
/// A tensor of one dimension is a row on the left and a column on the right, and the result does not
/// have that dimension; dimensions before the last two broadcast. Both need the same dtype. Raises
/// RuntimeError (`interlock.errors.ShapeError`) that names both shapes if they do not fit.
#[pyfunction]
fn matmul(input: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let (a, b) = (tensor("input", input)?, tensor("other", other)?);
    run(input.py(), super::LONG, || a.matmul(&b))
}

/// e to the power of each element; integers become float32.
#[pyfunction]
fn exp(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    each(input, CoreTensor::exp)
}

/// The natural logarithm of each element; integers become float32.
#[pyfunction]
fn log(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    each(input, CoreTensor::log)
}

/// Each element, 0 where it is negative.
#[pyfunction]
fn relu(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    each(input, CoreTensor::relu)
}

/// The sum of all elements or over `dim`, an int or several. Integers and bools sum to int64.
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false, *, dtype = None))]
fn sum(input: &Bound<'_, PyAny>, dim: Any<'_, '_>, keepdim: bool, dtype: Any<'_, '_>) -> PyResult<Tensor> {
    reduce::sum(input.py(), &tensor("input", input)?, dim, keepdim, dtype)
}

/// The mean of all elements or over `dim`, an int or several. For floating point only.
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false, *, dtype = None))]
fn mean(input: &Bound<'_, PyAny>, dim: Any<'_, '_>, keepdim: bool, dtype: Any<'_, '_>) -> PyResult<Tensor> {
    reduce::mean(input.py(), &tensor("input", input)?, dim, keepdim, dtype)
}

/// The position of the largest element, among all in row-major order or along `dim`.
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false))]
fn argmax(input: &Bound<'_, PyAny>, dim: Any<'_, '_>, keepdim: bool) -> PyResult<Tensor> {
    let dim = reduce::dim(dim)?;
    each(input, |input| input.argmax(dim, keepdim))
}

fn several(tensors: &Bound<'_, PyAny>) -> PyResult<Vec<CoreTensor>> {
    room::collected(tensors.py(), tensors.try_iter()?.map(|item| tensor("each of the tensors", &item?)))
}

fn together(tensors: &[CoreTensor]) -> usize {
    tensors.iter().map(weight).fold(0, usize::saturating_add)
}

/// The tensors one after the other along `dim`; their other sizes are equal.
#[pyfunction]
#[pyo3(signature = (tensors, dim = 0))]
fn cat(tensors: &Bound<'_, PyAny>, dim: i64) -> PyResult<Tensor> {
    let parts = several(tensors)?;
    run(tensors.py(), together(&parts), || interlock_tensor::cat(&parts, dim))
}

/// Tensors of one shape along a new dimension `dim`.
#[pyfunction]
#[pyo3(signature = (tensors, dim = 0))]
fn stack(tensors: &Bound<'_, PyAny>, dim: i64) -> PyResult<Tensor> {
    let parts = several(tensors)?;
    run(tensors.py(), together(&parts), || interlock_tensor::stack(&parts, dim))
}

/// The logarithm of the softmax along `dim`, exact also where that is tiny.
#[pyfunction]
#[pyo3(signature = (input, dim, *, dtype = None))]
fn log_softmax(input: &Bound<'_, PyAny>, dim: &Bound<'_, PyAny>, dtype: Any<'_, '_>) -> PyResult<Tensor> {
    reduce::log_softmax(input.py(), &tensor("input", input)?, integer("dim", dim)?, dtype)
}

/// Positive numbers that sum to 1 along `dim`, proportional to the exponentials of the elements.
#[pyfunction]
#[pyo3(signature = (input, dim, *, dtype = None))]
fn softmax(input: &Bound<'_, PyAny>, dim: &Bound<'_, PyAny>, dtype: Any<'_, '_>) -> PyResult<Tensor> {
    reduce::softmax(input.py(), &tensor("input", input)?, integer("dim", dim)?, dtype)
}

/// The cross entropy between the softmax of the rows of `input` and classes.
///
/// `input` has the shape [samples, classes] and is floating point, `target` the shape [samples] and is
/// int64. `reduction` is "mean", "sum" or "none". Raises IndexError for a class that does not exist.
#[pyfunction]
#[pyo3(signature = (input, target, *, reduction = "mean"))]
fn cross_entropy(input: &Bound<'_, PyAny>, target: &Bound<'_, PyAny>, reduction: &str) -> PyResult<Tensor> {
    let (scores, classes) = (tensor("input", input)?, tensor("target", target)?);
    let reduction = reduce::reduction(reduction)?;
    run(input.py(), weight(&scores), || scores.cross_entropy(&classes, reduction))
}
