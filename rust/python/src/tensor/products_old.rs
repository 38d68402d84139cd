//! Functions that operate on tensors.

use interlock_tensor::Tensor as CoreTensor;
use pyo3::prelude::*;

use super::args::{OptionalArg, extract_int, extract_tensor, try_iter_arg};
use super::arithmetic::factor;
use super::operation::{Call, compute_into};
use super::{Tensor, fallible_alloc, reduce, run_op, work_size};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(is_tensor, module)?)?;
    module.add_function(wrap_pyfunction!(is_inference, module)?)?;
    module.add_function(wrap_pyfunction!(matmul, module)?)?;
    module.add_function(wrap_pyfunction!(mm, module)?)?;
    module.add_function(wrap_pyfunction!(bmm, module)?)?;
    module.add_function(wrap_pyfunction!(addmm, module)?)?;
    module.add_function(wrap_pyfunction!(linear, module)?)?;
    module.add_function(wrap_pyfunction!(sum, module)?)?;
    module.add_function(wrap_pyfunction!(mean, module)?)?;
    module.add_function(wrap_pyfunction!(cat, module)?)?;
    module.add_function(wrap_pyfunction!(stack, module)?)?;
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

/// Return the matrix product of two tensors.
///
/// A one-dimensional tensor is a row vector on the left and a column vector on the right. The dimensions before the
/// last two are broadcast.
///
/// Args:
///     input: The left tensor, of shape [..., n, k] or [k]. Floating point or int64.
///     other: The right tensor, of shape [..., k, m] or [k], of the same dtype.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Returns:
///     A tensor of shape [..., n, m], without the dimension of a one-dimensional operand.
///
/// Raises:
///     DTypeError: The dtypes differ or are bool, or `out` has another dtype.
///     ShapeError: The shapes are incompatible.
///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
///
/// Example:
///     >>> import interlock
///     >>> interlock.matmul(interlock.ones(2, 3), interlock.ones(3))
///     tensor([3., 3.])
#[pyfunction]
#[pyo3(signature = (input, other, *, out = None))]
fn matmul<'py>(
    input: &Bound<'py, PyAny>,
    other: &Bound<'py, PyAny>,
    out: OptionalArg<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let (a, b) = (extract_tensor("matmul: input", input)?, extract_tensor("matmul: other", other)?);
    compute_into(Call::new(input.py(), "matmul", &[&a, &b].map(Some)).long(), out, true, &mut || a.matmul(&b))
}

/// Return the matrix product of two matrices.
///
/// Args:
///     input: The left matrix, of shape [n, k]. Floating point or int64.
///     mat2: The right matrix, of shape [k, m], of the same dtype.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Returns:
///     A matrix of shape [n, m].
///
/// Raises:
///     DTypeError: The dtypes differ or are bool, or `out` has another dtype.
///     ShapeError: A tensor is not a matrix, or the inner sizes differ.
///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
///
/// Example:
///     >>> import interlock
///     >>> interlock.mm(interlock.ones(2, 3), interlock.ones(3, 1))
///     tensor([[3.],
///             [3.]])
#[pyfunction]
#[pyo3(signature = (input, mat2, *, out = None))]
fn mm<'py>(
    input: &Bound<'py, PyAny>,
    mat2: &Bound<'py, PyAny>,
    out: OptionalArg<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let (left, right) = (extract_tensor("mm: input", input)?, extract_tensor("mm: mat2", mat2)?);
    compute_into(Call::new(input.py(), "mm", &[&left, &right].map(Some)).long(), out, true, &mut || {
        left.mm(&right)
    })
}

/// Return the matrix products of two batches of matrices.
///
/// Args:
///     input: The left batch, of shape [b, n, k]. Floating point or int64.
///     mat2: The right batch, of shape [b, k, m], of the same dtype.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Returns:
///     A tensor of shape [b, n, m].
///
/// Raises:
///     DTypeError: The dtypes differ or are bool, or `out` has another dtype.
///     ShapeError: A tensor does not have 3 dimensions, or the sizes differ.
///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
///
/// Example:
///     >>> import interlock
///     >>> interlock.bmm(interlock.ones(2, 1, 3), interlock.ones(2, 3, 1))
///     tensor([[[3.]],
///     <BLANKLINE>
///             [[3.]]])
#[pyfunction]
#[pyo3(signature = (input, mat2, *, out = None))]
fn bmm<'py>(
    input: &Bound<'py, PyAny>,
    mat2: &Bound<'py, PyAny>,
    out: OptionalArg<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let (left, right) = (extract_tensor("bmm: input", input)?, extract_tensor("bmm: mat2", mat2)?);
    compute_into(Call::new(input.py(), "bmm", &[&left, &right].map(Some)).long(), out, true, &mut || {
        left.bmm(&right)
    })
}

/// Return `beta * input + alpha * (mat1 @ mat2)`.
///
/// Args:
///     input: A tensor that is broadcast to the product. Its elements are ignored if `beta` is 0.
///     mat1: A matrix of shape [n, k], of the same dtype.
///     mat2: A matrix of shape [k, m], of the same dtype.
///     beta: A number; None means 1.
///     alpha: A number; None means 1. If it is 0, the elements of the matrix product are ignored.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Returns:
///     A matrix of shape [n, m].
///
/// Raises:
///     DTypeError: The dtypes differ or are bool, do not fit `beta` or `alpha`, or `out` has another dtype.
///     ShapeError: The shapes are incompatible.
///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
///
/// Example:
///     >>> import interlock
///     >>> interlock.addmm(interlock.ones(2), interlock.ones(1, 3), interlock.ones(3, 2), alpha=2)
///     tensor([[7., 7.]])
#[pyfunction]
#[pyo3(signature = (input, mat1, mat2, *, beta = None, alpha = None, out = None))]
fn addmm<'py>(
    input: &Bound<'py, PyAny>,
    mat1: &Bound<'py, PyAny>,
    mat2: &Bound<'py, PyAny>,
    beta: OptionalArg<'_, 'py>,
    alpha: OptionalArg<'_, 'py>,
    out: OptionalArg<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let input_tensor = extract_tensor("addmm: input", input)?;
    let (left, right) = (extract_tensor("addmm: mat1", mat1)?, extract_tensor("addmm: mat2", mat2)?);
    let (beta, alpha) = (factor("addmm: beta", beta)?, factor("addmm: alpha", alpha)?);
    let inputs = [&input_tensor, &left, &right];
    compute_into(Call::new(input.py(), "addmm", &inputs.map(Some)).long(), out, true, &mut || {
        input_tensor.addmm(&left, &right, beta, alpha)
    })
}

/// Return `input @ weight.T + bias`, a linear layer.
///
/// Args:
///     input: A tensor of shape [..., inputs].
///     weight: A matrix of shape [outputs, inputs], or a vector of shape [inputs] for one output without a dimension.
///     bias: A tensor that is broadcast to the result, or None.
///
/// Returns:
///     A tensor of shape [..., outputs].
///
/// Raises:
///     DTypeError: The dtypes differ or are bool.
///     ShapeError: The shapes are incompatible.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> functional.linear(interlock.ones(1, 3), interlock.ones(2, 3), interlock.ones(2))
///     tensor([[4., 4.]])
#[pyfunction]
#[pyo3(signature = (input, weight, bias = None))]
fn linear(
    input: &Bound<'_, PyAny>,
    weight: &Bound<'_, PyAny>,
    bias: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let (tensor, weight) =
        (extract_tensor("linear: input", input)?, extract_tensor("linear: weight", weight)?);
    let bias = bias.map(|bias| extract_tensor("linear: bias", bias)).transpose()?;
    run_op(input.py(), "linear", super::DETACH_THRESHOLD, || tensor.linear(&weight, bias.as_ref()))
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

/// Extracts the tensors of an iterable.
pub(super) fn extract_tensors(
    what: &str,
    item: &str,
    tensors: &Bound<'_, PyAny>,
) -> PyResult<Vec<CoreTensor>> {
    let items = try_iter_arg(what, "a sequence of Tensors", tensors)?;
    fallible_alloc::try_collect(tensors.py(), items.map(|given| extract_tensor(item, &given?)))
}

fn cat_dim(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    extract_int("cat: dim", given)
}

fn stack_dim(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    extract_int("stack: dim", given)
}

/// Returns the number of elements of several tensors, as [`work_size`].
pub(super) fn total_work_size(tensors: &[CoreTensor]) -> usize {
    tensors.iter().map(work_size).fold(0, usize::saturating_add)
}

/// Concatenate tensors along a dimension.
///
/// Args:
///     tensors: An iterable of tensors whose sizes are equal except in `dim`. Tensors of shape [0] are skipped.
///     dim: The dimension that is concatenated.
///
/// Returns:
///     A tensor of the widest dtype of `tensors`.
///
/// Raises:
///     ShapeError: Other sizes differ, or a tensor has no dimensions.
///     IndexError: The tensors do not have dimension `dim`.
///     ArgumentError: `tensors` is empty.
///     RuntimeError: `tensors` contains tensors on different devices.
///
/// Example:
///     >>> import interlock
///     >>> interlock.cat([interlock.zeros(1), interlock.ones(2)])
///     tensor([0., 1., 1.])
#[pyfunction]
#[pyo3(signature = (tensors, dim = 0))]
fn cat(tensors: &Bound<'_, PyAny>, #[pyo3(from_py_with = cat_dim)] dim: i64) -> PyResult<Tensor> {
    let parts = extract_tensors("cat: tensors", "cat: each item of tensors", tensors)?;
    run_op(tensors.py(), "cat", total_work_size(&parts), || interlock_tensor::cat(&parts, dim))
}

/// Stack tensors along a new dimension.
///
/// Args:
///     tensors: The tensors, as an iterable. Their shapes must be equal.
///     dim: The position of the new dimension; its size is the number of tensors.
///
/// Returns:
///     A tensor of the widest dtype of `tensors`.
///
/// Raises:
///     ShapeError: The shapes differ.
///     IndexError: The result does not have dimension `dim`.
///     ArgumentError: `tensors` is empty.
///     RuntimeError: `tensors` contains tensors on different devices.
///
/// Example:
///     >>> import interlock
///     >>> interlock.stack([interlock.tensor([1, 2]), interlock.tensor([3, 4])], dim=1)
///     tensor([[1, 3],
///             [2, 4]])
#[pyfunction]
#[pyo3(signature = (tensors, dim = 0))]
fn stack(tensors: &Bound<'_, PyAny>, #[pyo3(from_py_with = stack_dim)] dim: i64) -> PyResult<Tensor> {
    let parts = extract_tensors("stack: tensors", "stack: each item of tensors", tensors)?;
    run_op(tensors.py(), "stack", total_work_size(&parts), || interlock_tensor::stack(&parts, dim))
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
