//! Tensors of one number, and tensors that are not initialized.

use interlock_tensor::{DType, NewElements, Scalar, Tensor as CoreTensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::IntoPyResult;
use crate::tensor::Tensor;
use crate::tensor::formats::RowMajor;
use crate::tensor::operation::{NewTensor, Sizes, tensor_op};

/// Return a tensor of zeros.
///
/// Example:
///     >>> interlock.zeros(2, 3)
///     tensor([[0., 0., 0.],
///             [0., 0., 0.]])
#[tensor_op(function, example = "2, 3")]
fn zeros(#[variadic] size: &Sizes, #[options(out)] options: &NewTensor<'_>) -> PyResult<Py<Tensor>> {
    options.create(DType::DEFAULT_FLOAT, |options| CoreTensor::zeros(size, options))
}

/// Return a tensor of ones.
///
/// Example:
///     >>> interlock.ones((2,), dtype=interlock.int64)
///     tensor([1, 1])
#[tensor_op(function, example = "2, 3")]
fn ones(#[variadic] size: &Sizes, #[options(out)] options: &NewTensor<'_>) -> PyResult<Py<Tensor>> {
    options.create(DType::DEFAULT_FLOAT, |options| CoreTensor::ones(size, options))
}

/// Return an uninitialized tensor.
///
/// It is filled while `backends.deterministic_algorithms` is set; see `utils.deterministic`.
///
/// Args:
///     memory_format: The order of the elements in memory, `interlock.contiguous_format`, also for None.
///
/// Example:
///     >>> interlock.empty(2, 3).shape
///     (2, 3)
#[tensor_op(
    function,
    explain = {
        let NewTensor { py, op, .. } = *options;
        if options.out.is_some() {
            return Err(PyTypeError::new_err(format!("{op}() got an unexpected keyword argument 'out'")));
        }
        let options = options.on_default_device(DType::DEFAULT_FLOAT)?;
        let choice = CoreTensor::explain_empty(size, options);
        choice.map_err(|error| error.during(op)).into_py_result(py)
    },
    example = "2, 3"
)]
fn empty(
    #[variadic] size: &Sizes,
    #[keyword] memory_format: Option<RowMajor>,
    #[options(out)] options: &NewTensor<'_>,
) -> PyResult<Py<Tensor>> {
    // Every value means the same.
    let (None | Some(RowMajor)) = memory_format;
    options.create_by(NewElements::Uninitialized, DType::DEFAULT_FLOAT, |options| {
        CoreTensor::empty(size, options)
    })
}

/// Return an uninitialized tensor with the strides `stride`.
///
/// It is filled while `backends.deterministic_algorithms` is set; see `utils.deterministic`.
///
/// Args:
///     size: The sizes, as a tuple or list.
///     stride: The stride of each dimension, in elements. Not negative.
///
/// Raises:
///     ArgumentError: A size or a stride is negative, or their numbers differ.
///     ShapeError: The memory has more elements than can be addressed.
///
/// Example:
///     >>> interlock.empty_strided((2, 3), (1, 2)).stride()
///     (1, 2)
#[tensor_op(function, example = "(2, 3), (1, 2)")]
fn empty_strided(size: &Sizes, stride: &Sizes, #[options] options: &NewTensor<'_>) -> PyResult<Py<Tensor>> {
    options.create(DType::DEFAULT_FLOAT, |options| CoreTensor::empty_strided(size, stride, options))
}

/// Return a tensor filled with a number.
///
/// Args:
///     dtype: The element type. None means bool for a bool, int64 for an int, and float32 for a float.
///
/// Raises:
///     ArgumentError: The dtype cannot hold the number.
///
/// Example:
///     >>> interlock.full((2, 2), 7)
///     tensor([[7, 7],
///             [7, 7]])
#[tensor_op(function, example = "(2, 3), 0.5")]
fn full(size: &Sizes, fill_value: Scalar, #[options(out)] options: &NewTensor<'_>) -> PyResult<Py<Tensor>> {
    options.create(fill_value.dtype(), |options| CoreTensor::full(size, fill_value, options))
}
