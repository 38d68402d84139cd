//! Tensors of one number, and tensors that are not initialized.

use interlock_tensor::{DType, EMPTY, EmptyCall, Scalar, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::dispatch::Call;
use crate::tensor::operation::{ArgumentName, NewTensor, OptionalArg, Sizes, given, tensor_op, variadic};
use crate::tensor::{Explained, Tensor};

/// Return a tensor of zeros.
///
/// Args:
///     {sizes}
///     dtype: The element type; None means float32.
///     {new_tensor}
///
/// Raises:
///     ArgumentError: A size is negative.
///     {new_tensor_errors}
///
/// Example:
///     >>> interlock.zeros(2, 3)
///     tensor([[0., 0., 0.],
///             [0., 0., 0.]])
#[tensor_op(function, attached, example = "2, 3")]
fn zeros(
    py: Python<'_>,
    op: &'static str,
    #[variadic] size: &Sizes,
    #[options] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    options.create(py, op, DType::DEFAULT_FLOAT, |options| CoreTensor::zeros(size, options))
}

/// Return a tensor of ones.
///
/// Args:
///     {sizes}
///     dtype: The element type; None means float32.
///     {new_tensor}
///
/// Raises:
///     ArgumentError: A size is negative.
///     {new_tensor_errors}
///
/// Example:
///     >>> interlock.ones((2,), dtype=interlock.int64)
///     tensor([1, 1])
#[tensor_op(function, attached, example = "2, 3")]
fn ones(
    py: Python<'_>,
    op: &'static str,
    #[variadic] size: &Sizes,
    #[options] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    options.create(py, op, DType::DEFAULT_FLOAT, |options| CoreTensor::ones(size, options))
}

/// Return an uninitialized tensor.
///
/// It is filled while `backends.deterministic_algorithms` is set; see `utils.deterministic`.
///
/// Args:
///     {sizes}
///     dtype: The element type; None means float32.
///     {new_tensor}
///
/// Raises:
///     ArgumentError: A size is negative.
///     {new_tensor_errors}
///
/// Example:
///     >>> interlock.empty(2, 3).shape
///     (2, 3)
#[tensor_op(function, attached, example = "2, 3")]
fn empty(
    py: Python<'_>,
    op: &'static str,
    #[variadic] size: &Sizes,
    #[options] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    options.create(py, op, DType::DEFAULT_FLOAT, |options| CoreTensor::empty(size, options))
}

pub(in crate::tensor) static EXPLAINED: Explained =
    Explained { name: "empty", function: |py| wrap_pyfunction!(explain, py) };

/// Converts the arguments as `empty` itself does, and returns the choice of a kernel.
#[pyfunction]
#[pyo3(
    name = "empty",
    signature = (*args, size = None, dtype = None, device = None, requires_grad = None, pin_memory = None)
)]
fn explain(
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = given)] requires_grad: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = given)] pin_memory: OptionalArg<'_, '_>,
) -> PyResult<Call> {
    let op = "empty";
    let size: Sizes = variadic(ArgumentName::new(op, "size"), args, size, false)?;
    let new = NewTensor::from_arguments(op, [dtype, device, requires_grad, pin_memory])?;
    let options = new.on_default_device(args.py(), op, DType::DEFAULT_FLOAT)?;
    Ok(Call::new(EMPTY.explain(&EmptyCall::new(&size, options))))
}

/// Return an uninitialized tensor with the strides `stride`.
///
/// It is filled while `backends.deterministic_algorithms` is set; see `utils.deterministic`.
///
/// Args:
///     size: The sizes, as a tuple or list.
///     stride: The stride of each dimension, in elements. Not negative.
///     dtype: The element type; None means float32.
///     {new_tensor}
///
/// Raises:
///     ArgumentError: A size or a stride is negative, or their numbers differ.
///     ShapeError: The memory has more elements than can be addressed.
///     {new_tensor_errors}
///
/// Example:
///     >>> interlock.empty_strided((2, 3), (1, 2)).stride()
///     (1, 2)
#[tensor_op(function, attached, example = "(2, 3), (1, 2)")]
fn empty_strided(
    py: Python<'_>,
    op: &'static str,
    size: &Sizes,
    stride: &Sizes,
    #[keyword]
    #[options]
    options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    options.create(py, op, DType::DEFAULT_FLOAT, |options| CoreTensor::empty_strided(size, stride, options))
}

/// Return a tensor filled with a number.
///
/// Args:
///     size: The sizes, as an int or as a tuple or list.
///     fill_value: The number, or a tensor with one element.
///     dtype: The element type. None means bool for a bool, int64 for an int, and float32 for a float.
///     {new_tensor}
///
/// Raises:
///     ArgumentError: The dtype cannot hold the number.
///     ArgumentError: A size is negative.
///     {new_tensor_errors}
///
/// Example:
///     >>> interlock.full((2, 2), 7)
///     tensor([[7, 7],
///             [7, 7]])
#[tensor_op(function, attached, example = "(2, 3), 0.5")]
fn full(
    py: Python<'_>,
    op: &'static str,
    size: &Sizes,
    fill_value: Scalar,
    #[keyword]
    #[options]
    options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    options.create(py, op, fill_value.dtype(), |options| CoreTensor::full(size, fill_value, options))
}
